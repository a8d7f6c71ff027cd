//! TLS of the server: certificates that change, and client certificates.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use axum::http::Request;
use hyper_util::rt::{TokioExecutor, TokioIo};
use meantime_kernel::store::MemoryStore;
use meantime_server::{
    App, BoundServer, ClientCertificates, Engine, Settings, SourceFormats, check_tls, notations,
    serve,
};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, ExtendedKeyUsagePurpose, IsCa, KeyPair,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, ProtocolVersion, RootCertStore, SupportedProtocolVersion};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

type Authority = CertifiedIssuer<'static, KeyPair>;

fn authority() -> Authority {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a key")).expect("an authority")
}

/// A certificate with its key.
struct Issued {
    cert: rcgen::Certificate,
    key: KeyPair,
}

fn issue(by: &Authority, usage: ExtendedKeyUsagePurpose) -> Issued {
    let mut params = CertificateParams::new(vec!["localhost".to_owned()]).expect("parameters");
    params.extended_key_usages = vec![usage];
    let key = KeyPair::generate().expect("a key");
    Issued { cert: params.signed_by(&key, by).expect("a certificate"), key }
}

fn for_server(by: &Authority) -> Issued {
    issue(by, ExtendedKeyUsagePurpose::ServerAuth)
}

impl Issued {
    /// Writes the files, each atomically.
    fn put(&self, directory: &Path) {
        put(directory, "key.pem", &self.key.serialize_pem());
        put(directory, "cert.pem", &self.cert.pem());
    }
}

fn put(directory: &Path, name: &str, text: &str) {
    let new = directory.join("new");
    std::fs::write(&new, text).expect("written");
    std::fs::rename(new, directory.join(name)).expect("in its place");
}

struct Stage {
    directory: TempDir,
    authority: Authority,
    address: SocketAddr,
    /// The protocols that the client offers, best first.
    offered: Vec<Vec<u8>>,
}

/// A server with a certificate, and with the same authority for clients if they need one.
async fn stage(clients: Option<ClientCertificates>) -> (Stage, Issued) {
    let (directory, authority) = (tempfile::tempdir().expect("a directory"), authority());
    let issued = for_server(&authority);
    issued.put(directory.path());
    put(directory.path(), "ca.pem", &authority.pem());
    let mut settings = Settings { listen: ([127, 0, 0, 1], 0).into(), ..Settings::default() };
    settings.tls.cert = Some(directory.path().join("cert.pem"));
    settings.tls.key = Some(directory.path().join("key.pem"));
    if let Some(clients) = clients {
        settings.tls.client_ca = Some(directory.path().join("ca.pem"));
        settings.tls.clients = clients;
    }
    let serving = listen(settings).await;
    let address = serving.address().expect("an address");
    tokio::spawn(serving.run(std::future::pending()));
    let offered = vec![b"http/1.1".to_vec()];
    (Stage { directory, authority, address, offered }, issued)
}

async fn listen(settings: Settings) -> BoundServer {
    let store = Arc::new(MemoryStore::new());
    let engine = Engine::start_on(store, settings, notations(), SourceFormats::default()).await;
    serve(App::new(&engine.expect("the engine starts"))).await.expect("it listens")
}

impl Stage {
    async fn connect(
        &self,
        versions: &[&'static SupportedProtocolVersion],
        client: Option<&Issued>,
    ) -> std::io::Result<TlsStream<TcpStream>> {
        let mut roots = RootCertStore::empty();
        roots.add(self.authority.der().clone()).expect("a root");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(versions)
            .expect("versions")
            .with_root_certificates(roots);
        let mut config = match client {
            None => config.with_no_client_auth(),
            Some(Issued { cert, key }) => {
                let key = PrivateKeyDer::try_from(key.serialize_der()).expect("a key");
                config.with_client_auth_cert(vec![cert.der().clone()], key).expect("a client")
            }
        };
        config.alpn_protocols.clone_from(&self.offered);
        let stream = TcpStream::connect(self.address).await?;
        let name = ServerName::try_from("localhost").expect("a name");
        TlsConnector::from(Arc::new(config)).connect(name, stream).await
    }

    /// The certificate that the server presents to a new connection.
    async fn shown(&self) -> CertificateDer<'static> {
        let stream = self.connect(&[&TLS13], None).await.expect("a connection");
        let shown = stream.get_ref().1.peer_certificates().expect("certificates");
        shown.first().expect("one").clone()
    }
}

/// The head of an answer.
async fn ask(stream: &mut TlsStream<TcpStream>) -> std::io::Result<String> {
    stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n").await?;
    let mut text = Vec::new();
    while !text.ends_with(b"}") {
        if stream.read_buf(&mut text).await? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(String::from_utf8(text).expect("text").to_ascii_lowercase())
}

#[tokio::test]
async fn a_server_with_a_certificate_speaks_tls_and_nothing_else() {
    let (stage, _) = stage(None).await;
    let versions = [(&TLS13, ProtocolVersion::TLSv1_3), (&TLS12, ProtocolVersion::TLSv1_2)];
    for (version, expected) in versions {
        let mut stream = stage.connect(&[version], None).await.expect("a connection");
        assert_eq!(stream.get_ref().1.protocol_version(), Some(expected));
        assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"http/1.1"[..]));
        let head = ask(&mut stream).await.expect("an answer");
        assert!(head.starts_with("http/1.1 200 "), "{head}");
        assert!(head.contains("\r\nstrict-transport-security: max-age=31536000\r\n"), "{head}");
    }
    let mut plain = TcpStream::connect(stage.address).await.expect("a connection");
    plain.write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n").await.expect("written");
    let mut answer = Vec::new();
    // The connection may also be reset.
    let _ = plain.read_to_end(&mut answer).await;
    assert!(!answer.starts_with(b"HTTP"), "{}", String::from_utf8_lossy(&answer));
}

