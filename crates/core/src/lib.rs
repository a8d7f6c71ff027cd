//! The types and pure functions that all other crates share.
//!
//! Ids, instants and their arithmetic, events, effects, the [`Notation`] contract, diagnostics,
//! limits and retry maths. Nothing here reads a clock, a random number, a file or a socket (I6); a
//! test of the dependency graph and lints enforce it.

pub mod definition;
pub mod diagnostic;
pub mod effect;
pub mod event;
pub mod failure;
pub mod graph;
pub mod id;
pub mod json;
pub mod limits;
pub mod line_map;
pub mod notation;
pub mod pause_point;
pub mod random;
pub mod retention;
pub mod retry;
pub mod schedule;
pub mod state;
pub mod time;

pub use definition::{Compiled, Definition, Execution, Source, SourceFile, Trigger};
pub use diagnostic::{Diagnostic, NotUtf8, Position, Severity, text_of};
pub use effect::{
    Attribute, Channel, ChildSpec, Effect, Message, Occurrence, OccurrenceOutcome, ParentClose,
    TaskKind, TaskSpec,
};
pub use event::{Answer, ChildOutcome, Event, Start, StartCause, TaskCause, TaskOutcome};
pub use failure::{Failure, Fault, Termination, Thrown};
pub use graph::{Edge, Graph, Node};
pub use id::{DefinitionId, EffectKey, IncidentId, InstanceId, TaskId, TimerId};
pub use json::Json;
pub use limits::Limits;
pub use line_map::LineMap;
pub use notation::{
    Cx, DEADLINE_EXCEEDED, Notation, Outcome, ScopeView, Status, Turn, Verdict, View, Waiting,
    WaitingKind, unknown_scope,
};
pub use random::{SplitMix64, instance_seed};
pub use retention::{Ending, Keep, Periods, Retention};
pub use retry::RetryPolicy;
pub use schedule::{
    CatchUp, Changed, OnExisting, Overlap, Recurrence, SCHEDULE_CONFLICT, SCHEDULE_DEFINITION,
    ScheduleChange, ScheduleInput, ScheduleSpec,
};
pub use state::State;
pub use time::Timestamp;
