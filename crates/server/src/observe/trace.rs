//! Spans for collectors of OpenTelemetry: one for each request that comes in, one for each call
//! that goes out.
//!
//! They have a target of their own, which the log does not show: where nobody collects them they
//! are never made. With the feature `otel` they continue the trace that the `traceparent` header
//! names, and pass it on.

use axum::http::HeaderMap;
use tracing::Span;
use tracing::field::Empty;

/// The target of all spans.
pub const TRACE_TARGET: &str = "trace";

/// The span of a request that came in.
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

/// The span of a call that goes out; its headers carry the trace on.
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

/// Notes how it ended.
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

    /// The span becomes a part of the trace that the headers name.
    pub(super) fn set_parent_from(span: &Span, headers: &HeaderMap) {
        let parent = TraceContextPropagator::new().extract(&HeaderExtractor(headers));
        // Fails only for spans that no collector sees.
        let _ = span.set_parent(parent);
    }

    /// The headers name the span.
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
