//! The metrics are exactly those of the reference.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::body::Body;
use axum::http::Request;
use http_body_util::BodyExt as _;
use meantime_kernel::store::MemoryStore;
use meantime_server::{App, Engine, Settings, SourceFormats, notations};
use tower::ServiceExt as _;

const PAGE: &str = include_str!("../../../docs/operate/metrics.md");

async fn get(app: &App, path: &str) -> String {
    let request = Request::get(path).body(Body::empty()).expect("a request");
    let response = app.router().oneshot(request).await.expect("never fails");
    assert!(response.status().is_success(), "{path}: {}", response.status());
    let body = response.into_body().collect().await.expect("a body").to_bytes();
    String::from_utf8(body.to_vec()).expect("text")
}

#[tokio::test]
async fn what_is_counted_is_what_is_documented() {
    let store = Arc::new(MemoryStore::new());
    let engine =
        Engine::start_on(store, Settings::default(), notations(), SourceFormats::default()).await;
    let app = App::new(&engine.expect("the engine starts"));
    get(&app, "/api/v1/instances").await;
    let text = get(&app, "/metrics").await;
    assert!(text.ends_with("# EOF\n"), "{text}");
    assert!(text.contains("meantime_http_requests_total{method=\"GET\""), "{text}");
    let exported: BTreeSet<String> = text
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE "))
        .filter_map(|line| line.split_once(' '))
        .map(|(name, kind)| match kind {
            "counter" => format!("{name}_total"),
            _ => name.to_owned(),
        })
        .collect();
    let documented: BTreeSet<String> = PAGE
        .lines()
        .filter(|line| line.starts_with("| `meantime_"))
        .flat_map(|line| line.split('`').skip(1).step_by(2).take(2))
        .filter(|name| name.starts_with("meantime_"))
        .map(|name| name.split('{').next().unwrap_or_default().to_owned())
        .collect();
    assert_eq!(exported, documented);
}
