//! The HTTP API of schedules and the forecast.

use std::fmt::Write as _;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use http_body_util::BodyExt as _;
use meantime_core::Timestamp;
use meantime_kernel::store::MemoryStore;
use meantime_server::{App, Engine, Settings, SourceFormats, notations};
use meantime_sim::probe::Probe;
use serde_json::{Value, json};
use tower::ServiceExt as _;

async fn stage() -> Router {
    let mut settings = Settings::default();
    settings.clock.is_virtual = true;
    settings.clock.start = Timestamp::parse("2026-01-01T00:00:00Z").ok();
    settings.clock.max_firings = 1_000;
    let notations = notations().with("probe", Arc::new(Probe));
    let formats = SourceFormats::default().with("probe", &["text/x-probe"]);
    let engine = Engine::start_on(Arc::new(MemoryStore::new()), settings, notations, formats).await;
    App::new(&engine.expect("the engine starts")).router()
}

async fn ask(router: &Router, method: &str, path: &str, kind: &str, body: String) -> (u16, Value) {
    let request = Request::builder().method(method).uri(format!("/api/v1{path}"));
    let request = request.header("host", "localhost").header("content-type", kind);
    let request = request.body(Body::from(body)).expect("a request");
    let response = router.clone().oneshot(request).await.expect("an answer");
    let status = response.status().as_u16();
    let bytes = response.into_body().collect().await.expect("a body").to_bytes();
    (status, serde_json::from_slice(&bytes).unwrap_or_default())
}

async fn post(router: &Router, path: &str, body: Value) -> Value {
    let (status, answer) = ask(router, "POST", path, "application/json", body.to_string()).await;
    assert!(status < 300, "{path}: {status} {answer}");
    answer
}

async fn get(router: &Router, path: &str) -> Value {
    let (status, answer) = ask(router, "GET", path, "application/json", String::new()).await;
    assert_eq!(status, 200, "{path}: {answer}");
    answer
}

async fn deploy(router: &Router, text: String) {
    let (status, answer) = ask(router, "POST", "/definitions", "text/x-probe", text).await;
    assert_eq!(status, 201, "{answer}");
}

fn sum(forecast: &Value) -> u64 {
    let buckets = forecast["buckets"].as_array().expect("buckets");
    buckets.iter().map(|it| it["count"].as_u64().expect("a count")).sum()
}

/// A forecast counts in the store and has no limit on the number of timers.
#[tokio::test]
async fn o3_buckets_count_more_than_ten_thousand_timers() {
    let router = stage().await;
    let mut text = "probe many\n".to_owned();
    for number in 0..500 {
        writeln!(text, "timer t{number} PT{}M", 1 + number % 600).expect("a text");
    }
    text.push_str("await t0\nend\n");
    deploy(&router, text).await;
    for _ in 0..21 {
        post(&router, "/instances", json!({ "definition": "many" })).await;
    }
    let forecast = get(&router, "/forecast?to=P1D&bucket=PT1H").await;
    assert_eq!(sum(&forecast), 21 * 500);
}

#[tokio::test]
async fn o3_buckets_count_more_than_ten_thousand_occurrences() {
    let router = stage().await;
    deploy(&router, "probe run\nend\n".to_owned()).await;
    for subject in 0..3 {
        let body =
            json!({ "definition": "run", "interval": "PT1M", "subject": subject.to_string() });
        post(&router, "/schedules", body).await;
    }
    let forecast = get(&router, "/forecast?to=P5D&bucket=P1D").await;
    let buckets = forecast["buckets"].as_array().expect("buckets");
    assert!(buckets.iter().all(|it| it["count"].as_u64() >= Some(3 * 1_439)), "{buckets:?}");
}

/// Patches a daily schedule that has run for two months.
async fn runs_after_a_patch(change: Value, policy: Value) -> (u64, u64) {
    let router = stage().await;
    deploy(&router, "probe run\nend\n".to_owned()).await;
    let mut body = json!({ "definition": "run", "cron": "0 9 * * *", "zone": "UTC",
        "startAt": "2026-01-01T00:00:00Z" });
    body.as_object_mut().expect("an object").extend(policy.as_object().expect("one").clone());
    let id = post(&router, "/schedules", body).await["id"].as_str().expect("an id").to_owned();
    post(&router, "/clock/advance", json!({ "to": "2026-03-01T13:00:00Z" })).await;
    let path = format!("/schedules/{id}");
    let before = get(&router, &path).await["runsExecuted"].as_u64().expect("a count");
    let (status, answer) =
        ask(&router, "PATCH", &path, "application/json", change.to_string()).await;
    assert_eq!(status, 200, "{answer}");
    post(&router, "/clock/advance", json!({ "by": "PT1S" })).await;
    (before, get(&router, &path).await["runsExecuted"].as_u64().expect("a count"))
}

/// A changed rule takes effect from now on: occurrences before the change are not made up for.
#[tokio::test]
async fn s15_another_cron_or_interval_runs_nothing_at_once() {
    for change in [json!({ "cron": "0 8 * * *" }), json!({ "interval": "PT6H" })] {
        let (before, after) = runs_after_a_patch(change.clone(), json!({})).await;
        assert_eq!((before, after), (60, 60), "{change}");
    }
}

#[tokio::test]
async fn s15_another_zone_runs_nothing_again() {
    let policy = json!({ "catchUp": "all", "overlap": "allow" });
    let (before, after) = runs_after_a_patch(json!({ "zone": "Asia/Tokyo" }), policy).await;
    assert_eq!((before, after), (60, 60));
}
