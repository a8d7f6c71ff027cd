//! What a running script needs from outside: the time of the turn, ids, and a way to start effects.
//! The machine itself stays pure.

use meantime_core::time::TimeError;
use meantime_core::{EffectKey, Fault, InstanceId, Json, Position, Timestamp};

/// The environment of a script for one turn.
pub trait Host {
    /// The time of the turn.
    fn now(&self) -> Timestamp;

    /// The instance.
    fn instance(&self) -> InstanceId;

    /// Its business key.
    fn key(&self) -> Option<&str>;

    /// Random bits: unpredictable, and the same when the turn is repeated.
    fn random(&mut self) -> u64;

    /// Whether the turn has room for this many more effects.
    fn has_room(&self, effects: usize) -> bool;

    /// Starts a task, a timer, a wait or a child.
    fn start(&mut self, request: &EffectRequest) -> Result<StartedEffect, EffectStartError>;

    /// Cancels an effect that was started.
    fn cancel(&mut self, what: EffectKind, key: EffectKey);

    /// Writes an entry to the instance's history.
    fn log(&mut self, level: &'static str, message: Json, data: Option<Json>);
}

/// A call of a library function that starts something.
#[derive(Debug, Clone)]
pub struct EffectRequest {
    /// The function.
    pub operation: Operation,
    /// Its arguments as documents; none for `undefined` and missing ones.
    pub args: Vec<Option<Json>>,
    /// The position of the call.
    pub position: Position,
}

/// Library functions that start something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// `Task.run(type, input, options)`
    Task,
    /// `Task.delay(time)` and `Timer.delay(time)`
    Delay,
    /// `Timer.until(instant)`
    Until,
    /// `Signal.next(name, options)`
    Signal,
    /// `Workflow.run(name, input, options)`
    Child,
    /// `Http.request(request)`
    Http,
}

/// The kind of an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EffectKind {
    /// A task for a worker.
    Task,
    /// A timer.
    Timer,
    /// A wait for a signal.
    Signal,
    /// A child.
    Child,
    /// An HTTP request of the engine.
    Http,
}

/// A started effect, with its keys.
#[derive(Debug, Clone)]
pub struct StartedEffect {
    /// Its kind.
    pub what: EffectKind,
    /// Its key.
    pub key: EffectKey,
    /// The key of the timer that limits it, if it has one.
    pub timer: Option<EffectKey>,
    /// Its display name: task type, signal, definition, address.
    pub name: String,
}

/// Why an effect could not be started.
#[derive(Debug, Clone)]
pub enum EffectStartError {
    /// The call is wrong: an error that the script can catch.
    Error {
        /// `TypeError` or `RangeError`.
        name: &'static str,
        /// The code of the error.
        code: &'static str,
        /// What is wrong with it.
        message: String,
    },
    /// A limit was reached: the turn cannot continue.
    Limit(Fault),
}

impl EffectStartError {
    /// A wrong type of argument.
    pub fn type_error(message: impl Into<String>) -> Self {
        Self::Error { name: "TypeError", code: "TypeError", message: message.into() }
    }

    /// An invalid time (T2).
    pub fn time(error: &TimeError) -> Self {
        Self::Error { name: "RangeError", code: error.code(), message: error.to_string() }
    }

    /// An argument out of range.
    pub fn range_error(message: impl Into<String>) -> Self {
        Self::Error { name: "RangeError", code: "RangeError", message: message.into() }
    }
}

/// How an effect ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settlement {
    /// With a result.
    Done(Json),
    /// With an error, which `await` throws.
    Failed {
        /// The kind of error, such as `TaskError`.
        name: &'static str,
        /// The code, as the worker or child sent it.
        code: String,
        /// The message.
        message: String,
        /// The data of the error.
        data: Option<Json>,
    },
}
