//! Real sockets: callers that wait, disconnect, send slowly or too much; and how a server stops.

use std::net::SocketAddr;
use std::sync::Arc;

use meantime_kernel::store::{BoxFuture, Fetched, Layer, MemoryStore, Plan, Store, UnitResult};
use meantime_server::{App, Engine, Settings, SourceFormats, notations, serve};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;

struct Server {
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    over: JoinHandle<()>,
}

async fn start(change: impl FnOnce(&mut Settings)) -> Server {
    let server = start_empty(change).await;
    let flow = "return await Task.run('work', Inputs)";
    let (status, _) = server.send("POST", "/definitions?name=work", "text/javascript", flow).await;
    assert_eq!(status, 201);
    server
}

async fn start_empty(change: impl FnOnce(&mut Settings)) -> Server {
    start_on(Arc::new(MemoryStore::new()), change).await
}

async fn start_on(store: Arc<dyn Store>, change: impl FnOnce(&mut Settings)) -> Server {
    let mut settings = Settings { listen: ([127, 0, 0, 1], 0).into(), ..Settings::default() };
    change(&mut settings);
    let engine = Engine::start_on(store, settings, notations(), SourceFormats::default()).await;
    let app = App::new(&engine.expect("the engine starts"));
    let serving = serve(app).await.expect("it listens");
    let address = serving.address().expect("an address");
    let (stop, stopped) = oneshot::channel();
    let over = tokio::spawn(serving.run(async { drop(stopped.await) }));
    Server { address, stop, over }
}

impl Server {
    async fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        self.send("POST", path, "application/json", &body.to_string()).await
    }

    async fn get(&self, path: &str) -> (u16, Value) {
        self.send("GET", path, "application/json", "").await
    }

    /// The value of a metric.
    async fn metric(&self, name: &str) -> u64 {
        let mut connection = Connection::open(self.address).await;
        connection.raw(b"GET /metrics HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
        let (status, length) = connection.head().await.expect("an answer");
        assert_eq!(status, 200);
        let mut text = vec![0; length];
        connection.0.read_exact(&mut text).await.expect("a body");
        let text = String::from_utf8(text).expect("text");
        let found = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        found.and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("{name}: {text}"))
    }

    /// Asks for a metric until it has this value. A count that leaks shows as a wrong value after
    /// many attempts, not as a test without an end.
    async fn until_metric_is(&self, name: &str, value: u64) {
        let mut last = 0;
        for _ in 0..2_000 {
            last = self.metric(name).await;
            if last == value {
                return;
            }
        }
        panic!("{name} is {last}, not {value}");
    }

    async fn send(&self, method: &str, path: &str, kind: &str, body: &str) -> (u16, Value) {
        let mut connection = Connection::open(self.address).await;
        connection.write(method, path, kind, body).await;
        connection.answer().await.expect("an answer")
    }
}

/// One connection with a minimal HTTP client.
struct Connection(BufReader<TcpStream>);

impl Connection {
    async fn open(address: SocketAddr) -> Self {
        Self(BufReader::new(TcpStream::connect(address).await.expect("a connection")))
    }

    async fn write(&mut self, method: &str, path: &str, kind: &str, body: &str) {
        let head = format!(
            "{method} /api/v1{path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: {kind}\r\n\
             content-length: {}\r\n\r\n{body}",
            body.len()
        );
        self.raw(head.as_bytes()).await;
    }

    async fn raw(&mut self, bytes: &[u8]) {
        self.0.get_mut().write_all(bytes).await.expect("written");
    }

