//! An outage of the database as clients of the API see it: 503 with `Retry-After`, not ready, and
//! counted.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, Response, StatusCode};
use http_body_util::BodyExt as _;
use meantime_kernel::driver::StoreHealth;
use meantime_server::{App, Engine, Settings, SourceFormats, notations};
use meantime_store::postgres::PostgresStore;
use meantime_store::postgres::cluster::{Cluster, Durability, database_at};
use tower::ServiceExt as _;

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
    let start = r#"{"definition":"none"}"#;
    for (method, path, body) in [
        ("POST", "/api/v1/instances", start),
        ("GET", "/api/v1/instances", ""),
        ("GET", "/api/v1/timers", ""),
        ("POST", "/api/v1/tasks/claim", r#"{"worker":"w","waitMs":20000}"#),
    ] {
        let answer = ask(&router, method, path, body).await;
        assert_eq!(answer.status(), StatusCode::SERVICE_UNAVAILABLE, "{method} {path}");
        assert!(answer.headers().contains_key("retry-after"), "{method} {path}");
        let body = text(answer).await;
        assert!(body.contains("\"code\":\"store_unavailable\""), "{method} {path}: {body}");
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
