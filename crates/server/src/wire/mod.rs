//! The JSON of the API: what requests may say and what answers look like.
//!
//! These types are the contract; nothing else in the engine is serialised for the outside. Names
//! are camelCase, instants RFC 3339, durations ISO 8601. Requests refuse members they do not know.

mod clock;
mod definition;
mod done;
mod duration;
mod event;
mod forecast;
mod history;
mod incident;
mod instance;
mod message;
mod page;
mod schedule;
mod task;
mod timer;

pub(crate) use clock::{Advance, Clock, Moved};
pub(crate) use definition::{Definition, Deployed, DeployedDefinition, Diagnostic, Graph};
pub(crate) use done::Done;
pub(crate) use duration::{Lasting, Moment};
pub(crate) use event::Event;
pub(crate) use forecast::{Bucket, Due, Forecast, Why};
pub(crate) use history::{Entry, entries};
pub(crate) use incident::{Incident, Resolution};
pub(crate) use instance::{
    Because, Ending, Failure, Instance, InstanceResult, NewInstance, Scope, Status, Summary,
    Waiting, WaitingKind,
};
pub(crate) use message::{Delivered, NewMessage, Published, ids};
pub(crate) use page::Page;
pub(crate) use schedule::{
    Backfill, Backfilled, ChangeSchedule, NewSchedule, NextOccurrences, Occurrence, Schedule,
    ScheduleState, occurrence_cursor, read_occurrence_id, read_occurrence_key,
};
pub(crate) use task::{
    Assignment, BpmnError, Claim, Claimed, ClaimedTask, Complete, CompleteMany, Completed, Extend,
    Extended, Fail, ItemDone, ItemResult, Task, TaskError, read_token,
};
pub(crate) use timer::{MoveTimer, Timer};
