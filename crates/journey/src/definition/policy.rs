//! Policies that tasks refer to.

use meantime_core::RetryPolicy;

/// When and how an HTTP call is retried.
#[derive(Debug, Clone)]
pub(crate) struct ResiliencePolicy {
    pub(crate) retry: RetryPolicy,
    pub(crate) retry_on: Vec<RetryOn>,
}

/// Which results are retried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RetryOn {
    NetworkError,
    ServerError,
    TooManyRequests,
}

impl RetryOn {
    /// The name in the source.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::NetworkError => "NETWORK_ERROR",
            Self::ServerError => "HTTP_5XX",
            Self::TooManyRequests => "HTTP_429",
        }
    }
}

/// The authentication of a call. Secrets are references, never values.
#[derive(Debug, Clone)]
pub(crate) struct ClientAuth {
    /// The policy as written, for the connector that makes the call.
    pub(crate) document: serde_json::Value,
}
