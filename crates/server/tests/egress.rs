//! Outbound calls reach permitted addresses, and nothing else.
//!
//! A canary listens on loopback, which is not permitted. A second server, whose address is
//! permitted, represents the public internet. However a call is written, and wherever a redirect
//! leads, the canary must not see a connection.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use meantime_core::Json;
use meantime_kernel::command::{Command, Reply, StartCommand, Wait};
use meantime_kernel::store::{MemoryStore, Phase};
use meantime_server::{Engine, Settings, SourceFormats, notations};
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// A server that computes its answer from the request, and counts connections.
struct Listener {
    address: SocketAddr,
    connections: Arc<AtomicUsize>,
    requests: Arc<AtomicUsize>,
}

impl Listener {
    fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }
}

async fn listen(
    ip: &str,
    answer: impl Fn(Request<Incoming>) -> Response<Body> + Send + Sync + Clone + 'static,
) -> Listener {
    let listener = TcpListener::bind((ip, 0)).await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let connections = Arc::new(AtomicUsize::new(0));
    let requests = Arc::new(AtomicUsize::new(0));
    let (counted, heard) = (connections.clone(), requests.clone());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            counted.fetch_add(1, Ordering::SeqCst);
            let (answer, heard) = (answer.clone(), heard.clone());
            let service = service_fn(move |request| {
                heard.fetch_add(1, Ordering::SeqCst);
                let answer = answer(request);
                async move { Ok::<_, Infallible>(answer) }
            });
            tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
        }
    });
    Listener { address, connections, requests }
}

async fn engine(allow: &[&str]) -> Engine {
    let mut settings = Settings::default();
    settings.egress.allow = allow.iter().map(|it| (*it).to_owned()).collect();
    settings.egress.ports = Vec::new();
    let store = Arc::new(MemoryStore::new());
    let engine = Engine::start_on(store, settings, notations(), SourceFormats::default()).await;
    let engine = engine.expect("the engine starts");
    let text = "try { return await Http.request(Inputs) } catch (e) { return e.code }";
    let source = meantime_core::Source {
        name: "call.flow.js".to_owned(),
        text: text.into(),
        files: Vec::new(),
    };
    engine.kernel().deploy("flow", source).await.expect("a good flow");
    engine
}

/// The result of a call in a flow: the answer, or the code of its failure.
async fn call(engine: &Engine, request: Value) -> Value {
    let command = Command::Start(StartCommand {
        definition: "call".to_owned(),
        input: Json::of(&request).expect("JSON"),
        ..StartCommand::default()
    });
    let patience = Some(Duration::from_mins(1));
    let reply = engine.kernel().call_and_wait(command, Wait::Idle, patience).await;
    let Ok(Reply::Started { row: Some(row), .. }) = reply else { panic!("{reply:?}") };
    assert_eq!(row.phase, Phase::Completed, "{request}: {:?}", row.meta.outcome);
    let Some(meantime_core::Outcome::Completed { output, .. }) = row.meta.outcome else {
        panic!("no output")
    };
    output.read().expect("JSON")
}

