//! Wire types of instances.

use meantime_core::{Json, Outcome, Timestamp};
use meantime_kernel::command;
use meantime_kernel::store::{self, InstanceRow, Phase};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Actor, Incident, InstantParam};

/// The request to start an instance.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct NewInstance {
    /// The name of the definition.
    pub(crate) definition: String,
    /// The version; the latest by default.
    #[serde(default)]
    pub(crate) version: Option<u32>,
    /// The input.
    #[serde(default)]
    #[schema(value_type = Option<serde_json::Value>)]
    pub(crate) input: Json,
    /// A business key, unique among running instances of the definition.
    #[serde(default)]
    pub(crate) key: Option<String>,
    /// The deadline: an instant, or a duration from now.
    #[serde(default)]
    #[schema(value_type = Option<String>, example = "P30D")]
    pub(crate) deadline: Option<InstantParam>,
    /// Tags to find it by.
    #[serde(default)]
    pub(crate) tags: Vec<String>,
}

/// The reason an operator gives for an operation.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct OperatorReason {
    /// Why the operator does this; recorded in the history.
    #[serde(default)]
    pub(crate) reason: Option<String>,
}

/// The request to suspend an instance.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct InstanceSuspension {
    /// Why the operator does this; recorded in the history.
    #[serde(default)]
    #[schema(example = "the payment service loses orders")]
    pub(crate) reason: Option<String>,
    /// What its timers and its deadline do while it is suspended.
    #[serde(default)]
    pub(crate) timers: SuspensionTimers,
}

/// What the timers and the deadline of a suspended instance do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum SuspensionTimers {
    /// They are frozen: they keep their instants, and are released when the instance is resumed.
    #[default]
    Freeze,
    /// They run: what a timer causes waits, and the deadline ends the instance.
    Run,
}

impl From<SuspensionTimers> for command::SuspendedTimers {
    fn from(timers: SuspensionTimers) -> Self {
        match timers {
            SuspensionTimers::Freeze => Self::Freeze,
            SuspensionTimers::Run => Self::Run,
        }
    }
}

/// The suspension of an instance.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SuspensionState {
    /// Since when it is suspended.
    #[schema(value_type = String, format = DateTime)]
    since: Timestamp,
    /// Who suspended it, and why.
    by: Actor,
    /// What its timers do meanwhile.
    timers: SuspensionTimers,
}

impl From<&store::Suspension> for SuspensionState {
    fn from(it: &store::Suspension) -> Self {
        let timers = match it.timers {
            command::SuspendedTimers::Freeze => SuspensionTimers::Freeze,
            command::SuspendedTimers::Run => SuspensionTimers::Run,
        };
        Self { since: it.since, by: Actor::from(&it.audit), timers }
    }
}

/// The request to start an instance again.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct InstanceRestart {
    /// Why the operator does this; recorded in the history of the new instance.
    #[serde(default)]
    #[schema(example = "fixed in version 2")]
    pub(crate) reason: Option<String>,
    /// The version to run; the latest by default.
    #[serde(default)]
    pub(crate) version: Option<u32>,
    /// The deadline of the new instance: an instant, or a duration from now.
    #[serde(default)]
    #[schema(value_type = Option<String>, example = "P30D")]
    pub(crate) deadline: Option<InstantParam>,
}

/// The status of an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum InstanceStatus {
    /// Not ended; it may have incidents.
    Running,
    /// Ended with an output.
    Completed,
    /// Ended with an error.
    Failed,
    /// Ended by a cancel request.
    Cancelled,
}

impl InstanceStatus {
    /// The phases of the engine that have this status.
    pub(crate) const fn phases(self) -> &'static [Phase] {
        match self {
            Self::Running => &[Phase::Starting, Phase::Running, Phase::Yielding, Phase::Closing],
            Self::Completed => &[Phase::Completed],
            Self::Failed => &[Phase::Failed],
            Self::Cancelled => &[Phase::Cancelled],
        }
    }
}

impl From<Phase> for InstanceStatus {
    fn from(phase: Phase) -> Self {
        match phase {
            Phase::Completed => Self::Completed,
            Phase::Failed => Self::Failed,
            Phase::Cancelled => Self::Cancelled,
            Phase::Starting | Phase::Running | Phase::Yielding | Phase::Closing => Self::Running,
        }
    }
}

/// An error of a task or an instance.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Failure {
    /// Stable code, chosen by the definition or the worker.
    code: String,
    /// A message for people.
    message: String,
    /// Additional data of the error.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    data: Option<Json>,
    /// Where in the definition it happened, innermost first.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    trace: Option<Json>,
}

impl From<&meantime_core::Failure> for Failure {
    fn from(it: &meantime_core::Failure) -> Self {
        Self {
            code: it.code.clone(),
            message: it.message.clone(),
            data: it.data.clone(),
            trace: it.trace.clone(),
        }
    }
}

