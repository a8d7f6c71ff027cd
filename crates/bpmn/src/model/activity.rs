//! What activities do.

use super::MessageSubscription;
use crate::expression::Expression;

/// A task.
#[derive(Debug)]
pub(crate) enum Task {
    /// Nothing to do: plain and manual tasks.
    Pass,
    /// For workers: service, send and business rule tasks.
    Worker(Box<WorkerJob>),
    User(Box<UserTask>),
    Receive(MessageSubscription),
    /// Runs in the engine; its value goes to the result variable.
    Script {
        code: Expression,
        result: Option<String>,
    },
}

/// Work for a worker.
#[derive(Debug)]
pub(crate) struct WorkerJob {
    pub(crate) kind: Expression,
    /// Attempts in all.
    pub(crate) retries: Option<Expression>,
    /// Milliseconds between attempts, when the model says so.
    pub(crate) retry_ms: Option<u64>,
    pub(crate) priority: Option<Expression>,
    /// Static headers, as written.
    pub(crate) headers: Vec<(String, String)>,
    /// A variable that takes the whole result.
    pub(crate) result: Option<String>,
}

/// Work for a person. Everything here is carried along; none of it decides anything.
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
    /// Whether the whole result comes out.
    pub(crate) all_out: bool,
    /// Single values in, after or instead of all.
    pub(crate) inputs: Vec<super::Input>,
    /// Single values out, read from the result.
    pub(crate) outputs: Vec<super::Output>,
}

/// Which visible variables go into a called definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InputPropagation {
    /// All of them, and what mappings make.
    All,
    /// All of them, unless there are input mappings: then only what those make.
    AllWithoutMappings,
    /// Only what is named.
    MappedOnly,
}

/// An ad-hoc sub-process.
#[derive(Debug)]
pub(crate) struct AdHoc {
    /// One activity at a time.
    pub(crate) sequential: bool,
    /// When it holds after an activity, the sub-process is over.
    pub(crate) completion: Option<Expression>,
    /// Whether what still runs is ended then.
    pub(crate) cancel_remaining: bool,
    /// The ids of the activities to start with; without it, all of them.
    pub(crate) active: Option<Expression>,
}
