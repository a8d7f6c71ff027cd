//! The transition that a state returns: next state, wait, end or error.

use meantime_core::{Failure, Json, Position, Termination};
use meantime_value::Value;

use super::saved::WaitState;
use crate::code::Code;

/// What a frame does after a state.
#[derive(Debug)]
pub(super) enum Transition {
    /// The frame continues at a state of its scope.
    Next(String),
    /// The frame waits where it is.
    Wait(WaitState),
    /// The frame's scope has ended.
    End(ScopeEnd),
    /// The state cannot be executed: its scope ends with an error of the engine.
    Error(StateError),
}

/// How a scope ends.
#[derive(Debug, Clone)]
pub(super) enum ScopeEnd {
    Succeeded { output: Value },
    Failed { failure: Failure, termination: Termination },
}

impl Transition {
    /// Fails as the definition says.
    pub(super) fn fail(failure: Failure) -> Self {
        Self::End(ScopeEnd::Failed { failure, termination: Termination::Fail })
    }
}

/// Why a state cannot be executed; ends its scope with an error of the engine.
#[derive(Debug, Clone)]
pub(super) struct StateError {
    code: &'static str,
    message: String,
    /// The rule that was broken at run time.
    rule: Option<Code>,
    /// The position in the source, if it is more exact than that of the state.
    at: Option<Position>,
}

/// The code of run-time errors that a correct definition avoids.
const INTERNAL_ERROR: &str = "urn:meantime:error:internal";

impl StateError {
    pub(super) fn internal(message: impl Into<String>) -> Self {
        Self { code: INTERNAL_ERROR, message: message.into(), rule: None, at: None }
    }

    /// The same, with the position at which an expression failed.
    pub(super) fn at(mut self, position: Option<Position>) -> Self {
        self.at = position.or(self.at);
        self
    }

    /// The failure of a run: the message, the state, and its position in the source.
    pub(super) fn into_failure(self, state: &str, written: Position) -> Failure {
        let Position { line, column } = self.at.unwrap_or(written);
        let message = format!("{} (state `{state}`, line {line}, column {column})", self.message);
        let mut data =
            vec![("column", Json::from(u64::from(column))), ("line", Json::from(u64::from(line)))];
        data.extend(self.rule.map(|rule| ("rule", Json::text(rule.code()))));
        data.push(("state", Json::text(state)));
        let mut failure = Failure::new(self.code, message);
        failure.data = Some(Json::object(data.iter().map(|(name, value)| (*name, value))));
        failure
    }

    /// The message.
    pub(super) fn message(&self) -> &str {
        &self.message
    }

    pub(super) fn timer_invalid(message: impl Into<String>) -> Self {
        let (code, rule) = ("urn:meantime:error:timer-invalid", Some(Code::TimerResult));
        Self { code, message: message.into(), rule, at: None }
    }

    pub(super) fn no_choice(state: &str) -> Self {
        let message = format!("no choice of `{state}` matches");
        let (code, rule) = ("urn:meantime:error:no-choice", Some(Code::Choice));
        Self { code, message, rule, at: None }
    }

    pub(super) fn not_object(what: &str) -> Self {
        let message = format!("{what} is not an object");
        let (code, rule) = ("urn:meantime:error:context-not-object", Some(Code::Transform));
        Self { code, message, rule, at: None }
    }

    pub(super) fn attribute_exists(name: &str) -> Self {
        let message = format!("the attribute `{name}` is written already");
        Self { code: "urn:meantime:error:attribute-exists", message, rule: None, at: None }
    }

    pub(super) fn schedule_invalid(message: impl Into<String>) -> Self {
        let (code, rule) = ("SCHEDULE_INVALID", Some(Code::ScheduleResult));
        Self { code, message: message.into(), rule, at: None }
    }

    pub(super) fn scheduled_step(state: &str) -> Self {
        let message = format!("a scheduled run came to `{state}`, which waits for a submission");
        Self { code: INTERNAL_ERROR, message, rule: Some(Code::ScheduledStep), at: None }
    }
}

impl From<StateError> for Transition {
    fn from(error: StateError) -> Self {
        Self::Error(error)
    }
}
