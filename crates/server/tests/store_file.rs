//! A SQLite file that is removed under a running server: nothing more is acknowledged, and the
//! answers, the readiness and the log say so.

#[path = "support/log.rs"]
mod log;

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use http_body_util::BodyExt as _;
use meantime_server::{App, Engine, Settings, SourceFormats, log_filter, notations};
use meantime_store::sqlite::{Options, SqliteStore};
use serde_json::{Value, json};
use tower::ServiceExt as _;
use tracing_subscriber::filter::LevelFilter;

async fn send(router: &Router, method: &str, path: &str, kind: &str, body: &str) -> (u16, Value) {
    let request = Request::builder().method(method).uri(path).header("host", "localhost");
    let request = request.header("content-type", kind).body(Body::from(body.to_owned()));
    let response = router.clone().oneshot(request.expect("a request")).await.expect("an answer");
    let status = response.status().as_u16();
    let body = response.into_body().collect().await.expect("a body").to_bytes();
    (status, serde_json::from_slice(&body).expect("JSON"))
}

#[tokio::test]
async fn a_file_that_is_removed_under_a_running_server_ends_its_acknowledgements() {
    let (log, _scope) = log::collect(log_filter(LevelFilter::ERROR));
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("store.db");
    let store = SqliteStore::open(&path, Options::default()).expect("the store opens");
    let (store, formats) = (Arc::new(store), SourceFormats::default());
    let engine = Engine::start_on(store, Settings::default(), notations(), formats).await;
    let engine = engine.expect("the engine starts");
    let router = App::new(&engine).router();
    let deployed = "/api/v1/definitions?name=f";
    assert_eq!(send(&router, "POST", deployed, "text/javascript", "return 1").await.0, 201);
    let start = json!({ "definition": "f" }).to_string();
    let started =
        async || send(&router, "POST", "/api/v1/instances", "application/json", &start).await;
    let ready = async || send(&router, "GET", "/readyz", "application/json", "").await;
    assert_eq!((started().await.0, ready().await.0), (201, 200));
    std::fs::remove_file(&path).expect("it can be removed");
    // Known before anything is written.
    assert_eq!(ready().await.0, 503);
    for _ in 0..2 {
        let (status, problem) = started().await;
        assert_eq!((status, &problem["code"]), (503, &json!("store_file_replaced")), "{problem}");
    }
    let (status, health) = ready().await;
    assert_eq!((status, &health["status"]), (503, &json!("not ready")));
    let is_told = |line: &String| {
        line.contains("the engine has stopped") && line.contains("store_file_replaced")
    };
    // The log is written by a task of its own.
    while !log.take().iter().any(is_told) {
        tokio::task::yield_now().await;
    }
    // The process itself is healthy: it can still be asked.
    assert_eq!(send(&router, "GET", "/healthz", "application/json", "").await.0, 200);
    engine.stop().await;
}
