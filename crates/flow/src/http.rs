//! `Http.request`: the request and response documents of the engine task.
//!
//! The call is an engine task with the name [`HTTP_TASK`]. Its input is an [`HttpCall`], its output
//! `{status, headers, body}`, as the engine's connector writes it. An answer with any status
//! completes the task. Only a call without an answer fails it, with one of these codes:
//! `HTTP_REFUSED` (the egress policy), `HTTP_UNREACHABLE`, `HTTP_TIMEOUT`, `HTTP_TOO_LARGE`,
//! `HTTP_INVALID` (the answer is not HTTP).

use std::collections::BTreeMap;

use meantime_core::{Json, RetryPolicy};
use meantime_script::EffectStartError;
use serde::{Deserialize, Serialize};

use crate::host::{RetryOptions, UnparsedTime};

/// The name of the engine task.
pub const HTTP_TASK: &str = "http";

/// The request that the engine performs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HttpCall {
    /// The method, in upper case.
    pub method: String,
    /// The URL.
    pub url: String,
    /// Headers by name, as the script wrote them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// A string is sent unchanged; any other value as JSON, with `content-type: application/json`
    /// unless a header says otherwise. `None` if the script gave none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Json>,
    /// The time limit of one attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
}

/// A call, as the script writes it.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "an object")]
pub(crate) struct HttpCallOptions {
    #[serde(default)]
    method: Option<String>,
    #[serde(default)]
    url: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    body: Option<Json>,
    #[serde(default)]
    timeout: Option<UnparsedTime>,
    #[serde(default)]
    retry: Option<RetryOptions>,
}

impl HttpCallOptions {
    /// The retry policy: no retries, unless the script requests them.
    pub(crate) fn retry(&self, default: RetryPolicy) -> Result<RetryPolicy, EffectStartError> {
        let Some(retry) = &self.retry else { return Ok(default) };
        let usual = RetryPolicy { max_attempts: 1, ..RetryPolicy::default() };
        Ok(retry.policy(usual)?)
    }

    /// The call with its display name, or its problem.
    pub(crate) fn into_call(self) -> Result<(HttpCall, String), EffectStartError> {
        let method = self.method.unwrap_or_else(|| "GET".to_owned()).to_ascii_uppercase();
        let is_token = |text: &str| !text.is_empty() && text.bytes().all(is_token_byte);
        if !is_token(&method) {
            return Err(EffectStartError::type_error("the method of an HTTP request is a word"));
        }
        let Some(url) = self.url else {
            return Err(EffectStartError::type_error("an HTTP request needs a `url`"));
        };
        if !url.starts_with("http://") && !url.starts_with("https://") {
            return Err(EffectStartError::type_error("the `url` begins with http:// or https://"));
        }
        let bad = |(name, value): (&String, &String)| {
            !is_token(name) || value.bytes().any(|byte| byte < b' ' && byte != b'\t')
        };
        if self.headers.iter().any(bad) {
            return Err(EffectStartError::type_error("a header is not valid"));
        }
        let timeout_ms = match &self.timeout {
            Some(timeout) => Some(timeout.duration_ms()?),
            None => None,
        };
        let name = format!("{method} {url}");
        let call = HttpCall { method, url, headers: self.headers, body: self.body, timeout_ms };
        Ok((call, name.chars().take(200).collect()))
    }
}

fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}