#[tokio::test]
async fn what_is_not_public_is_never_reached() {
    let canary = listen("127.0.0.1", |_| Response::new(Body::from("canary"))).await;
    let engine = engine(&["127.0.0.9/32"]).await;
    let port = canary.address.port();
    let hosts = [
        "127.0.0.1",
        "127.1",
        "127.0.1",
        "127.000.000.001",
        "0177.0.0.1",
        "0x7f.0.0.1",
        "0x7f000001",
        "2130706433",
        "017700000001",
        "0",
        "0.0.0.0",
        "localhost",
        "LOCALHOST",
        "localhost.",
        "ip6-localhost",
        "[::1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::127.0.0.1]",
        "[0:0:0:0:0:0:0:1]",
        "[0000::1]",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
        "127.0.0.2",
        "127.255.255.254",
        "[::ffff:0:127.0.0.1]",
        "user@127.0.0.1",
        "user:pw@127.0.0.1",
        "127.0.0.9@127.0.0.1",
        "127.0.0.1%00",
        "127。0。0。1",
        "①②⑦.⓪.⓪.①",
        "10.0.0.1",
        "172.16.0.1",
        "192.168.0.1",
        "169.254.169.254",
        "[fd00:ec2::254]",
        "100.64.0.1",
        "[fe80::1]",
        "[fe80::1%25lo]",
        "metadata.google.internal",
        "255.255.255.255",
    ];
    let schemes = ["http", "https", "HTTP"];
    let mut attempts = 0;
    for host in hosts {
        for scheme in schemes {
            // Private networks of this machine may be real, so these calls do not wait for an
            // answer.
            let url = format!("{scheme}://{host}:{port}/");
            let answer = call(&engine, json!({ "url": url, "timeout": 2 })).await;
            let code = answer.as_str().unwrap_or_default();
            assert!(!code.is_empty(), "{url} was answered: {answer}");
            attempts += 1;
        }
    }
    for url in ["file:///etc/passwd", "ftp://127.0.0.1/", "gopher://127.0.0.1/", "http://", "x"] {
        let answer = call(&engine, json!({ "url": url })).await;
        assert!(answer.is_string() || answer.is_null(), "{url}: {answer}");
        attempts += 1;
    }
    assert!(attempts >= 80, "{attempts} attempts");
    assert_eq!(canary.connections.load(Ordering::SeqCst), 0, "the canary was reached");
}

#[tokio::test]
async fn redirects_are_checked_like_the_first_address() {
    let canary = listen("127.0.0.1", |_| Response::new(Body::from("canary"))).await;
    let port = canary.address.port();
    let public = listen("127.0.0.9", move |request| {
        let hop = request.uri().query().unwrap_or_default().to_owned();
        let host = request.headers()["host"].to_str().unwrap_or_default().to_owned();
        let location = match hop.as_str() {
            "chain" => format!("http://{host}/?canary"),
            "canary" => format!("http://127.0.0.1:{port}/"),
            "relative" => format!("//127.0.0.1:{port}/"),
            "decimal" => format!("http://2130706433:{port}/"),
            "mapped" => format!("http://[::ffff:127.0.0.1]:{port}/"),
            "name" => format!("http://localhost:{port}/"),
            "loop" => "/?loop".to_owned(),
            "good" => "/?end".to_owned(),
            _ => return Response::new(Body::from("\"public\"")),
        };
        Response::builder().status(302).header("location", location).body(Body::empty()).unwrap()
    })
    .await;
    let engine = engine(&["127.0.0.9/32"]).await;
    let at = |hop: &str| json!({ "url": format!("http://{}/?{hop}", public.address) });
    for hop in ["chain", "canary", "relative", "decimal", "mapped", "name"] {
        assert_eq!(call(&engine, at(hop)).await, json!("HTTP_REFUSED"), "{hop}");
    }
    assert_eq!(call(&engine, at("loop")).await, json!("HTTP_INVALID"));
    assert_eq!(call(&engine, at("good")).await["status"], 200);
    assert_eq!(canary.connections.load(Ordering::SeqCst), 0, "the canary was reached");
}