/// What an instance waits for.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WaitingFor {
    /// The kind of wait.
    pub(crate) kind: WaitingKind,
    /// The timer, task, child or subscription; of a step, its name.
    pub(crate) id: String,
    /// Type of a task, name of a signal, message, step or definition.
    pub(crate) name: String,
    /// The element of the definition.
    pub(crate) element: String,
    /// When it is due, if it is a timer or has a timeout.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub(crate) due_at: Option<Timestamp>,
    /// Whether an operator froze its timer.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) frozen: bool,
    /// Since when it waits.
    #[schema(value_type = String, format = DateTime)]
    pub(crate) since: Timestamp,
}

/// A scope of variables.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct VariableScope {
    /// Id within the instance; `root` is the outermost scope.
    pub(crate) id: String,
    /// Id of the enclosing scope.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) parent: Option<String>,
    /// The element of the definition.
    pub(crate) element: String,
    /// Its own variables.
    #[schema(value_type = serde_json::Value)]
    pub(crate) variables: Json,
}

/// The kinds of waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum WaitingKind {
    /// A task of a worker or of the engine.
    Task,
    /// A user task.
    UserTask,
    /// A timer.
    Timer,
    /// A signal.
    Signal,
    /// A message.
    Message,
    /// A step that needs a submission.
    Step,
    /// A child instance.
    Child,
    /// A condition on variables.
    Condition,
}

impl From<meantime_core::WaitingKind> for WaitingKind {
    fn from(kind: meantime_core::WaitingKind) -> Self {
        match kind {
            meantime_core::WaitingKind::Task => Self::Task,
            meantime_core::WaitingKind::UserTask => Self::UserTask,
            meantime_core::WaitingKind::Timer => Self::Timer,
            meantime_core::WaitingKind::Signal => Self::Signal,
            meantime_core::WaitingKind::Message => Self::Message,
            meantime_core::WaitingKind::Step => Self::Step,
            meantime_core::WaitingKind::Child => Self::Child,
            meantime_core::WaitingKind::Condition => Self::Condition,
        }
    }
}

/// An instance without input, output and variables, as lists show it.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct InstanceSummary {
    /// Id, opaque.
    pub(crate) id: String,
    /// The name of its definition.
    pub(crate) definition: String,
    /// The version of its definition.
    pub(crate) version: u32,
    /// Its notation.
    pub(crate) notation: String,
    /// The status.
    pub(crate) status: InstanceStatus,
    /// The error of a failed instance.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<Failure>,
    /// The reason of a cancelled instance.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
    /// What it waits for.
    pub(crate) waiting_for: Vec<WaitingFor>,
    /// Open incidents.
    pub(crate) incidents: Vec<Incident>,
    /// The deadline.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub(crate) deadline_at: Option<Timestamp>,
    /// When its start was accepted.
    #[schema(value_type = String, format = DateTime)]
    pub(crate) started_at: Timestamp,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub(crate) ended_at: Option<Timestamp>,
    /// The instance that started it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) parent: Option<String>,
    /// Its business key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) key: Option<String>,
    /// Its tags.
    pub(crate) tags: Vec<String>,
    /// Its suspension, while it is suspended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) suspended: Option<SuspensionState>,
    /// The instance that it repeats, if an operator restarted one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) restart_of: Option<String>,
    /// Which part of the stored instance is damaged. `meantime doctor` lists such instances.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) damaged: Option<String>,
}

/// An instance with its data.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Instance {
    /// The members that lists show, too.
    #[serde(flatten)]
    pub(crate) summary: InstanceSummary,
    /// The input of the start.
    #[schema(value_type = serde_json::Value)]
    pub(crate) input: Json,
    /// The output of a completed instance.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    pub(crate) output: Option<Json>,
    /// The variables of its root scope.
    #[schema(value_type = serde_json::Value)]
    pub(crate) variables: Json,
}

/// The result of an instance, or its status while it runs.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct InstanceResult {
    /// The status.
    status: InstanceStatus,
    /// The output of a completed instance.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    output: Option<Json>,
    /// The error of a failed instance.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Failure>,
    /// The reason of a cancelled instance.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

impl InstanceResult {
    pub(crate) fn of(row: &InstanceRow) -> Self {
        let ending =
            row.meta.outcome.as_ref().filter(|_| row.phase.is_ended()).map(OutcomeView::of);
        let (output, error, reason) =
            ending.map_or((None, None, None), |it| (it.output, it.error, it.reason));
        Self { status: InstanceStatus::from(row.phase), output, error, reason }
    }
}

/// An outcome split into the members of the API.
pub(crate) struct OutcomeView {
    pub(crate) output: Option<Json>,
    pub(crate) error: Option<Failure>,
    pub(crate) reason: Option<String>,
    pub(crate) variables: Json,
}

impl OutcomeView {
    pub(crate) fn of(outcome: &Outcome) -> Self {
        let (output, error, reason, variables) = match outcome {
            Outcome::Completed { output, context } => (Some(output.clone()), None, None, context),
            Outcome::Failed { failure, context, .. } => (None, Some(failure.into()), None, context),
            Outcome::Cancelled { reason, context } => (None, None, Some(reason.clone()), context),
        };
        Self { output, error, reason, variables: variables.clone() }
    }
}
