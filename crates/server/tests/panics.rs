//! A panic while a request is answered: the caller gets 500, the log says what happened, no count
//! leaks, and the server goes on.

#[path = "support/log.rs"]
mod log;

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use http_body_util::BodyExt as _;
use meantime_core::{
    Compiled, Cx, Definition, Diagnostic, Event, Fault, Limits, Notation, Source, Start, State,
    Timestamp, Turn, View,
};
use meantime_kernel::store::MemoryStore;
use meantime_server::{App, Engine, Settings, SourceFormats, log_filter, notations};
use meantime_sim::probe::Probe;
use serde_json::{Value, json};
use tower::ServiceExt as _;
use tracing_subscriber::filter::LevelFilter;

/// Probes whose state cannot be shown.
struct PanicsWhenShown(Probe);

impl Notation for PanicsWhenShown {
    fn compile(&self, source: &Source, limits: &Limits) -> Compiled {
        self.0.compile(source, limits)
    }

    fn lint(&self, definition: &Definition, now: Timestamp) -> Vec<Diagnostic> {
        self.0.lint(definition, now)
    }

    fn start(&self, definition: &Definition, start: &Start, cx: &Cx<'_>) -> Result<Turn, Fault> {
        self.0.start(definition, start, cx)
    }

    fn advance(
        &self,
        definition: &Definition,
        state: &State,
        events: &[Event],
        cx: &Cx<'_>,
    ) -> Result<Turn, Fault> {
        self.0.advance(definition, state, events, cx)
    }

    fn inspect(&self, _definition: &Definition, _state: &State) -> View {
        panic!("a view that cannot be built")
    }
}

/// Sends a request; returns the status, the content type and the body.
async fn send(router: &Router, method: &str, path: &str, body: &str) -> (u16, String, String) {
    let kind = if path.contains("definitions") { "text/x-probe" } else { "application/json" };
    let request = Request::builder().method(method).uri(path).header("host", "localhost");
    let request = request.header("content-type", kind).body(Body::from(body.to_owned()));
    let response = router.clone().oneshot(request.expect("a request")).await.expect("an answer");
    let status = response.status().as_u16();
    let kind = response.headers()["content-type"].to_str().expect("text").to_owned();
    let body = response.into_body().collect().await.expect("a body").to_bytes();
    (status, kind, String::from_utf8(body.to_vec()).expect("text"))
}

#[tokio::test]
async fn a_panic_answers_500_is_logged_and_leaks_no_count() {
    let (log, _scope) = log::collect(log_filter(LevelFilter::ERROR));
    let notations = notations().with("probe", Arc::new(PanicsWhenShown(Probe)));
    let formats = SourceFormats::default().with("probe", &["text/x-probe"]);
    let store = Arc::new(MemoryStore::new());
    let engine = Engine::start_on(store, Settings::default(), notations, formats).await;
    let engine = engine.expect("the engine starts");
    let router = App::new(&engine).router();
    let probe = "probe waits\nsignal s go\nawait s\nend $s\n";
    let (status, _, deployed) = send(&router, "POST", "/api/v1/definitions?name=x", probe).await;
    assert_eq!(status, 201, "{deployed}");
    let start = json!({ "definition": "waits" }).to_string();
    // The start is committed before its answer is built.
    // `/instances` is answered on the background pool, the others on the threads of requests.
    for (method, path, body) in [
        ("POST", "/api/v1/instances", start.as_str()),
        ("GET", "/api/v1/instances", ""),
        ("GET", "/api/v1/instances?waitingFor=signal", ""),
    ] {
        log.take();
        let (status, kind, answer) = send(&router, method, path, body).await;
        let problem: Value = serde_json::from_str(&answer).expect("JSON");
        assert_eq!((status, &problem["code"]), (500, &json!("internal")), "{method} {path}");
        assert_eq!(kind, "application/problem+json", "{method} {path}");
        let logged = log.take();
        let is_told = |line: &String| line.contains("a view that cannot be built");
        assert!(logged.iter().any(is_told), "{method} {path}: {logged:?}");
        assert!(!answer.contains("a view that"), "callers are not told: {answer}");
    }
    let (status, _, metrics) = send(&router, "GET", "/metrics", "").await;
    assert_eq!(status, 200);
    assert!(metrics.contains("\nmeantime_http_requests_in_flight 1\n"), "{metrics}");
    let failed = "meantime_http_requests_total{method=\"GET\",route=\"/api/v1/instances\",status=\"500\"} 2\n";
    assert!(metrics.contains(failed), "{metrics}");
    assert_eq!(send(&router, "GET", "/api/v1/timers", "").await.0, 200);
    engine.stop().await;
}
