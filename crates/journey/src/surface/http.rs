//! `httpCall:v1` on the wire: what the engine gets. It answers as for any other HTTP task of the
//! engine, `{status, headers, body}`; an answer of any status completes the task.
//!
//! With attempts left, an answer that `retry_on` names is reported as a failure that can be
//! retried, with the answer as its data, so that the last one still reaches the journey.

use std::collections::BTreeMap;

use meantime_core::Json;
use serde::{Deserialize, Serialize};

/// The name of the engine task.
pub const HTTP_TASK: &str = "httpCall:v1";

/// The field with which the engine says that the inbound request of a task is over; also the kind
/// of the record that history has about it.
pub const REQUEST_GONE: &str = "requestGone";

/// The code with which the engine reports an answer whose body cannot be kept unchanged; the data
/// is the answer without it.
pub const HTTP_BODY: &str = "HTTP_BODY";

/// The code with which the engine reports a call that took all the time that its run had left; the
/// data names the deadline.
pub const HTTP_DEADLINE: &str = "HTTP_DEADLINE";

/// The field of that data.
pub const DEADLINE_AT: &str = "deadlineAt";

/// Whether a task failed because the deployment lacks something: a secret, a profile. Nothing that
/// the other side did, and nothing that the journey can handle.
pub fn is_config_error(code: &str) -> bool {
    matches!(code, "HTTP_AUTH_CONFIG" | "APIKEY_CONFIG_MISSING" | "JWT_CONFIG_MISSING")
}

/// A call, as the engine gets it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HttpRequest {
    /// In upper case.
    pub method: String,
    /// The address, with path and query filled in.
    pub url: String,
    /// Headers by name.
    pub headers: BTreeMap<String, String>,
    /// A text is sent as it is; anything else as JSON, with `content-type: application/json`
    /// unless a header says otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Json>,
    /// How long one attempt may take.
    pub timeout_ms: u64,
    /// What makes another attempt worth while: `NETWORK_ERROR`, `HTTP_5XX`, `HTTP_429`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub retry_on: Vec<String>,
    /// The client authentication as the definition writes it; secrets are references.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auth: Option<Json>,
    /// The id of the inbound request in scope, whose headers may be passed through.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
}