#[tokio::test]
async fn neither_credentials_nor_bodies_follow_to_another_origin() {
    const SECRETS: [&str; 6] =
        ["authorization", "proxy-authorization", "cookie", "x-api-key", "x-tenant", "x-my-secret"];
    let seen = |request: &Request<Incoming>| {
        let names = SECRETS.iter().filter(|name| request.headers().contains_key(**name));
        json!({
            "secrets": names.collect::<Vec<_>>(),
            "accept": request.headers().contains_key("accept"),
            "type": request.headers().contains_key("content-type"),
            "length": request.headers().get("content-length").and_then(|it| it.to_str().ok()),
            "method": request.method().as_str(),
        })
    };
    let answer = move |request: &Request<Incoming>| {
        Response::builder()
            .header("content-type", "application/json")
            .body(Body::from(seen(request).to_string()))
            .unwrap()
    };
    // Another port of the same host, and another host.
    let other_port = listen("127.0.0.9", move |request| answer(&request)).await;
    let other_host = listen("127.0.0.8", move |request| answer(&request)).await;
    let (port, host) = (other_port.address, other_host.address);
    let first = listen("127.0.0.9", move |request| {
        let mut parts = request.uri().path().split('/').skip(1);
        let status: u16 = parts.next().and_then(|it| it.parse().ok()).unwrap_or(200);
        let to = match parts.next() {
            Some("port") => format!("http://{port}/"),
            Some("host") => format!("http://{host}/"),
            Some("chain") => format!("/{status}/host"),
            _ => return answer(&request),
        };
        Response::builder().status(status).header("location", &to).body(Body::empty()).unwrap()
    })
    .await;
    let engine = engine(&["127.0.0.8/31"]).await;
    let call = |method: &'static str, path: String, body: Option<Value>| {
        let url = format!("http://{}{path}", first.address);
        let mut headers = json!({ "Accept": "application/json" });
        for name in SECRETS {
            headers[name] = json!("s3cret");
        }
        let mut request = json!({ "method": method, "url": url, "headers": headers });
        if let Some(body) = body {
            request["body"] = body;
        }
        call(&engine, request)
    };
    let same = call("POST", "/200/here".to_owned(), Some(json!({ "a": 1 }))).await;
    assert_eq!(same["body"]["secrets"].as_array().map(Vec::len), Some(SECRETS.len()), "{same}");
    for to in ["port", "host", "chain"] {
        for status in [301, 302, 303, 307, 308] {
            let path = || format!("/{status}/{to}");
            let got = call("GET", path(), None).await;
            let plain = json!({
                "secrets": [], "accept": true, "type": false, "length": null, "method": "GET",
            });
            assert_eq!(got["body"], plain, "GET {status} to {to}");
            let before = (other_port.requests(), other_host.requests());
            let sent = call("POST", path(), Some(json!({ "secret": "s3cret" }))).await;
            if status < 307 {
                assert_eq!(sent["body"], plain, "POST {status} to {to}");
            } else {
                // A body is not sent again: the result of the call is the redirect itself.
                assert_eq!(sent["status"], status, "POST {status} to {to}");
                assert_eq!((other_port.requests(), other_host.requests()), before);
            }
        }
    }
}

#[tokio::test]
async fn a_call_says_what_it_is_and_how_long_it_has() {
    let server = listen("127.0.0.9", |request| {
        let header = |name: &str| {
            request.headers().get(name).and_then(|it| it.to_str().ok()).map(str::to_owned)
        };
        let body = json!({
            "agent": header("user-agent"), "type": header("content-type"),
            "key": header("idempotency-key").is_some_and(|key| key.len() > 40),
            "budget": header("meantime-budget-ms").and_then(|it| it.parse::<u64>().ok()),
        });
        Response::builder()
            .header("content-type", "application/problem+json")
            .body(Body::from(body.to_string()))
            .unwrap()
    })
    .await;
    let engine = engine(&["127.0.0.9/32"]).await;
    let url = format!("http://{}/", server.address);
    let answer = call(&engine, json!({ "method": "POST", "url": url, "body": {"a": 1.10} })).await;
    let body = &answer["body"];
    assert_eq!(body["type"], "application/json");
    assert_eq!(body["key"], true);
    assert_eq!(body["budget"], Value::Null, "there is no deadline");
    assert!(body["agent"].as_str().unwrap_or_default().starts_with("meantime/"));
}

#[tokio::test]
async fn answers_are_bounded_in_size_and_time() {
    let large = listen("127.0.0.9", |_| Response::new(Body::from(vec![b'x'; 3 << 20]))).await;
    let silent = TcpListener::bind("127.0.0.9:0").await.expect("a port");
    let engine = engine(&["127.0.0.9/32"]).await;
    let url = format!("http://{}/", large.address);
    assert_eq!(call(&engine, json!({ "url": url })).await, json!("HTTP_TOO_LARGE"));
    let url = format!("http://{}/", silent.local_addr().expect("an address"));
    assert_eq!(call(&engine, json!({ "url": url, "timeout": 0.2 })).await, json!("HTTP_TIMEOUT"));
    let gone = TcpListener::bind("127.0.0.9:0").await.expect("a port");
    let url = format!("http://{}/", gone.local_addr().expect("an address"));
    drop(gone);
    assert_eq!(call(&engine, json!({ "url": url })).await, json!("HTTP_UNREACHABLE"));
}
