//! The JSON types of requests and responses.
//!
//! These types are the public contract; nothing else of the engine is serialised for clients. Names
//! are camelCase, instants RFC 3339, durations ISO 8601. Unknown members of requests are
//! rejected.

mod answer;
mod clock;
mod definition;
mod duration;
mod event;
mod forecast;
mod history;
mod incident;
mod instance;
mod instance_list;
mod message;
mod schedule;
mod task;
mod timer;

pub(crate) use answer::{OperationResult, Page};
pub(crate) use clock::{Clock, ClockAdvance, ClockAdvanceResult};
pub(crate) use definition::{
    Definition, DefinitionGraph, DeployedDefinition, DeploymentResult, Diagnostic,
};
pub(crate) use duration::{DurationParam, InstantParam};
pub(crate) use event::TurnEvent;
pub(crate) use forecast::{Explanation, Forecast, ForecastBucket, UpcomingEvent};
pub(crate) use history::{Actor, HistoryEvent, history_events};
pub(crate) use incident::{Incident, IncidentResolution};
pub(crate) use instance::{
    Failure, Instance, InstanceRestart, InstanceResult, InstanceStatus, InstanceSummary,
    InstanceSuspension, NewInstance, OperatorReason, OutcomeView, SuspensionState, VariableScope,
    WaitingFor, WaitingKind,
};
pub(crate) use instance_list::{
    Direction, InstanceGroup, InstanceGrouping, InstanceOrder, InstancePage, InstanceStats,
    InstanceTotal, StatusCounts,
};
pub(crate) use message::{BroadcastResult, NewMessage, PublishResult, ids};
pub(crate) use schedule::{
    NewSchedule, NextOccurrences, Occurrence, Schedule, ScheduleBackfill, ScheduleBackfillResult,
    ScheduleState, ScheduleUpdate, occurrence_cursor, read_occurrence_id, read_occurrence_key,
};
pub(crate) use task::{
    BpmnError, ClaimedTask, ClaimedTasks, ExtendedLease, LeaseExtension, Task, TaskAssignment,
    TaskClaim, TaskCompletion, TaskError, TaskFailure, TaskReport, TaskReportResult,
    TaskReportResults, TaskReports, read_token,
};
pub(crate) use timer::{Timer, TimerMove};
