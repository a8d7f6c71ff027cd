//! OpenTelemetry spans: one for each inbound request and one for each outbound call.
//!
//! Their target is excluded from the log, so without an exporter they are disabled and cost
//! nothing. With the feature `otel` they continue the trace of the `traceparent` header and
//! propagate it.

use axum::http::HeaderMap;
use tracing::Span;
use tracing::field::Empty;

/// The target of all spans.
pub(super) const TRACE_TARGET: &str = "trace";

/// The span of an inbound request.
pub(super) fn request_span(
    method: &'static str,
    route: &str,
    request_id: &str,
    headers: &HeaderMap,
) -> Span {
    let span = tracing::info_span!(
        target: TRACE_TARGET,
        "request",
        otel.name = %format_args!("{method} {route}"),
        otel.kind = "server",
        otel.status_code = Empty,
        http.request.method = method,
        http.route = route,
        http.response.status_code = Empty,
        request = request_id,
    );
    if !span.is_disabled() {
        context::set_parent_from(&span, headers);
    }
    span
}

/// The span of an outbound call; adds `traceparent` to its headers.
pub(crate) fn call_span(method: &str, host: &str, headers: &mut HeaderMap) -> Span {
    let span = tracing::info_span!(
        target: TRACE_TARGET,
        "call",
        otel.name = %format_args!("{method} {host}"),
        otel.kind = "client",
        otel.status_code = Empty,
        http.request.method = method,
        server.address = host,
        http.response.status_code = Empty,
    );
    if !span.is_disabled() {
        context::set_parent_from(&span, headers);
        context::inject_into(&span, headers);
    }
    span
}

/// Records the HTTP status in a span.
pub(crate) fn record_status(span: &Span, status: u16) {
    span.record("http.response.status_code", i64::from(status));
    if status >= 500 {
        span.record("otel.status_code", "ERROR");
    }
}

#[cfg(feature = "otel")]
mod context {
    use axum::http::{HeaderMap, HeaderName, HeaderValue};
    use opentelemetry::propagation::{Extractor, Injector, TextMapPropagator as _};
    use opentelemetry_sdk::propagation::TraceContextPropagator;
    use tracing::Span;
    use tracing_opentelemetry::OpenTelemetrySpanExt as _;

    struct HeaderExtractor<'a>(&'a HeaderMap);

    impl Extractor for HeaderExtractor<'_> {
        fn get(&self, key: &str) -> Option<&str> {
            self.0.get(key)?.to_str().ok()
        }

        fn keys(&self) -> Vec<&str> {
            self.0.keys().map(HeaderName::as_str).collect()
        }
    }

    struct HeaderInjector<'a>(&'a mut HeaderMap);

    impl Injector for HeaderInjector<'_> {
        fn set(&mut self, key: &str, value: String) {
            if let (Ok(name), Ok(value)) = (key.parse::<HeaderName>(), value.parse::<HeaderValue>())
            {
                self.0.insert(name, value);
            }
        }
    }

    /// Makes the span a child of the trace in the headers.
    pub(super) fn set_parent_from(span: &Span, headers: &HeaderMap) {
        let parent = TraceContextPropagator::new().extract(&HeaderExtractor(headers));
        // Fails only for spans that are not exported.
        let _ = span.set_parent(parent);
    }

    /// Writes the context of the span into the headers.
    pub(super) fn inject_into(span: &Span, headers: &mut HeaderMap) {
        TraceContextPropagator::new().inject_context(&span.context(), &mut HeaderInjector(headers));
    }
}

#[cfg(not(feature = "otel"))]
mod context {
    use axum::http::HeaderMap;
    use tracing::Span;

    pub(super) const fn set_parent_from(_: &Span, _: &HeaderMap) {}

    pub(super) const fn inject_into(_: &Span, _: &mut HeaderMap) {}
}
