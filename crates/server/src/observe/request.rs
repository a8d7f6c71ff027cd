//! Metrics of the server, and the middleware that counts and logs requests.

use std::any::Any;
use std::cell::RefCell;
use std::fmt::Write as _;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64};

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use futures_util::FutureExt as _;
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
use super::trace::{record_status, request_span};
use crate::app::App;
use crate::problem::{Problem, ProblemCode};
use crate::tls::ClientCertificate;

/// Histogram buckets in seconds, from a fast response to a long poll.
const LATENCY_BUCKETS: [f64; 12] =
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 25.0, 60.0];

/// Labels of answered requests.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    method: &'static str,
    route: String,
    status: u16,
}

/// Labels of request durations.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RouteLabels {
    route: String,
}

/// Labels of reached deadlines.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CodeLabels {
    code: String,
}

/// The metrics of the server. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Metrics {
    registry: Arc<Registry>,
    deadlines: Family<CodeLabels, Counter>,
    requests: Family<RequestLabels, Counter>,
    latency: Family<RouteLabels, Histogram>,
    in_flight: InFlight,
}

type InFlight = Gauge<i64, AtomicI64>;

impl Metrics {
    pub(crate) fn new() -> Self {
        let mut registry = Registry::default();
        let requests = Family::<RequestLabels, Counter<u64, AtomicU64>>::default();
        let latency = Family::<RouteLabels, Histogram>::new_with_constructor(|| {
            Histogram::new(LATENCY_BUCKETS)
        });
        let in_flight = Gauge::default();
        let counted = requests.clone();
        registry.register("meantime_http_requests", "Requests answered", counted);
        let measured = latency.clone();
        registry.register(
            "meantime_http_request_duration_seconds",
            "Time from request head to response head",
            measured,
        );
        let held = in_flight.clone();
        registry.register("meantime_http_requests_in_flight", "Requests in flight", held);
        let deadlines = Family::<CodeLabels, Counter<u64, AtomicU64>>::default();
        // The default codes exist from the start, so that rates can be computed.
        for code in ["DEADLINE_EXCEEDED", "JOURNEY_TIMEOUT"] {
            drop(deadlines.get_or_create(&CodeLabels { code: code.to_owned() }));
        }
        let reached = deadlines.clone();
        registry.register(
            "meantime_deadlines_reached",
            "Instances ended by their deadline",
            reached,
        );
        let registry = Arc::new(registry);
        Self { registry, deadlines, requests, latency, in_flight }
    }

    /// Counts an instance that ended because its deadline passed.
    pub(crate) fn count_deadline(&self, code: &str) {
        self.deadlines.get_or_create(&CodeLabels { code: code.to_owned() }).inc();
    }

    /// Counts a request that was rejected before routing.
    pub(crate) fn count_early_rejection(&self, route: &str, status: StatusCode) {
        let (route, status) = (route.to_owned(), status.as_u16());
        self.requests.get_or_create(&RequestLabels { method: "POST", route, status }).inc();
    }

    /// All metrics as text, including those of the engine.
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

/// Counts a request while it lives. The future of a request is dropped when its client disconnects,
/// so nothing after its last `await` is certain to run.
struct Counted(InFlight);

impl Counted {
    fn one_more(in_flight: &InFlight) -> Self {
        in_flight.inc();
        Self(in_flight.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.dec();
    }
}

/// Middleware: assigns a request id, enforces the limit of requests in flight, counts and logs. A
/// panic while a request is answered is answered, too.
pub(crate) async fn observe_request(
    State(app): State<App>,
    mut request: Request,
    next: Next,
) -> Response {
    let watch = Stopwatch::start();
    let method = method_name(request.method());
    let route = request.extensions().get::<MatchedPath>().map(|path| path.as_str().to_owned());
    let route = route.unwrap_or_else(|| "none".to_owned());
    let request_id = new_request_id();
    let span = request_span(method, &route, &request_id, request.headers());
    if let Some(certificate) = request.extensions().get::<ClientCertificate>() {
        let client = certificate.fingerprint();
        tracing::debug!(request = %request_id, client, "client certificate presented");
    }
    let counted = Counted::one_more(&app.metrics().in_flight);
    let mut response = match app.concurrency().acquire(&route) {
        Ok(permit) => {
            request.extensions_mut().insert(permit);
            let answering = next.run(request).instrument(span.clone());
            // Whatever the request held is released while the panic unwinds. What it shared with
            // others is behind locks that outlive a panic.
            let answered = AssertUnwindSafe(answering).catch_unwind().await;
            answered.unwrap_or_else(|panic| {
                let panic = panic_message(panic.as_ref());
                tracing::error!(request = %request_id, method, %route, panic, "a request panicked");
                let text = "the request could not be answered";
                Problem::new(ProblemCode::Internal, text).into_response()
            })
        }
        Err(problem) => problem.into_response(),
    };
    drop(counted);
    let (status, took) = (response.status().as_u16(), watch.elapsed());
    record_status(&span, status);
    if let Ok(value) = HeaderValue::from_str(&request_id) {
        response.headers_mut().insert("x-request-id", value);
    }
    tracing::debug!(request = %request_id, method, %route, status, ms = took.as_millis(), "answered");
    if status >= 500 {
        tracing::warn!(request = %request_id, method, %route, status, "failed");
    }
    app.metrics()
        .latency
        .get_or_create(&RouteLabels { route: route.clone() })
        .observe(took.as_secs_f64());
    app.metrics().requests.get_or_create(&RequestLabels { method, route, status }).inc();
    response
}

/// What a panic says.
fn panic_message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("unknown panic")
}

thread_local! {
    /// Buffered: a system call for each request would cost a twentieth of a start.
    static REQUEST_ID_ENTROPY: RefCell<SystemEntropy> = RefCell::default();
}

fn new_request_id() -> String {
    let mut request_id = String::from("rq_");
    let random = REQUEST_ID_ENTROPY.with_borrow_mut(SystemEntropy::next);
    // Writing to a String cannot fail.
    let _ = write!(request_id, "{random:016x}");
    request_id
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
