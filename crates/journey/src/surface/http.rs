//! The format of `httpCall:v1` tasks for the engine. It answers as for other HTTP tasks, `{status,
//! headers, body}`; a response of any status completes the task.
//!
//! While attempts are left, a response that `retry_on` names is reported as a retryable failure
//! with the response as its data, so that the last response still reaches the journey.

use std::collections::BTreeMap;

use meantime_core::Json;
use serde::{Deserialize, Serialize};

/// The name of the engine task.
pub const HTTP_TASK: &str = "httpCall:v1";

/// The field by which the engine reports that the inbound request of a task had ended; also the
/// kind of the history record about it.
pub const REQUEST_GONE: &str = "requestGone";

/// The code of a response whose body cannot be kept unchanged; the data is the response without the
/// body.
pub const HTTP_BODY: &str = "HTTP_BODY";

/// The code of a call that used all the time up to its run's deadline; the data names the deadline.
pub const HTTP_DEADLINE: &str = "HTTP_DEADLINE";

/// The field of that data.
pub const DEADLINE_AT: &str = "deadlineAt";

/// Whether a task failed because the deployment lacks something, such as a secret or a profile. The
/// journey cannot handle such a failure; an operator must.
pub fn is_config_error(code: &str) -> bool {
    matches!(code, "HTTP_AUTH_CONFIG" | "APIKEY_CONFIG_MISSING" | "JWT_CONFIG_MISSING")
}

/// A call in the format for the engine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HttpRequest {
    /// In upper case.
    pub method: String,
    /// The URL, with path and query filled in.
    pub url: String,
    /// Headers by name.
    pub headers: BTreeMap<String, String>,
    /// A text is sent as it is; anything else as JSON, with `content-type: application/json`
    /// unless a header says otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Json>,
    /// The timeout of one attempt.
    pub timeout_ms: u64,
    /// Which results are retried: `NETWORK_ERROR`, `HTTP_5XX`, `HTTP_429`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub retry_on: Vec<String>,
    /// The client authentication as the definition writes it; secrets are references.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auth: Option<Json>,
    /// The id of the inbound request in scope, whose headers may be passed through.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
}
