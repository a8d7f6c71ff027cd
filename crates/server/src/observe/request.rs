//! What the server counts, and the layer that counts requests and writes the access log.

use std::cell::RefCell;
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use meantime_kernel::clock::Stopwatch;
use meantime_kernel::machine::{Counters, Levels};
use meantime_kernel::random::{Entropy as _, SystemEntropy};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use tracing::Instrument as _;

use super::engine;
use super::trace::{answered, request_span};
use crate::app::App;
use crate::tls::ClientCertificate;

/// Seconds; from a fast answer to a long poll.
const LATENCIES: [f64; 12] =
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 25.0, 60.0];

/// Requests by what they were and how they ended.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    method: &'static str,
    route: String,
    status: u16,
}

/// Requests by what they were.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RouteLabels {
    route: String,
}

/// Instances by the code they ended with.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CodeLabels {
    code: String,
}

/// What the server counts. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Metrics {
    registry: Arc<Registry>,
    deadlines: Family<CodeLabels, Counter>,
    requests: Family<RequestLabels, Counter>,
    latency: Family<RouteLabels, Histogram>,
    under_way: Gauge<i64, std::sync::atomic::AtomicI64>,
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let mut registry = Registry::default();
        let requests = Family::<RequestLabels, Counter<u64, AtomicU64>>::default();
        let latency =
            Family::<RouteLabels, Histogram>::new_with_constructor(|| Histogram::new(LATENCIES));
        let under_way = Gauge::default();
        let counted = requests.clone();
        registry.register("meantime_http_requests", "Requests that were answered", counted);
        let measured = latency.clone();
        registry.register(
            "meantime_http_request_duration_seconds",
            "From the head of a request to the head of its answer",
            measured,
        );
        let held = under_way.clone();
        registry.register("meantime_http_requests_in_flight", "Requests without answer", held);
        let deadlines = Family::<CodeLabels, Counter<u64, AtomicU64>>::default();
        // Those that no definition declares are there from the beginning.
        for code in ["DEADLINE_EXCEEDED", "JOURNEY_TIMEOUT"] {
            drop(deadlines.get_or_create(&CodeLabels { code: code.to_owned() }));
        }
        let reached = deadlines.clone();
        registry.register("meantime_deadlines_reached", "Instances that ended so", reached);
        let registry = Arc::new(registry);
        Self { registry, deadlines, requests, latency, under_way }
    }

    /// An instance has ended with its deadline.
    pub(crate) fn timed_out(&self, code: &str) {
        self.deadlines.get_or_create(&CodeLabels { code: code.to_owned() }).inc();
    }

    /// A request was refused before its route was looked up.
    pub(crate) fn refused(&self, route: &str, status: StatusCode) {
        let (route, status) = (route.to_owned(), status.as_u16());
        self.requests.get_or_create(&RequestLabels { method: "POST", route, status }).inc();
    }

    /// Everything as text, with what the engine counts.
    pub(crate) fn text(&self, counters: &Counters, levels: &Levels) -> String {
        let engine = engine::registry(counters, levels);
        let mut text = String::new();
        // Writing to a String cannot fail.
        let _ = encode_registry(&mut text, &self.registry);
        let _ = encode_registry(&mut text, &engine);
        let _ = encode_eof(&mut text);
        text
    }
}

/// Counts a request, gives it a number, holds it to the limit of requests under way, and writes a
/// line about it.
pub(crate) async fn observe(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let watch = Stopwatch::start();
    let method = method_name(request.method());
    let route = request.extensions().get::<MatchedPath>().map(|path| path.as_str().to_owned());
    let route = route.unwrap_or_else(|| "none".to_owned());
    let number = request_number();
    let span = request_span(method, &route, &number, request.headers());
    if let Some(certificate) = request.extensions().get::<ClientCertificate>() {
        let client = certificate.fingerprint();
        tracing::debug!(request = %number, client, "with the certificate of a client");
    }
    app.metrics().under_way.inc();
    let mut response = match app.places().enter(&route) {
        Ok(place) => {
            request.extensions_mut().insert(place);
            next.run(request).instrument(span.clone()).await
        }
        Err(problem) => problem.into_response(),
    };
    app.metrics().under_way.dec();
    let (status, took) = (response.status().as_u16(), watch.elapsed());
    answered(&span, status);
    if let Ok(value) = HeaderValue::from_str(&number) {
        response.headers_mut().insert("x-request-id", value);
    }
    tracing::debug!(request = %number, method, %route, status, ms = took.as_millis(), "answered");
    if status >= 500 {
        tracing::warn!(request = %number, method, %route, status, "failed");
    }
    app.metrics()
        .latency
        .get_or_create(&RouteLabels { route: route.clone() })
        .observe(took.as_secs_f64());
    app.metrics().requests.get_or_create(&RequestLabels { method, route, status }).inc();
    response
}

thread_local! {
    /// Read in blocks: asking the system for each request is a twentieth of what a start costs.
    static RANDOM: RefCell<SystemEntropy> = RefCell::default();
}

fn request_number() -> String {
    let mut number = String::from("rq_");
    let random = RANDOM.with_borrow_mut(SystemEntropy::next);
    // Writing to a String cannot fail.
    let _ = write!(number, "{random:016x}");
    number
}

fn method_name(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::POST => "POST",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::PUT => "PUT",
        Method::HEAD => "HEAD",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}