    async fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let read = self.0.read_line(&mut line).await.unwrap_or(0);
        (read > 0).then(|| line.trim_end().to_owned())
    }

    /// Reads the head of an answer; returns the status and the length of the body.
    async fn head(&mut self) -> Option<(u16, usize)> {
        let first = self.line().await?;
        let status = first.split(' ').nth(1)?.parse().ok()?;
        let mut length = 0;
        loop {
            let line = self.line().await?.to_ascii_lowercase();
            if line.is_empty() {
                return Some((status, length));
            }
            if let Some(value) = line.strip_prefix("content-length: ") {
                length = value.parse().ok()?;
            }
        }
    }

    async fn answer(&mut self) -> Option<(u16, Value)> {
        let (status, length) = self.head().await?;
        let mut body = vec![0; length];
        self.0.read_exact(&mut body).await.ok()?;
        Some((status, serde_json::from_slice(&body).unwrap_or_default()))
    }

    /// The next event of a stream: its id and its data.
    async fn event(&mut self) -> (String, Value) {
        let mut id = String::new();
        loop {
            let line = self.line().await.expect("the stream goes on");
            if let Some(value) = line.strip_prefix("id: ") {
                value.clone_into(&mut id);
            }
            if let Some(data) = line.strip_prefix("data: ") {
                return (id, serde_json::from_str(data).expect("JSON"));
            }
        }
    }
}

