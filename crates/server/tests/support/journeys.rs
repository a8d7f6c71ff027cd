//! A server with journeys, and a service that they call.

use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Body;
use axum::http::{Request, Response};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use meantime_core::Source;
use meantime_kernel::store::MemoryStore;
use meantime_server::{App, Engine, JourneySettings, Settings, SourceFormats, notations};
use serde_json::Value;
use tokio::net::TcpListener;
use tower::ServiceExt as _;

/// A service that answers by the number of the request and records what it was sent.
pub(crate) struct Service {
    pub(crate) base: String,
    heard: Arc<Mutex<Vec<String>>>,
}

pub(crate) async fn service(answer: fn(usize, &str) -> (u16, Value)) -> Service {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let base = format!("http://{}", listener.local_addr().expect("an address"));
    let heard = Arc::new(Mutex::new(Vec::new()));
    let (known, count) = (heard.clone(), Arc::new(AtomicUsize::new(0)));
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (known, count) = (known.clone(), count.clone());
            let service = service_fn(move |request: Request<Incoming>| {
                let (known, count) = (known.clone(), count.clone());
                async move {
                    let path = request.uri().path().to_owned();
                    let header = |name: &str| {
                        let value = request.headers().get(name);
                        value.and_then(|it| it.to_str().ok()).unwrap_or("-").to_owned()
                    };
                    let (token, tenant) = (header("authorization"), header("x-tenant"));
                    known.lock().expect("whole").push(format!("{path} {token} {tenant}"));
                    let number = count.fetch_add(1, Ordering::SeqCst);
                    let (status, body) = answer(number, &path);
                    let mut response = Response::new(Body::from(body.to_string()));
                    *response.status_mut() = status.try_into().expect("a status");
                    let kind = "application/json".try_into().expect("a value");
                    response.headers_mut().insert("content-type", kind);
                    Ok::<_, Infallible>(response)
                }
            });
            tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
        }
    });
    Service { base, heard }
}

impl Service {
    pub(crate) fn heard(&self) -> Vec<String> {
        self.heard.lock().expect("whole").clone()
    }
}

/// A server with one definition.
pub(crate) async fn serve(journeys: JourneySettings, text: &str) -> Router {
    let mut settings = Settings { journeys, ..Settings::default() };
    settings.egress.allow = vec!["127.0.0.0/8".to_owned()];
    settings.egress.ports = Vec::new();
    let store = Arc::new(MemoryStore::new());
    let engine = Engine::start_on(store, settings, notations(), SourceFormats::default()).await;
    let engine = engine.expect("the engine starts");
    let source = Source { name: "x.journey.yaml".to_owned(), text: text.into(), files: Vec::new() };
    engine.kernel().deploy("journey", source).await.expect("a good definition");
    App::new(&engine).router()
}

/// Sends a request, with a JSON body unless a header says otherwise; returns the status and the
/// answer.
pub(crate) async fn send(
    router: &Router,
    path: &str,
    headers: &[(&str, &str)],
    body: String,
) -> (u16, Value) {
    let method = if body.is_empty() { "GET" } else { "POST" };
    let mut request = Request::builder().method(method).uri(format!("/api/v1{path}"));
    request = request.header("host", "localhost");
    if !headers.iter().any(|(name, _)| *name == "content-type") {
        request = request.header("content-type", "application/json");
    }
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(Body::from(body)).expect("a request");
    let response = router.clone().oneshot(request).await.expect("an answer");
    let status = response.status().as_u16();
    let body = response.into_body().collect().await.expect("a body").to_bytes();
    (status, serde_json::from_slice(&body).expect("JSON"))
}
