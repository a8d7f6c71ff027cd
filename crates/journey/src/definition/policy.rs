//! Policies that tasks refer to.

use meantime_core::RetryPolicy;

/// How an HTTP call is tried again.
#[derive(Debug, Clone)]
pub(crate) struct ResiliencePolicy {
    pub(crate) retry: RetryPolicy,
    pub(crate) retry_on: Vec<RetryOn>,
}

/// What makes another attempt worth while.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RetryOn {
    NetworkError,
    ServerError,
    TooManyRequests,
}

impl RetryOn {
    /// As it is written.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::NetworkError => "NETWORK_ERROR",
            Self::ServerError => "HTTP_5XX",
            Self::TooManyRequests => "HTTP_429",
        }
    }
}

/// How a call proves who it is. Secrets are references, never values.
#[derive(Debug, Clone)]
pub(crate) struct ClientAuth {
    /// The policy as it is written, for the connector that performs the call.
    pub(crate) document: serde_json::Value,
}