fn claim(wait_ms: u64) -> Value {
    json!({ "worker": "w", "types": ["work"], "max": 10, "waitMs": wait_ms })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_that_waits_is_woken_by_a_start() {
    let server = start(|_| {}).await;
    let mut worker = Connection::open(server.address).await;
    worker.write("POST", "/tasks/claim", "application/json", &claim(60_000).to_string()).await;
    let begin = json!({ "definition": "work", "input": {"a": 1} });
    let starting = server.post("/instances?wait=PT20S", &begin);
    let working = async {
        let (status, claimed) = worker.answer().await.expect("woken");
        assert_eq!(status, 200);
        let task = &claimed["tasks"][0];
        let path = format!("/tasks/{}/complete", task["id"].as_str().expect("an id"));
        let report = json!({ "leaseToken": task["leaseToken"], "output": task["input"] });
        assert_eq!(server.post(&path, &report).await.0, 200);
    };
    let ((status, instance), ()) = tokio::join!(starting, working);
    assert_eq!((status, &instance["status"]), (201, &json!("completed")));
    assert_eq!(instance["output"], json!({"a": 1}));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_that_goes_away_takes_nothing() {
    let server = start(|_| {}).await;
    let mut workers = Vec::new();
    for _ in 0..5 {
        let mut worker = Connection::open(server.address).await;
        worker.write("POST", "/tasks/claim", "application/json", &claim(60_000).to_string()).await;
        workers.push(worker);
    }
    // A connection whose end has not arrived yet looks like an open one, so the test waits until
    // the server has noticed the end of all of them.
    while server.metric("meantime_waiting_claims").await < 5 {}
    drop(workers);
    while server.metric("meantime_waiting_claims").await > 0 {}
    let (_, instance) = server.post("/instances", &json!({ "definition": "work" })).await;
    let (_, claimed) = server.post("/tasks/claim", &claim(20_000)).await;
    assert_eq!(claimed["tasks"][0]["instanceId"], instance["id"]);
    assert_eq!(claimed["tasks"][0]["attempt"], 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn callers_that_go_away_are_no_longer_in_flight() {
    let server = start(|_| {}).await;
    // The request for the metric is the only one.
    server.until_metric_is("meantime_http_requests_in_flight", 1).await;
    let mut callers = Vec::new();
    for _ in 0..3 {
        let mut worker = Connection::open(server.address).await;
        let claim = json!({ "worker": "w", "types": ["other"], "waitMs": 60_000 }).to_string();
        worker.write("POST", "/tasks/claim", "application/json", &claim).await;
        let mut starter = Connection::open(server.address).await;
        let start = json!({ "definition": "work" }).to_string();
        starter.write("POST", "/instances?wait=PT25S", "application/json", &start).await;
        callers.extend([worker, starter]);
    }
    server.until_metric_is("meantime_http_requests_in_flight", 7).await;
    drop(callers);
    server.until_metric_is("meantime_http_requests_in_flight", 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_that_was_frozen_past_its_lease_is_refused_once_the_task_was_claimed_again() {
    let server = start(|_| {}).await;
    server.post("/instances", &json!({ "definition": "work" })).await;
    let short = json!({ "worker": "frozen", "leaseMs": 50 });
    let (_, frozen) = server.post("/tasks/claim", &short).await;
    // Answered when the lease of the first has expired.
    let (_, second) = server.post("/tasks/claim", &claim(60_000)).await;
    let (frozen, second) = (&frozen["tasks"][0], &second["tasks"][0]);
    assert_eq!(frozen["id"], second["id"]);
    let complete =
        |task: &Value| json!({ "leaseToken": task["leaseToken"], "output": task["attempt"] });
    let path = format!("/tasks/{}/complete", frozen["id"].as_str().expect("an id"));
    let (status, problem) = server.post(&path, &complete(frozen)).await;
    assert_eq!((status, &problem["code"]), (409, &json!("lease_lost")));
    assert_eq!(server.post(&path, &complete(second)).await.0, 200);
    let (_, over) = server.get("/instances").await;
    assert_eq!(over["items"][0]["status"], "completed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn beyond_its_limits_a_server_says_when_to_come_back() {
    let second = |change: fn(&mut Settings)| async move {
        let server = start_empty(change).await;
        server.get("/timers").await;
        let mut connection = Connection::open(server.address).await;
        connection.write("GET", "/timers", "application/json", "").await;
        let status = connection.line().await.unwrap_or_default();
        let mut hint = None;
        while let Some(line) = connection.line().await.filter(|line| !line.is_empty()) {
            let line = line.to_ascii_lowercase();
            hint = hint.or(line.strip_prefix("retry-after: ").map(str::to_owned));
        }
        (status, hint.unwrap_or_default())
    };
    let (status, hint) = second(|settings| settings.http.max_requests = 0).await;
    assert!(status.contains(" 503 ") && hint == "1", "{status} {hint}");
    let (status, hint) = second(|settings| {
        settings.rate.requests_per_second = 1;
        settings.rate.burst = 1;
    })
    .await;
    assert!(status.contains(" 429 ") && hint == "1", "{status} {hint}");
}

/// A server with a journey whose start waits for a service that never answers.
async fn with_a_journey_that_waits(requests: usize) -> (Server, TcpListener) {
    let silent = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let server = start_empty(|settings| {
        settings.http.max_requests = requests;
        settings.egress.allow = vec!["127.0.0.0/8".to_owned()];
        settings.egress.ports = Vec::new();
    })
    .await;
    let text = format!(
        "apiVersion: v1\nkind: Journey\nmetadata: {{name: x, version: 1.0.0}}\nspec:\n  start: call\n  \
         states:\n    call: {{type: task, task: {{kind: httpCall:v1, method: GET, url: \
         'http://{}/', resultVar: a}}, next: done}}\n    done: {{type: succeed}}\n",
        silent.local_addr().expect("an address")
    );
    let (status, answer) = server.send("POST", "/definitions", "application/yaml", &text).await;
    assert_eq!(status, 201, "{answer}");
    (server, silent)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_start_that_waits_takes_no_place_from_others() {
    let (server, silent) = with_a_journey_that_waits(1).await;
    let mut waits = Connection::open(server.address).await;
    waits.write("POST", "/journeys/x/start", "application/json", "{}").await;
    // The start waits as soon as the service is called.
    let _called = silent.accept().await.expect("a call");
    assert_eq!(server.get("/instances").await.0, 200);
    let mut another = Connection::open(server.address).await;
    another.write("POST", "/journeys/x/start", "application/json", "{}").await;
    let _called = silent.accept().await.expect("another call");
    assert_eq!(server.metric("meantime_waiters").await, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_that_comes_slowly_takes_no_place_from_others() {
    let server = start_empty(|settings| settings.http.max_requests = 1).await;
    let mut slow = Connection::open(server.address).await;
    slow.raw(
        b"POST /api/v1/instances HTTP/1.1\r\nhost: localhost\r\nexpect: 100-continue\r\n\
          content-type: application/json\r\ncontent-length: 21\r\n\r\n",
    )
    .await;
    // The server sends this when it waits for the body.
    assert_eq!(slow.head().await.map(|(status, _)| status), Some(100));
    slow.raw(b"{").await;
    assert_eq!(server.get("/instances").await.0, 200);
    slow.raw(br#""definition":"none"}"#).await;
    let (status, problem) = slow.answer().await.expect("an answer");
    assert_eq!((status, &problem["code"]), (404, &json!("unknown_definition")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_needs_a_place_but_health_and_metrics_have_their_own() {
    let server = start_empty(|settings| settings.http.max_requests = 0).await;
    for path in ["/instances", "/timers", "/events", "/tasks"] {
        let (status, problem) = server.get(path).await;
        assert_eq!((status, &problem["code"]), (503, &json!("too_many_requests")), "{path}");
    }
    for path in ["/healthz", "/readyz", "/metrics"] {
        let mut connection = Connection::open(server.address).await;
        let head = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n");
        connection.raw(head.as_bytes()).await;
        assert_eq!(connection.head().await.map(|(status, _)| status), Some(200), "{path}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn so_many_wait_and_no_more() {
    let server = start_empty(|settings| settings.http.max_waiting = 2).await;
    let mut worker = Connection::open(server.address).await;
    worker.write("POST", "/tasks/claim", "application/json", &claim(60_000).to_string()).await;
    while server.metric("meantime_waiting_claims").await < 1 {}
    let mut follower = Connection::open(server.address).await;
    follower.write("GET", "/events", "application/json", "").await;
    assert_eq!(follower.head().await.map(|(status, _)| status), Some(200));
    for (method, path, body) in [
        ("POST", "/tasks/claim", claim(60_000).to_string()),
        ("GET", "/events", String::new()),
        ("POST", "/instances?wait=PT1S", r#"{"definition":"x"}"#.to_owned()),
    ] {
        let (status, problem) = server.send(method, path, "application/json", &body).await;
        assert_eq!((status, &problem["code"]), (503, &json!("too_many_requests")), "{path}");
    }
    let (status, _) = server.post("/tasks/claim", &claim(0)).await;
    assert_eq!(status, 200, "who does not wait needs no place for it");
    drop(follower);
    // As soon as the server has noticed the disconnect, another caller is admitted.
    loop {
        let mut follower = Connection::open(server.address).await;
        follower.write("GET", "/events", "application/json", "").await;
        if follower.head().await.is_some_and(|(status, _)| status == 200) {
            break;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_address_has_so_many_connections_and_may_still_ask_how_the_server_stands() {
    let server = start_empty(|settings| settings.http.max_connections_per_address = 2).await;
    let mut held = Vec::new();
    for _ in 0..2 {
        let mut connection = Connection::open(server.address).await;
        connection.write("GET", "/instances", "application/json", "").await;
        assert_eq!(connection.answer().await.map(|(status, _)| status), Some(200));
        held.push(connection);
    }
    let (status, problem) = server.get("/instances").await;
    assert_eq!((status, &problem["code"]), (503, &json!("too_many_requests")));
    let mut health = Connection::open(server.address).await;
    health.raw(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    assert_eq!(health.answer().await.map(|(status, _)| status), Some(200));
    assert_eq!(health.line().await, None, "it hears one answer");
    held.pop();
    while server.get("/instances").await.0 != 200 {}
}

/// A store whose commits wait until the test releases them.
struct Held {
    store: MemoryStore,
    goes: watch::Receiver<bool>,
}

impl Layer for Held {
    fn inner(&self) -> &dyn Store {
        &self.store
    }

    fn on_commit(&self, fetched: Fetched, plan: Plan) -> BoxFuture<'_, Vec<UnitResult>> {
        let mut goes = self.goes.clone();
        Box::pin(async move {
            let _ = goes.wait_for(|goes| *goes).await;
            self.store.commit(fetched, plan).await
        })
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_the_engine_is_behind_starts_are_refused_by_their_head() {
    let (let_go, goes) = watch::channel(true);
    let server = start_on(Arc::new(Held { store: MemoryStore::new(), goes }), |_| {}).await;
    let flow = "return 1";
    let (status, _) = server.send("POST", "/definitions?name=f", "text/javascript", flow).await;
    assert_eq!(status, 201);
    let_go.send_replace(false);
    let mut started = Vec::new();
    let body = json!({ "definition": "f" }).to_string();
    // Nothing is committed: starts wait, and after some time further starts are rejected.
    while server.metric("meantime_commands_rejected_total").await == 0 {
        let mut start = Connection::open(server.address).await;
        start.write("POST", "/instances", "application/json", &body).await;
        started.push(start);
    }
    let head = "POST /api/v1/instances HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\n\r\n";
    let mut asks = Connection::open(server.address).await;
    asks.raw(head.as_bytes()).await;
    let first = asks.line().await.expect("an answer without a body");
    assert!(first.contains(" 503 "), "{first}");
    let mut hint = None;
    while let Some(line) = asks.line().await.filter(|line| !line.is_empty()) {
        hint = hint.or(line.to_ascii_lowercase().strip_prefix("retry-after: ").map(str::to_owned));
    }
    assert_eq!(hint.as_deref(), Some("1"));
    assert_eq!(server.get("/instances").await.0, 200, "others are not refused");
    let_go.send_replace(true);
    for mut start in started {
        let (status, answer) = start.answer().await.expect("an answer");
        let is_refusal = status == 503 && answer["code"] == "overloaded";
        assert!(status == 201 || is_refusal, "{status} {answer}");
    }
    while server.post("/instances", &json!({ "definition": "f" })).await.0 != 201 {}
}

/// The status and the reason of `/readyz`.
async fn readiness(server: &Server) -> (u16, String) {
    let mut asks = Connection::open(server.address).await;
    asks.raw(b"GET /readyz HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    let (status, health) = asks.answer().await.expect("an answer");
    (status, health["detail"].as_str().unwrap_or_default().to_owned())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_that_hangs_makes_the_server_unready_until_it_is_through() {
    let (let_go, goes) = watch::channel(true);
    let server = start_on(Arc::new(Held { store: MemoryStore::new(), goes }), |_| {}).await;
    let flow = "return 1";
    let (status, _) = server.send("POST", "/definitions?name=f", "text/javascript", flow).await;
    assert_eq!(status, 201);
    assert_eq!(readiness(&server).await.0, 200);
    let_go.send_replace(false);
    let mut start = Connection::open(server.address).await;
    let body = json!({ "definition": "f" }).to_string();
    start.write("POST", "/instances", "application/json", &body).await;
    let reason = loop {
        let (status, reason) = readiness(&server).await;
        if status == 503 {
            break reason;
        }
    };
    assert!(reason.starts_with("a batch has waited"), "{reason}");
    let_go.send_replace(true);
    assert_eq!(start.answer().await.map(|(status, _)| status), Some(201));
    assert_eq!(readiness(&server).await, (200, String::new()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_stops_answers_everybody_who_waits() {
    let server = start(|_| {}).await;
    let mut worker = Connection::open(server.address).await;
    let other = json!({ "worker": "w", "types": ["other"], "waitMs": 60_000 });
    worker.write("POST", "/tasks/claim", "application/json", &other.to_string()).await;
    let mut starter = Connection::open(server.address).await;
    let begin = json!({ "definition": "work" }).to_string();
    starter.write("POST", "/instances?wait=PT25S", "application/json", &begin).await;
    let mut follower = Connection::open(server.address).await;
    follower.write("GET", "/events?after=0", "application/json", "").await;
    assert_eq!(follower.head().await.map(|(status, _)| status), Some(200));
    // The first event shows that the start is in progress.
    follower.event().await;
    server.stop.send(()).expect("it runs");
    assert_eq!(worker.answer().await, Some((200, json!({ "tasks": [] }))));
    let (status, instance) = starter.answer().await.expect("answered");
    assert_eq!((status, &instance["status"]), (201, &json!("running")));
    server.over.await.expect("it ends");
    assert!(TcpStream::connect(server.address).await.is_err(), "nobody listens any more");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_are_followed_and_resumed_by_id() {
    let server = start(|_| {}).await;
    let mut follower = Connection::open(server.address).await;
    follower.write("GET", "/events?definition=work", "application/json", "").await;
    follower.head().await.expect("a stream");
    let (_, first) = server.post("/instances", &json!({ "definition": "work" })).await;
    let (id, event) = follower.event().await;
    assert_eq!(event["instanceId"], first["id"]);
    assert_eq!(event["records"][0]["type"], "started");
    drop(follower);
    // A follower that comes back gets the events of the meantime.
    let (_, second) = server.post("/instances", &json!({ "definition": "work" })).await;
    let (_, _) = server.post("/instances", &json!({ "definition": "work" })).await;
    let mut back = Connection::open(server.address).await;
    let head =
        format!("GET /api/v1/events HTTP/1.1\r\nhost: localhost\r\nlast-event-id: {id}\r\n\r\n");
    back.raw(head.as_bytes()).await;
    back.head().await.expect("a stream");
    assert_eq!(back.event().await.1["instanceId"], second["id"]);
    let path = format!("/events?after=0&instance={}", first["id"].as_str().expect("an id"));
    let mut one = Connection::open(server.address).await;
    one.write("GET", &path, "application/json", "").await;
    one.head().await.expect("a stream");
    assert_eq!(one.event().await.0, id);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_slow_connections_stop_nobody() {
    meantime_server::raise_file_limit();
    let server = start(|_| {}).await;
    let mut slow = Vec::new();
    for number in 0..1_000 {
        let mut connection = Connection::open(server.address).await;
        let part: &[u8] = match number % 3 {
            0 => b"",
            1 => b"POST /api/v1/instances HTTP/1.1\r\nhost: loc",
            _ => {
                b"POST /api/v1/instances HTTP/1.1\r\nhost: localhost\r\ncontent-length: 99\r\n\r\n{"
            }
        };
        connection.raw(part).await;
        slow.push(connection);
    }
    let (status, _) = server.post("/instances", &json!({ "definition": "work" })).await;
    assert_eq!(status, 201);
    assert_eq!(server.get("/instances").await.0, 200);
    drop(slow);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_comes_too_slowly_or_with_too_long_a_head_is_refused() {
    let server = start_empty(|settings| {
        settings.http.max_header_bytes = 8_192;
        settings.http.body_timeout = meantime_server::Period::seconds(0);
    })
    .await;
    let mut slow = Connection::open(server.address).await;
    slow.raw(b"POST /api/v1/signals/x HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\n\r\n{")
        .await;
    let (status, problem) = slow.answer().await.expect("an answer");
    assert_eq!((status, &problem["code"]), (408, &json!("slow_request")));
    let mut large = Connection::open(server.address).await;
    let field = "x".repeat(20_000);
    let head = format!("GET /api/v1/instances HTTP/1.1\r\nhost: localhost\r\nx: {field}\r\n\r\n");
    large.raw(head.as_bytes()).await;
    assert_eq!(large.head().await.map(|(status, _)| status), Some(431));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_beyond_its_limit_is_refused() {
    let server = start(|settings| settings.http.max_body_bytes = 1_000).await;
    let body = json!({ "definition": "work", "input": "x".repeat(2_000) });
    let (status, problem) = server.post("/instances", &body).await;
    assert_eq!((status, &problem["code"]), (413, &json!("too_large")));
}

#[tokio::test]
async fn other_machines_are_not_served_without_credentials() {
    let settings = Settings { listen: ([0, 0, 0, 0], 0).into(), ..Settings::default() };
    let store = Arc::new(MemoryStore::new());
    let engine = Engine::start_on(store, settings, notations(), SourceFormats::default()).await;
    let app = App::new(&engine.expect("the engine starts"));
    let Err(error) = serve(app).await else { panic!("it listens") };
    assert!(error.to_string().contains("--insecure"), "{error}");
}
