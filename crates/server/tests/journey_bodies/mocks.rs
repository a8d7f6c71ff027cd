//! Calls to real host names reach mocks: host overrides, and an additional certificate authority.

use std::sync::Arc;

use meantime_core::Source;
use meantime_kernel::store::MemoryStore;
use meantime_server::{App, Engine, Settings, SourceFormats, notations};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::journeys;

type Authority = CertifiedIssuer<'static, KeyPair>;

fn authority() -> Authority {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a key")).expect("an authority")
}

/// A mock with TLS; it answers with the request line and the host of the request.
async fn secure_mock(authority: &Authority, name: &str) -> u16 {
    let params = CertificateParams::new(vec![name.to_owned()]).expect("parameters");
    let key = KeyPair::generate().expect("a key");
    let cert = params.signed_by(&key, authority).expect("a certificate");
    let key = PrivateKeyDer::try_from(key.serialize_der()).expect("a key");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key)
        .expect("a certificate");
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let Ok(mut stream) = acceptor.accept(stream).await else { return };
                let mut head = Vec::new();
                while !head.windows(4).any(|it| it == b"\r\n\r\n") {
                    let mut chunk = [0; 1024];
                    match stream.read(&mut chunk).await {
                        Ok(count) if count > 0 => head.extend_from_slice(&chunk[..count]),
                        _ => return,
                    }
                }
                let head = String::from_utf8_lossy(&head).to_ascii_lowercase();
                let host = head.lines().find(|line| line.starts_with("host:")).unwrap_or_default();
                let body = format!("{}|{host}", head.lines().next().unwrap_or_default());
                let answer = format!(
                    "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                    body.len()
                );
                let _ = stream.write_all(answer.as_bytes()).await;
                let _ = stream.shutdown().await;
            });
        }
    });
    port
}

async fn called(settings: Settings, url: &str) -> Value {
    let store = Arc::new(MemoryStore::new());
    let engine = Engine::start_on(store, settings, notations(), SourceFormats::default()).await;
    let engine = engine.expect("the engine starts");
    let text = format!(
        "apiVersion: v1\nkind: Journey\nmetadata: {{name: x, version: 1.0.0}}\nspec:\n  start: call\n  states:\n    call: {{type: task, task: {{kind: httpCall:v1, method: GET, url: '{url}', resultVar: r}}, next: done}}\n    done: {{type: succeed, outputVar: r}}\n"
    );
    let source = Source { name: "x".to_owned(), text: text.into(), files: Vec::new() };
    engine.kernel().deploy("journey", source).await.expect("a good definition");
    let router = App::new(&engine).router();
    let (_, outcome) = journeys::send(&router, "/journeys/x/start", &[], "{}".to_owned()).await;
    outcome["output"].clone()
}

#[tokio::test]
async fn a_real_name_reaches_a_mock() {
    let authority = authority();
    let port = secure_mock(&authority, "*.example.com").await;
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), authority.pem()).expect("written");
    // Neither loopback nor the port is permitted: only the override permits them.
    let mut settings = Settings::default();
    let address = format!("127.0.0.1:{port}");
    settings.egress.host_overrides.insert("*.example.com".to_owned(), address.clone());
    let url = "https://crm.example.com/a/./../b";
    let unknown = called(settings.clone(), url).await;
    assert_eq!(unknown["error"]["type"], "NETWORK", "{unknown}");
    settings.egress.ca_file = Some(file.path().to_owned());
    let result = called(settings.clone(), url).await;
    assert_eq!(result["body"], "get /b http/1.1|host: crm.example.com", "{result}");
    // Only the overridden name may reach it: a call to the address itself is refused.
    let other = called(settings.clone(), &format!("http://{address}/")).await;
    assert_eq!(other["error"]["message"], "127.0.0.1 may not be called", "{other}");
    let service = journeys::service(|_, path| (200, json!({ "path": path }))).await;
    settings.egress.host_overrides.insert("pay.example.com".to_owned(), service.base.clone());
    let plain = called(settings, "https://pay.example.com/x").await;
    assert_eq!(plain["body"], json!({ "path": "/x" }), "{plain}");
}

#[tokio::test]
async fn what_cannot_be_used_is_said_at_the_start() {
    let mut wrong = Settings::default();
    wrong.egress.host_overrides.insert("*".to_owned(), "a:1".to_owned());
    let mut missing = Settings::default();
    missing.egress.ca_file = Some("/nonexistent/ca.pem".into());
    for (settings, said) in [(wrong, "egress.host_overrides"), (missing, "egress.ca_file")] {
        let store = Arc::new(MemoryStore::new());
        let engine = Engine::start_on(store, settings, notations(), SourceFormats::default()).await;
        let error = engine.err().expect("it does not start").to_string();
        assert!(error.contains(said), "{error}");
    }
}
