//! An outage of the database as clients of the API see it: 503 with `Retry-After`, not ready, and
//! counted.

#[path = "support/operations.rs"]
mod operations;

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, Response, StatusCode};
use http_body_util::BodyExt as _;
use meantime_kernel::driver::StoreHealth;
use meantime_server::{App, Engine, Settings, SourceFormats, notations};
use meantime_store::postgres::PostgresStore;
use meantime_store::postgres::cluster::{Cluster, Durability, database_at};
use operations::{of_nothing, operations};
use tower::ServiceExt as _;

/// What needs no database, or answers each of several reports by itself. Everything else is
/// answered with 503 while the database is away.
const WITHOUT_DATABASE: &str = "
getClock advanceClock streamEvents completeTasks / /assets/{name} /healthz /openapi.json /docs /metrics
";

/// The bodies of operations that read one before they use the database.
fn body(operation: &str) -> &'static str {
    match operation {
        "deployDefinitions" => {
            r#"{"apiVersion": "v1", "kind": "Journey", "metadata": {"name": "x", "version": "1.0.0"},
                "spec": {"start": "done", "states": {"done": {"type": "succeed"}}}}"#
        }
        "startInstance" => r#"{"definition": "none"}"#,
        "publishMessage" => r#"{"name": "m", "correlationKey": "k"}"#,
        "claimTasks" => r#"{"worker": "w", "waitMs": 20000}"#,
        "completeTask" | "failTask" => r#"{"leaseToken": "1"}"#,
        "completeTasks" => r#"{"results": [], "claim": {"worker": "w"}}"#,
        "extendTaskLease" => r#"{"leaseToken": "1", "leaseMs": 1000}"#,
        "assignTask" => r#"{"assignee": "ann"}"#,
        "moveTimer" => r#"{"dueAt": "2026-01-01T00:00:00Z"}"#,
        "createSchedule" => r#"{"definition": "none", "interval": "PT1H"}"#,
        "backfillSchedule" => r#"{"from": "2026-01-01T00:00:00Z", "to": "2026-01-02T00:00:00Z"}"#,
        "setInstanceVariables" | "setInstanceScopeVariables" => r#"{"a": 1}"#,
        _ => "",
    }
}

/// A path with ids of the right kind, of nothing that exists.
fn unknown(path: &str) -> String {
    let path = of_nothing(path);
    let (kind, id) = ("in_", "00000000000000000000000000");
    let with = |prefix: &str, more: &str| {
        path.replace(&format!("{kind}{id}"), &format!("{prefix}{id}{more}"))
    };
    match path.strip_prefix("/api/v1").and_then(|it| it.split('/').nth(1)) {
        Some("tasks") => with("tk_", "-1-0"),
        Some("timers") => with("tm_", "-1-0"),
        Some("incidents") => with("ic_", ""),
        _ => path,
    }
}

async fn ask(router: &Router, method: &str, path: &str, body: &'static str) -> Response<Body> {
    let request = Request::builder().method(method).uri(path).header("host", "localhost");
    let request = request.header("content-type", "application/json");
    let request = request.body(Body::from(body)).expect("a request");
    router.clone().oneshot(request).await.expect("an answer")
}

async fn text(response: Response<Body>) -> String {
    let body = response.into_body().collect().await.expect("a body").to_bytes();
    String::from_utf8(body.to_vec()).expect("text")
}

#[tokio::test(flavor = "multi_thread")]
async fn while_the_database_is_away_everybody_is_told_to_come_again() {
    let mut cluster = Cluster::start(Durability::None).expect("PostgreSQL");
    let database = database_at(cluster.address()).expect("a database");
    let store = PostgresStore::open(database.options()).await.expect("the store opens");
    let engine = Engine::start_on(
        Arc::new(store),
        Settings::default(),
        notations(),
        SourceFormats::default(),
    );
    let engine = engine.await.expect("the engine starts");
    let router = App::new(&engine).router();
    let ready = ask(&router, "GET", "/readyz", "").await;
    assert_eq!(ready.status(), StatusCode::OK);

    cluster.pause().expect("it stands still");
    let ready = ask(&router, "GET", "/readyz", "").await;
    assert_eq!(ready.status(), StatusCode::SERVICE_UNAVAILABLE);
    for (operation, method, path) in operations() {
        // What is required of the query is checked first.
        let query = if operation == "getInstanceStats" { "?groupBy=status" } else { "" };
        let path = format!("{}{query}", unknown(&path));
        let answer = ask(&router, &method, &path, body(&operation)).await;
        let status = answer.status();
        if WITHOUT_DATABASE.split_whitespace().any(|it| it == operation) {
            assert!(!status.is_server_error(), "{operation}: {status}");
            continue;
        }
        let retry_after = answer.headers().contains_key("retry-after");
        let body = text(answer).await;
        assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE, "{operation}: {body}");
        if operation != "/readyz" {
            assert!(retry_after, "{operation}");
            assert!(body.contains("\"code\":\"store_unavailable\""), "{operation}: {body}");
        }
    }
    // The process itself is healthy.
    assert_eq!(ask(&router, "GET", "/healthz", "").await.status(), StatusCode::OK);
    let counted = text(ask(&router, "GET", "/metrics", "").await).await;
    assert!(counted.contains("\nmeantime_store_outages_total 1\n"), "{counted}");

    cluster.resume().expect("it goes on");
    let mut standing = engine.kernel().store_health();
    let is_sound = |it: &StoreHealth| *it == StoreHealth::Healthy;
    standing.wait_for(is_sound).await.expect("the engine runs");
    let ready = ask(&router, "GET", "/readyz", "").await;
    assert_eq!(ready.status(), StatusCode::OK);
    let list = ask(&router, "GET", "/api/v1/instances", "").await;
    assert_eq!(list.status(), StatusCode::OK);
    let counted = text(ask(&router, "GET", "/metrics", "").await).await;
    assert!(counted.contains("\nmeantime_store_recoveries_total 1\n"), "{counted}");
    engine.stop().await;
}
