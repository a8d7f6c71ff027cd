//! The tasks of `task` states.

use meantime_core::time;
use meantime_core::{OnExisting, Timestamp};

use super::{Destination, Expression, ResiliencePolicy, StateRef, Template, TimeSource};

/// A task by its kind.
#[derive(Debug)]
pub(crate) enum Task {
    Http(HttpCall),
    Schedule(Schedule),
    Cache(Cache),
    Auth(AuthCheck),
    Worker(WorkerTask),
}

/// `httpCall:v1`.
#[derive(Debug)]
pub(crate) struct HttpCall {
    pub(crate) method: String,
    pub(crate) url: Template,
    /// Values for `{name}` in the path, percent-encoded when they are inserted.
    pub(crate) path_params: Vec<(String, Template)>,
    pub(crate) query: Vec<(String, Template)>,
    pub(crate) headers: Vec<(String, Template)>,
    pub(crate) body: Option<HttpBody>,
    pub(crate) timeout_ms: u64,
    /// The field of the context that gets the result; none for a notification.
    pub(crate) result_var: Option<String>,
    pub(crate) resilience: Option<ResiliencePolicy>,
    /// The id of a policy.
    pub(crate) auth: Option<String>,
    pub(crate) error_mapping: Option<(Expression, Destination)>,
}

/// The body of a request.
#[derive(Debug)]
pub(crate) enum HttpBody {
    Text(Template),
    /// A document whose texts may contain placeholders.
    Document(BodyPart),
    Mapper(Expression),
}

/// A part of a literal body.
#[derive(Debug)]
pub(crate) enum BodyPart {
    Fixed(serde_json::Value),
    Text(Template),
    List(Vec<BodyPart>),
    Map(Vec<(String, BodyPart)>),
}

/// `schedule:v1`.
#[derive(Debug)]
pub(crate) struct Schedule {
    pub(crate) start: StateRef,
    pub(crate) start_at: Option<TimeSource<Timestamp>>,
    pub(crate) interval: TimeSource<time::Span>,
    pub(crate) max_runs: MaxRuns,
    pub(crate) subject: Option<Expression>,
    pub(crate) context: Option<Expression>,
    pub(crate) on_existing: OnExisting,
}

/// The number of runs.
#[derive(Debug)]
pub(crate) enum MaxRuns {
    Literal(u64),
    Mapper(Expression),
}

/// `cache:v1`.
#[derive(Debug)]
pub(crate) enum Cache {
    Get { key: Expression, result_var: String },
    Put { key: Expression, value: Expression, ttl_seconds: Option<u64> },
}

/// `apiKeyValidate:v1` and `jwtValidate:v1`.
#[derive(Debug)]
pub(crate) struct AuthCheck {
    pub(crate) kind: AuthKind,
    pub(crate) profile: String,
    /// The location, name and scheme of the credential.
    pub(crate) source: Option<AuthSource>,
    pub(crate) auth_var: String,
}

/// The kinds of credentials.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AuthKind {
    ApiKey,
    Jwt,
}

impl AuthKind {
    /// The name of the kind in the source.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::ApiKey => "apiKeyValidate:v1",
            Self::Jwt => "jwtValidate:v1",
        }
    }

    /// The field of the auth variable that a success writes.
    pub(crate) const fn field(self) -> &'static str {
        match self {
            Self::ApiKey => "apiKey",
            Self::Jwt => "jwt",
        }
    }
}

/// The location of a credential.
#[derive(Debug)]
pub(crate) struct AuthSource {
    pub(crate) location: String,
    pub(crate) name: String,
    pub(crate) scheme: Option<String>,
}

/// A kind that workers implement (JR8).
#[derive(Debug)]
pub(crate) struct WorkerTask {
    pub(crate) kind: String,
    pub(crate) input: Option<Expression>,
    pub(crate) result_var: Option<String>,
    pub(crate) timeout_ms: Option<u64>,
}
