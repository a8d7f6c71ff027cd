//! Export of traces to an OpenTelemetry collector, OTLP over HTTP.

use thiserror::Error;

#[cfg(not(feature = "otel"))]
pub use without::{TraceExporter, connect_traces};

#[cfg(feature = "otel")]
pub use with::{TraceExporter, connect_traces};

/// Traces cannot be exported.
#[derive(Debug, Error)]
#[error("trace.endpoint: {0}")]
pub struct TraceExportError(String);

#[cfg(feature = "otel")]
mod with {
    use opentelemetry::trace::TracerProvider as _;
    use opentelemetry_otlp::{SpanExporter, WithExportConfig as _};
    use opentelemetry_sdk::Resource;
    use opentelemetry_sdk::trace::SdkTracerProvider;
    use tracing::Subscriber;
    use tracing_subscriber::filter::{LevelFilter, Targets};
    use tracing_subscriber::layer::Layer;
    use tracing_subscriber::registry::LookupSpan;

    use super::super::trace::TRACE_TARGET;
    use super::TraceExportError;
    use crate::settings::TraceSettings;

    /// Exports traces. Dropping it flushes the rest.
    pub struct TraceExporter(SdkTracerProvider);

    impl Drop for TraceExporter {
        fn drop(&mut self) {
            if let Err(error) = self.0.shutdown() {
                tracing::warn!(%error, "the last traces could not be exported");
            }
        }
    }

    /// The tracing layer that exports spans, if an endpoint is configured.
    ///
    /// Call it outside of a runtime: the exporter starts its own thread.
    pub fn connect_traces<S>(
        settings: &TraceSettings,
    ) -> Result<Option<(impl Layer<S> + use<S>, TraceExporter)>, TraceExportError>
    where
        S: Subscriber + for<'span> LookupSpan<'span>,
    {
        let Some(endpoint) = &settings.endpoint else { return Ok(None) };
        let address = format!("{}/v1/traces", endpoint.trim_end_matches('/'));
        let exporter = SpanExporter::builder().with_http().with_endpoint(address).build();
        let exporter = exporter.map_err(|error| TraceExportError(error.to_string()))?;
        let resource = Resource::builder().with_service_name(settings.service.clone()).build();
        let provider = SdkTracerProvider::builder()
            .with_batch_exporter(exporter)
            .with_resource(resource)
            .build();
        let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("meantime"));
        let only_spans = Targets::new().with_target(TRACE_TARGET, LevelFilter::INFO);
        Ok(Some((layer.with_filter(only_spans), TraceExporter(provider))))
    }
}

#[cfg(not(feature = "otel"))]
mod without {
    use tracing_subscriber::layer::Identity;

    use super::TraceExportError;
    use crate::settings::TraceSettings;

    /// This build cannot export traces.
    pub type TraceExporter = std::convert::Infallible;

    /// Fails if an endpoint is configured.
    pub fn connect_traces(
        settings: &TraceSettings,
    ) -> Result<Option<(Identity, TraceExporter)>, TraceExportError> {
        if settings.endpoint.is_some() {
            let text =
                "this binary was built without OpenTelemetry; build it with `--features otel`";
            return Err(TraceExportError(text.to_owned()));
        }
        Ok(None)
    }
}
