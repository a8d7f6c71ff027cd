//! The console as the server hands it out: the page with its policy and tag, its files for ever,
//! and nothing of it to clients that are no browsers.

use std::sync::Arc;

use axum::body::Body;
use axum::http::{Request, StatusCode};
use http_body_util::BodyExt as _;
use meantime_kernel::store::MemoryStore;
use meantime_server::{App, Console, ConsoleBundle, Engine, Settings, SourceFormats, notations};
use tower::ServiceExt as _;

const BUNDLE: ConsoleBundle = ConsoleBundle {
    page: "<!doctype html><title>page</title>",
    page_hash: "h1",
    file: |path| (path == "assets/app-1.js").then_some(b"compressed".as_slice()),
};

/// An answer: the status, the headers with their values, and the body.
struct Answer {
    status: StatusCode,
    headers: String,
    body: String,
}

async fn ask(console: Console, method: &str, path: &str, headers: &[(&str, &str)]) -> Answer {
    let store = Arc::new(MemoryStore::new());
    let (settings, formats) = (Settings::default(), SourceFormats::default());
    let engine = Engine::start_on(store, settings, notations(), formats).await;
    let app = App::with_console(&engine.expect("the engine starts"), console);
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(Body::empty()).expect("a request");
    let response = app.router().oneshot(request).await.expect("never fails");
    let (status, headers) = (response.status(), format!("{:?}", response.headers()));
    let body = response.into_body().collect().await.expect("a body").to_bytes();
    Answer { status, headers, body: String::from_utf8_lossy(&body).into_owned() }
}

async fn get(path: &str, headers: &[(&str, &str)]) -> Answer {
    ask(Console::Embedded(BUNDLE), "GET", path, headers).await
}

const BROWSER: (&str, &str) = ("accept", "text/html,application/xhtml+xml");

#[tokio::test]
async fn the_page_has_a_strict_policy_and_a_tag() {
    let answer = get("/", &[]).await;
    assert_eq!((answer.status, answer.body.as_str()), (StatusCode::OK, BUNDLE.page));
    for part in ["default-src 'none'", "script-src 'self';", "style-src 'self';", "no-cache", "h1"]
    {
        assert!(answer.headers.contains(part), "{part} in {}", answer.headers);
    }
    assert!(!answer.headers.contains("unsafe"), "{}", answer.headers);
    for tag in ["\"h1\"", "W/\"h1\"", "\"h0\", \"h1\""] {
        let answer = get("/", &[("if-none-match", tag)]).await;
        assert_eq!((answer.status, answer.body.as_str()), (StatusCode::NOT_MODIFIED, ""), "{tag}");
    }
    assert_eq!(get("/", &[("if-none-match", "\"h0\"")]).await.status, StatusCode::OK);
}

#[tokio::test]
async fn files_are_compressed_and_kept_for_ever() {
    let answer = get("/assets/app-1.js", &[]).await;
    assert_eq!((answer.status, answer.body.as_str()), (StatusCode::OK, "compressed"));
    for part in ["gzip", "immutable", "text/javascript", "nosniff"] {
        assert!(answer.headers.contains(part), "{part} in {}", answer.headers);
    }
    let missing = get("/assets/app-2.js", &[BROWSER]).await;
    assert_eq!(missing.status, StatusCode::NOT_FOUND);
    assert!(missing.body.contains("\"not_found\""), "{}", missing.body);
}

#[tokio::test]
async fn other_paths_are_the_page_for_browsers_only() {
    assert_eq!(get("/instances/in_1", &[BROWSER]).await.body, BUNDLE.page);
    for (path, headers) in
        [("/instances", &[][..]), ("/instances", &[("accept", "application/json")])]
    {
        let answer = get(path, headers).await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND, "{path}");
        assert!(answer.body.contains("\"not_found\""), "{}", answer.body);
    }
    for path in ["/api/none", "/api/v1/none", "/api/v1/instances/none"] {
        assert_ne!(get(path, &[BROWSER]).await.body, BUNDLE.page, "{path}");
    }
    let console = Console::Embedded(BUNDLE);
    assert_eq!(ask(console, "POST", "/none", &[BROWSER]).await.status, StatusCode::NOT_FOUND);
    assert_eq!(ask(console, "HEAD", "/none", &[BROWSER]).await.status, StatusCode::OK);
}

#[tokio::test]
async fn without_a_console_the_page_says_why() {
    let console = Console::Missing("npm was not found");
    let answer = ask(console, "GET", "/", &[BROWSER]).await;
    assert_eq!(answer.status, StatusCode::OK);
    let line = "The console is missing: npm was not found. The API is described at /docs.\n";
    assert_eq!(answer.body, line);
    let answer = ask(console, "GET", "/instances", &[BROWSER]).await;
    assert_eq!(answer.status, StatusCode::NOT_FOUND);
}
