//! Activities.

use super::MessageSubscription;
use crate::expression::Expression;

/// A task.
#[derive(Debug)]
pub(crate) enum Task {
    /// Plain and manual tasks: the token passes at once.
    Pass,
    /// For workers: service, send and business rule tasks.
    Worker(Box<WorkerJob>),
    User(Box<UserTask>),
    Receive(MessageSubscription),
    /// Runs in the engine; its value is written to the result variable.
    Script {
        code: Expression,
        result: Option<String>,
    },
}

/// Work for a worker.
#[derive(Debug)]
pub(crate) struct WorkerJob {
    pub(crate) kind: Expression,
    /// The total number of attempts.
    pub(crate) retries: Option<Expression>,
    /// Milliseconds between attempts, if the model gives them.
    pub(crate) retry_ms: Option<u64>,
    pub(crate) priority: Option<Expression>,
    /// Static headers, as written.
    pub(crate) headers: Vec<(String, String)>,
    /// A variable for the whole result.
    pub(crate) result: Option<String>,
}

/// A task of a person. The attributes are for task lists; none of them affects execution.
#[derive(Debug, Default)]
pub(crate) struct UserTask {
    pub(crate) assignee: Option<Expression>,
    pub(crate) candidate_groups: Option<Expression>,
    pub(crate) candidate_users: Option<Expression>,
    pub(crate) due_date: Option<Expression>,
    pub(crate) follow_up_date: Option<Expression>,
    pub(crate) priority: Option<Expression>,
    pub(crate) form: Option<Expression>,
    pub(crate) headers: Vec<(String, String)>,
}

/// A call of another definition.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) definition: Expression,
    pub(crate) version: Option<Expression>,
    /// The latest version with this label is called.
    pub(crate) label: Option<Expression>,
    pub(crate) key: Option<Expression>,
    pub(crate) all_in: InputPropagation,
    /// Whether the whole result is written back.
    pub(crate) all_out: bool,
    /// Single inputs, in addition to all variables or instead of them.
    pub(crate) inputs: Vec<super::Input>,
    /// Single outputs, read from the result.
    pub(crate) outputs: Vec<super::Output>,
}

/// Which visible variables are passed to a called definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InputPropagation {
    /// All, and those of the mappings.
    All,
    /// All; if there are input mappings, only those.
    AllWithoutMappings,
    /// Only the named ones.
    MappedOnly,
}

/// An ad-hoc sub-process.
#[derive(Debug)]
pub(crate) struct AdHoc {
    /// One activity at a time.
    pub(crate) sequential: bool,
    /// The sub-process completes if this is true after an activity.
    pub(crate) completion: Option<Expression>,
    /// Whether activities that still run are then cancelled.
    pub(crate) cancel_remaining: bool,
    /// The ids of the activities to start; all of them without it.
    pub(crate) active: Option<Expression>,
}
