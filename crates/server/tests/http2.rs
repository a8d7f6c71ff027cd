//! HTTP/2: many requests on one connection, within the limits of the others.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::http::Request;
use http_body_util::BodyExt as _;
use hyper::client::conn::http2::{self, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use meantime_kernel::store::MemoryStore;
use meantime_server::{App, Engine, Period, Settings, SourceFormats, notations, serve};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, JoinSet};

const HOST: &str = "http://localhost";

struct Server {
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    over: JoinHandle<()>,
}

async fn start(change: impl FnOnce(&mut Settings)) -> Server {
    let mut settings = Settings { listen: ([127, 0, 0, 1], 0).into(), ..Settings::default() };
    change(&mut settings);
    let store = Arc::new(MemoryStore::new());
    let engine = Engine::start_on(store, settings, notations(), SourceFormats::default()).await;
    let serving = serve(App::new(&engine.expect("the engine starts"))).await.expect("it listens");
    let address = serving.address().expect("an address");
    let (stop, stopped) = oneshot::channel();
    let over = tokio::spawn(serving.run(async { drop(stopped.await) }));
    let server = Server { address, stop, over };
    let flow = "return await Task.run('work', Inputs)";
    let deploy = Request::post(format!("{HOST}/api/v1/definitions?name=work"));
    let deploy = deploy.header("content-type", "text/javascript").body(flow.to_owned());
    let (mut connection, _) = server.connect().await;
    let answer = connection.send_request(deploy.expect("a request")).await.expect("an answer");
    assert_eq!(answer.status(), 201);
    server
}

impl Server {
    /// A connection that speaks HTTP/2 from its first byte, and its end.
    async fn connect(&self) -> (SendRequest<String>, JoinHandle<()>) {
        let stream = TcpStream::connect(self.address).await.expect("a connection");
        let shaken = http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await;
        let (requests, connection) = shaken.expect("a handshake");
        // How a connection ends is not what is tested.
        (requests, tokio::spawn(async { drop(connection.await) }))
    }
}

fn post(path: &str, body: &Value) -> Request<String> {
    let request = Request::post(format!("{HOST}/api/v1{path}"));
    let request = request.header("content-type", "application/json");
    request.body(body.to_string()).expect("a request")
}

fn get(uri: &str) -> Request<String> {
    Request::get(uri).body(String::new()).expect("a request")
}

async fn send(mut connection: SendRequest<String>, request: Request<String>) -> (u16, Value) {
    let answer = connection.send_request(request).await.expect("an answer");
    let status = answer.status().as_u16();
    let body = answer.into_body().collect().await.expect("a body").to_bytes();
    (status, serde_json::from_slice(&body).unwrap_or_default())
}

async fn metrics(mut connection: SendRequest<String>) -> String {
    let answer = connection.send_request(get(&format!("{HOST}/metrics"))).await;
    let body = answer.expect("an answer").into_body().collect().await.expect("a body");
    String::from_utf8(body.to_bytes().to_vec()).expect("text")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_connection_has_many_long_polls() {
    let server = start(|_| {}).await;
    let (connection, _) = server.connect().await;
    let claim = json!({ "worker": "w", "types": ["work"], "waitMs": 60_000 });
    let mut polls = JoinSet::new();
    for _ in 0..100 {
        polls.spawn(send(connection.clone(), post("/tasks/claim", &claim)));
    }
    for _ in 0..100 {
        let begin = json!({ "definition": "work" });
        assert_eq!(send(connection.clone(), post("/instances", &begin)).await.0, 201);
    }
    for (status, claimed) in polls.join_all().await {
        assert_eq!(status, 200);
        assert_eq!(claimed["tasks"].as_array().map(Vec::len), Some(1), "{claimed}");
    }
}

#[tokio::test]
async fn the_authority_is_checked_like_a_host() {
    let server = start(|_| {}).await;
    let (connection, _) = server.connect().await;
    let path = "/api/v1/instances";
    assert_eq!(send(connection.clone(), get(&format!("{HOST}{path}"))).await.0, 200);
    let foreign = send(connection.clone(), get(&format!("http://evil.example{path}"))).await;
    assert_eq!((foreign.0, &foreign.1["code"]), (403, &json!("foreign_origin")));
    let mut two = get(&format!("http://evil.example{path}"));
    two.headers_mut().insert("host", "localhost".parse().expect("a value"));
    let two = send(connection, two).await;
    assert_eq!((two.0, &two.1["code"]), (400, &json!("invalid_host")));
}

#[tokio::test]
async fn a_head_has_limits() {
    let server = start(|settings| {
        settings.http.max_headers = 20;
        settings.http.max_header_bytes = 8_192;
    })
    .await;
    let (connection, _) = server.connect().await;
    let many = (0..30).fold(Request::get(format!("{HOST}/healthz")), |request, number| {
        request.header(format!("x-{number}"), "1")
    });
    let many = many.body(String::new()).expect("a request");
    assert_eq!(send(connection.clone(), many).await.0, 431);
    let long = Request::get(format!("{HOST}/healthz")).header("x", "x".repeat(20_000));
    let long = long.body(String::new()).expect("a request");
    let (status, _) = send(connection.clone(), long).await;
    assert_eq!(status, 431);
    assert_eq!(send(connection, get(&format!("{HOST}/healthz"))).await.0, 200);
}

#[tokio::test]
async fn a_connection_is_closed_when_it_is_idle_and_not_while_somebody_waits() {
    let server = start(|settings| settings.http.header_timeout = Period::seconds(1)).await;
    let (connection, closed) = server.connect().await;
    // Longer than a connection may be idle.
    let claim = json!({ "worker": "w", "types": ["other"], "waitMs": 1_500 });
    let waited = send(connection.clone(), post("/tasks/claim", &claim)).await;
    assert_eq!(waited, (200, json!({ "tasks": [] })));
    // The client still has its end.
    closed.await.expect("the server closes it");
    drop(connection);
    // So does one that stops in the middle of its first bytes.
    let mut stream = TcpStream::connect(server.address).await.expect("a connection");
    tokio::io::AsyncWriteExt::write_all(&mut stream, b"PRI * HTT").await.expect("written");
    let mut rest = Vec::new();
    // It may also be reset.
    let _ = tokio::io::AsyncReadExt::read_to_end(&mut stream, &mut rest).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_stops_answers_what_is_open() {
    let server = start(|_| {}).await;
    let (connection, _) = server.connect().await;
    // A connection that has sent nothing does not delay the stop.
    let _silent = TcpStream::connect(server.address).await.expect("a connection");
    let begin = json!({ "definition": "work" });
    assert_eq!(send(connection.clone(), post("/instances", &begin)).await.0, 201);
    let claim = json!({ "worker": "w", "types": ["other"], "waitMs": 60_000 });
    let poll = tokio::spawn(send(connection.clone(), post("/tasks/claim", &claim)));
    while !metrics(connection.clone()).await.contains("\nmeantime_waiting_claims 1\n") {}
    server.stop.send(()).expect("it runs");
    assert_eq!(poll.await.expect("no panic"), (200, json!({ "tasks": [] })));
    server.over.await.expect("it ends");
}
