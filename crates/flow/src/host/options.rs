//! Options of library functions.

use meantime_core::{Json, RetryPolicy};
use meantime_script::EffectStartError;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::time::{InvalidTime, UnparsedTime};

/// Retry options of a task.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "an object")]
pub(crate) struct RetryOptions {
    #[serde(default)]
    pub(crate) max_attempts: Option<u32>,
    #[serde(default)]
    pub(crate) backoff: Option<UnparsedTime>,
    #[serde(default)]
    pub(crate) max_delay: Option<UnparsedTime>,
}

/// Why an option is invalid.
pub(crate) struct InvalidOption {
    pub(crate) message: String,
    time: Option<InvalidTime>,
}

impl From<InvalidTime> for InvalidOption {
    fn from(problem: InvalidTime) -> Self {
        Self { message: problem.message.clone(), time: Some(problem) }
    }
}

impl From<InvalidOption> for EffectStartError {
    fn from(problem: InvalidOption) -> Self {
        match problem.time {
            Some(time) => time.into(),
            None => Self::range_error(problem.message),
        }
    }
}

impl RetryOptions {
    /// The policy; settings that are not given come from another one.
    pub(crate) fn policy(&self, default: RetryPolicy) -> Result<RetryPolicy, InvalidOption> {
        let mut policy = default;
        if let Some(attempts) = self.max_attempts {
            if attempts == 0 {
                let message = "maxAttempts is at least 1".to_owned();
                return Err(InvalidOption { message, time: None });
            }
            policy.max_attempts = attempts;
        }
        if let Some(backoff) = &self.backoff {
            policy.base_ms = backoff.duration_ms()?;
        }
        match &self.max_delay {
            Some(delay) => policy.max_ms = delay.duration_ms()?,
            None => policy.max_ms = policy.max_ms.max(policy.base_ms),
        }
        Ok(policy)
    }
}

/// Reads the options of a function; `null` means none.
pub(super) fn options<T: DeserializeOwned + Default>(
    value: Option<&Json>,
    of: &str,
) -> Result<T, EffectStartError> {
    let Some(json) = value.filter(|json| !json.is_null()) else { return Ok(T::default()) };
    json.read().map_err(|error| {
        let reason = error.to_string();
        let reason = reason.trim_start_matches("not valid JSON: ");
        let reason = reason.split(" at line ").next().unwrap_or(reason);
        EffectStartError::type_error(format!("the options of {of}: {reason}"))
    })
}

/// A name that is not empty and not too long.
pub(super) fn name(
    value: Option<&Json>,
    what: &str,
    most: usize,
) -> Result<String, EffectStartError> {
    let text: Option<String> = value.and_then(|json| json.read().ok());
    match text {
        Some(text) if text.is_empty() => {
            Err(EffectStartError::type_error(format!("{what} is empty")))
        }
        Some(text) if text.len() > most => {
            Err(EffectStartError::range_error(format!("{what} has more than {most} bytes")))
        }
        Some(text) => Ok(text),
        None => Err(EffectStartError::type_error(format!("{what} is a string"))),
    }
}