#[tokio::test]
async fn a_client_that_offers_http_2_gets_it() {
    let (mut stage, _) = stage(None).await;
    stage.offered = vec![b"http/1.1".to_vec(), b"h2".to_vec()];
    let stream = stage.connect(&[&TLS13], None).await.expect("a connection");
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
    let executor = TokioExecutor::new();
    let (mut requests, connection) =
        hyper::client::conn::http2::handshake(executor, TokioIo::new(stream))
            .await
            .expect("a handshake");
    tokio::spawn(connection);
    let request = Request::get("https://localhost/healthz").body(String::new());
    let answer = requests.send_request(request.expect("a request")).await.expect("an answer");
    assert_eq!(answer.status(), 200);
    assert!(answer.headers().contains_key("strict-transport-security"));
}

#[tokio::test]
async fn new_certificates_are_for_new_connections_and_old_ones_go_on() {
    let (stage, first) = stage(None).await;
    let mut old = stage.connect(&[&TLS13], None).await.expect("a connection");
    assert_eq!(stage.shown().await, *first.cert.der());
    let second = for_server(&stage.authority);
    second.put(stage.directory.path());
    assert_eq!(stage.shown().await, *second.cert.der());
    // A file that cannot be used changes nothing.
    put(stage.directory.path(), "cert.pem", "nothing");
    assert_eq!(stage.shown().await, *second.cert.der());
    put(stage.directory.path(), "cert.pem", &first.cert.pem());
    assert_eq!(stage.shown().await, *second.cert.der(), "the key is that of the second");
    std::fs::remove_file(stage.directory.path().join("key.pem")).expect("removed");
    assert_eq!(stage.shown().await, *second.cert.der());
    first.put(stage.directory.path());
    assert_eq!(stage.shown().await, *first.cert.der());
    let head = ask(&mut old).await.expect("the old connection goes on");
    assert!(head.starts_with("http/1.1 200 "), "{head}");
}

#[tokio::test]
async fn clients_need_a_certificate_where_one_is_required() {
    let stranger = issue(&authority(), ExtendedKeyUsagePurpose::ClientAuth);
    for (clients, without) in
        [(ClientCertificates::Required, false), (ClientCertificates::Optional, true)]
    {
        let (stage, of_server) = stage(Some(clients)).await;
        let good = issue(&stage.authority, ExtendedKeyUsagePurpose::ClientAuth);
        for version in [&TLS13, &TLS12] {
            let cases = [
                (None, without),
                (Some(&good), true),
                (Some(&stranger), false),
                (Some(&of_server), false),
            ];
            for (client, expected) in cases {
                // With TLS 1.3 a client learns of the rejection only when it reads.
                let answered = match stage.connect(&[version], client).await {
                    Ok(mut stream) => ask(&mut stream).await.is_ok(),
                    Err(_) => false,
                };
                assert_eq!(answered, expected, "{clients:?} {version:?}");
            }
        }
    }
}

#[tokio::test]
async fn a_new_authority_of_clients_is_for_new_connections() {
    let (stage, _) = stage(Some(ClientCertificates::Required)).await;
    let other = authority();
    let before = issue(&stage.authority, ExtendedKeyUsagePurpose::ClientAuth);
    let after = issue(&other, ExtendedKeyUsagePurpose::ClientAuth);
    let answered = async |client: &Issued| match stage.connect(&[&TLS13], Some(client)).await {
        Ok(mut stream) => ask(&mut stream).await.is_ok(),
        Err(_) => false,
    };
    assert_eq!((answered(&before).await, answered(&after).await), (true, false));
    let mut old = stage.connect(&[&TLS13], Some(&before)).await.expect("a connection");
    // The authority alone changes; the certificate of the server stays.
    put(stage.directory.path(), "ca.pem", &other.pem());
    assert_eq!((answered(&before).await, answered(&after).await), (false, true));
    // A file that cannot be used changes nothing, and opens nothing.
    put(stage.directory.path(), "ca.pem", "nothing");
    assert_eq!((answered(&before).await, answered(&after).await), (false, true));
    std::fs::remove_file(stage.directory.path().join("ca.pem")).expect("removed");
    assert_eq!((answered(&before).await, answered(&after).await), (false, true));
    assert!(ask(&mut old).await.is_ok(), "an open connection goes on");
}

#[test]
fn settings_that_make_no_sense_are_refused() {
    let directory = tempfile::tempdir().expect("a directory");
    let authority = authority();
    for_server(&authority).put(directory.path());
    let of = |name: &str| Some(directory.path().join(name));
    let mut tls = Settings::default().tls;
    assert!(check_tls(&tls).is_ok());
    tls.cert = of("cert.pem");
    assert!(check_tls(&tls).unwrap_err().to_string().contains("belong together"));
    tls.key = of("key.pem");
    assert!(check_tls(&tls).is_ok());
    tls.client_ca = of("none.pem");
    assert!(check_tls(&tls).unwrap_err().to_string().contains("none.pem"));
    tls.client_ca = of("key.pem");
    assert!(check_tls(&tls).unwrap_err().to_string().contains("contains no certificate"));
    tls.client_ca = None;
    put(directory.path(), "key.pem", &KeyPair::generate().expect("a key").serialize_pem());
    assert!(check_tls(&tls).unwrap_err().to_string().contains("cert.pem"));
}
