//! Instances.

use meantime_core::{Json, Outcome, Timestamp};
use meantime_kernel::store::{InstanceRow, Phase};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Incident, InstantParam};

/// A start.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct NewInstance {
    /// The name of the definition.
    pub(crate) definition: String,
    /// Which version; the latest when not given.
    #[serde(default)]
    pub(crate) version: Option<u32>,
    /// The input.
    #[serde(default)]
    #[schema(value_type = Option<serde_json::Value>)]
    pub(crate) input: Json,
    /// A business key, unique among live instances of the definition.
    #[serde(default)]
    pub(crate) key: Option<String>,
    /// When it must be over: an instant, or a duration from now on.
    #[serde(default)]
    #[schema(value_type = Option<String>, example = "P30D")]
    pub(crate) deadline: Option<InstantParam>,
    /// Tags to find it by.
    #[serde(default)]
    pub(crate) tags: Vec<String>,
}

/// Why somebody does something.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct OperatorReason {
    /// For those who look at it later.
    #[serde(default)]
    pub(crate) reason: Option<String>,
}

/// How an instance stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum InstanceStatus {
    /// It goes on, perhaps with an incident.
    Running,
    /// It is over, with an output.
    Completed,
    /// It is over, with an error.
    Failed,
    /// It is over, by request.
    Cancelled,
}

impl InstanceStatus {
    /// The phases that look like this from outside.
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
    /// Stable code, chosen by whoever failed.
    code: String,
    /// One sentence for people.
    message: String,
    /// Anything that was sent along.
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
    /// What kind of thing.
    pub(crate) kind: WaitingKind,
    /// The timer, task, child or subscription; of a step, its name.
    pub(crate) id: String,
    /// Type of a task, name of a signal, message, step or definition.
    pub(crate) name: String,
    /// Where in the definition.
    pub(crate) element: String,
    /// When it comes by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub(crate) due_at: Option<Timestamp>,
    /// Whether somebody froze its timer: it does not come by itself.
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
    /// Its name among the scopes of the instance; `root` is the outermost.
    pub(crate) id: String,
    /// The scope around it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) parent: Option<String>,
    /// Where in the definition.
    pub(crate) element: String,
    /// Its own variables.
    #[schema(value_type = serde_json::Value)]
    pub(crate) variables: Json,
}

/// What kind of thing an instance waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum WaitingKind {
    /// A worker or the engine.
    Task,
    /// A person.
    UserTask,
    /// Time.
    Timer,
    /// A signal.
    Signal,
    /// A message.
    Message,
    /// Input for a step.
    Step,
    /// A child.
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

/// An instance in a list: everything but its data.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct InstanceSummary {
    /// Its id.
    pub(crate) id: String,
    /// The name of its definition.
    pub(crate) definition: String,
    /// The version it runs.
    pub(crate) version: u32,
    /// Its notation.
    pub(crate) notation: String,
    /// How it stands.
    pub(crate) status: InstanceStatus,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<Failure>,
    /// Why it was cancelled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
    /// What it waits for.
    pub(crate) waiting_for: Vec<WaitingFor>,
    /// What needs a person.
    pub(crate) incidents: Vec<Incident>,
    /// When it must be over.
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
    /// What of it is damaged and could not be read. `meantime doctor` finds every such instance.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) damaged: Option<String>,
}

/// An instance with its data.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Instance {
    /// Everything that lists show too.
    #[serde(flatten)]
    pub(crate) summary: InstanceSummary,
    /// What it was started with.
    #[schema(value_type = serde_json::Value)]
    pub(crate) input: Json,
    /// What it returned.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    pub(crate) output: Option<Json>,
    /// The variables of its root scope.
    #[schema(value_type = serde_json::Value)]
    pub(crate) variables: Json,
}

/// How an instance ended.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct InstanceResult {
    /// How it stands.
    status: InstanceStatus,
    /// What it returned.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    output: Option<Json>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Failure>,
    /// Why it was cancelled.
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

/// What an outcome says to those who ask.
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
