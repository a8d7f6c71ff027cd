//! What comes of a state: where its frame goes on, waits or ends.

use meantime_core::{Failure, Json, Termination};
use meantime_expr::value::Value;

use super::saved::Standing;
use crate::code::Code;

/// What a state came to.
#[derive(Debug)]
pub(super) enum Flow {
    /// The frame goes on at a state of its scope.
    Next(String),
    /// The frame waits where it is.
    Wait(Standing),
    /// The frame's scope is over.
    End(End),
}

/// How a scope ends.
#[derive(Debug, Clone)]
pub(super) enum End {
    Succeeded { output: Value },
    Failed { failure: Failure, termination: Termination },
}

impl Flow {
    /// Fails as the definition says.
    pub(super) fn fail(failure: Failure) -> Self {
        Self::End(End::Failed { failure, termination: Termination::Fail })
    }
}

/// Why a state cannot do what it says; ends its scope with an error of the engine.
#[derive(Debug, Clone)]
pub(super) struct Trouble {
    code: &'static str,
    message: String,
    /// The rule that was broken at run time.
    rule: Option<Code>,
}

/// The code of everything that the definition should have avoided.
const INTERNAL: &str = "urn:meantime:error:internal";

impl Trouble {
    pub(super) fn internal(message: impl Into<String>) -> Self {
        Self { code: INTERNAL, message: message.into(), rule: None }
    }

    /// What happened, for people.
    pub(super) fn message(&self) -> &str {
        &self.message
    }

    pub(super) fn timer_invalid(message: impl Into<String>) -> Self {
        let (code, rule) = ("urn:meantime:error:timer-invalid", Some(Code::TimerResult));
        Self { code, message: message.into(), rule }
    }

    pub(super) fn no_choice(state: &str) -> Self {
        let message = format!("no choice of `{state}` matches");
        Self { code: "urn:meantime:error:no-choice", message, rule: Some(Code::Choice) }
    }

    pub(super) fn not_object(what: &str) -> Self {
        let message = format!("{what} is not an object");
        Self { code: "urn:meantime:error:context-not-object", message, rule: Some(Code::Transform) }
    }

    pub(super) fn attribute_exists(name: &str) -> Self {
        let message = format!("the attribute `{name}` is written already");
        Self { code: "urn:meantime:error:attribute-exists", message, rule: None }
    }

    pub(super) fn schedule_invalid(message: impl Into<String>) -> Self {
        Self { code: "SCHEDULE_INVALID", message: message.into(), rule: Some(Code::ScheduleResult) }
    }

    pub(super) fn scheduled_step(state: &str) -> Self {
        let message = format!("a scheduled run came to `{state}`, which waits for a submission");
        Self { code: INTERNAL, message, rule: Some(Code::ScheduledStep) }
    }
}

impl From<Trouble> for Flow {
    fn from(trouble: Trouble) -> Self {
        let mut failure = Failure::new(trouble.code, trouble.message);
        failure.data = trouble
            .rule
            .and_then(|rule| Json::of(&serde_json::json!({ "rule": rule.code() })).ok());
        Self::End(End::Failed { failure, termination: Termination::RuntimeError })
    }
}
