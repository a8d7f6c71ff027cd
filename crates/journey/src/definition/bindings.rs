//! Bindings of requests besides their body, and the statuses of answers.

use std::collections::BTreeMap;

use super::{Expression, Phase};
use crate::yaml::Span;

/// `spec.metadata.bindings`: evaluated once, when the run starts.
#[derive(Debug, Default)]
pub(crate) struct MetadataBindings {
    pub(crate) tags: ValueSources<Vec<String>>,
    pub(crate) attributes: ValueSources<BTreeMap<String, String>>,
}

/// Values by their source.
#[derive(Debug, Default)]
pub(crate) struct ValueSources<T> {
    pub(crate) payload: T,
    pub(crate) headers: T,
    pub(crate) baggage: T,
}

/// `spec.bindings.http`.
#[derive(Debug, Default)]
pub(crate) struct HttpBindings {
    pub(crate) route: Option<Route>,
    pub(crate) start: RequestBindings,
    /// By step, with the position of its name.
    pub(crate) steps: BTreeMap<String, (RequestBindings, Span)>,
    pub(crate) responses: ApiResponses,
}

/// The route of an API.
#[derive(Debug, Clone)]
pub(crate) struct Route {
    pub(crate) path: String,
    /// Its position in the source.
    pub(crate) span: Span,
}

/// Which parts of a request are copied to the context.
#[derive(Debug, Default)]
pub(crate) struct RequestBindings {
    /// Header name to field of the context.
    pub(crate) headers_to_context: BTreeMap<String, String>,
    /// Query parameter to field of the context.
    pub(crate) query_to_context: BTreeMap<String, String>,
    pub(crate) passthrough: Vec<Passthrough>,
}

/// A header that is passed to outbound calls during the request, and never stored.
#[derive(Debug)]
pub(crate) struct Passthrough {
    pub(crate) from: String,
    pub(crate) to: String,
}

/// The statuses of an API's answers.
#[derive(Debug, Default)]
pub(crate) struct ApiResponses {
    pub(crate) rules: Vec<ApiResponse>,
    /// The status of a success that no rule matches; 200 if none.
    pub(crate) succeeded: Option<u16>,
    /// The status of a failure that no rule matches; that of the problem if none.
    pub(crate) failed: Option<u16>,
}

/// A rule for the status of an API's answer.
#[derive(Debug)]
pub(crate) struct ApiResponse {
    pub(crate) phase: Phase,
    pub(crate) error_type: Option<String>,
    pub(crate) predicate: Option<Expression>,
    pub(crate) status: Status,
}

/// A status, literal or computed.
#[derive(Debug)]
pub(crate) enum Status {
    Fixed(u16),
    Computed(Expression),
}
