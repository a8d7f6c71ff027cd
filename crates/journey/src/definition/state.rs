//! The states of a scope.

use meantime_core::Timestamp;
use meantime_core::time;

use super::{Expression, Schema, Scope, Task, Template};
use crate::yaml::Span;

/// One state.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) id: String,
    /// The position of its id.
    pub(crate) span: Span,
    pub(crate) body: StateBody,
    /// The next state; terminal states have none.
    pub(crate) next: Option<StateRef>,
}

/// A reference to a state by its id.
#[derive(Debug, Clone)]
pub(crate) struct StateRef {
    pub(crate) id: String,
    pub(crate) span: Span,
}

/// What a state does.
#[derive(Debug)]
pub(crate) enum StateBody {
    Task(Box<Task>),
    Choice(Choice),
    Transform(Transform),
    Step(Box<Step>),
    Timer(Timer),
    Parallel(Parallel),
    Call(SubjourneyCall),
    Succeed(Succeed),
    Fail(Fail),
}

/// Continues at the first option whose predicate is true.
#[derive(Debug)]
pub(crate) struct Choice {
    pub(crate) ways: Vec<ChoiceOption>,
    pub(crate) default: Option<StateRef>,
}

/// One option of a choice.
#[derive(Debug)]
pub(crate) struct ChoiceOption {
    pub(crate) predicate: Expression,
    pub(crate) next: StateRef,
}

/// Computes a value and writes it to a destination.
#[derive(Debug)]
pub(crate) struct Transform {
    pub(crate) mapper: Expression,
    pub(crate) destination: Destination,
}

/// The destination of a computed value.
#[derive(Debug, Clone)]
pub(crate) enum Destination {
    /// Replaces the whole context.
    Context,
    /// A path inside the context; the value is an object.
    Path(Vec<String>),
    /// A field of the context.
    Var(String),
    /// Attributes of the instance, each written once.
    Attributes,
}

/// A state that waits for a submission.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) kind: StepKind,
    pub(crate) input: Schema,
    pub(crate) response: Option<super::Projection>,
    pub(crate) timeout: Option<StepTimeout>,
}

/// Who is expected to submit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StepKind {
    Wait,
    Webhook,
}

impl StepKind {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Wait => "wait",
            Self::Webhook => "webhook",
        }
    }
}

/// The timeout of a step, and the state after it.
#[derive(Debug)]
pub(crate) struct StepTimeout {
    pub(crate) seconds: i64,
    pub(crate) next: StateRef,
}

/// Waits for a time.
#[derive(Debug)]
pub(crate) enum Timer {
    Duration(TimeSource<time::Span>),
    Until(TimeSource<Timestamp>),
}

/// A time, literal or computed when needed.
#[derive(Debug)]
pub(crate) enum TimeSource<T> {
    Literal(T),
    Mapper(Expression),
    Template(Template),
}

/// Branches that run in parallel until the join is satisfied.
#[derive(Debug)]
pub(crate) struct Parallel {
    pub(crate) branches: Vec<Branch>,
    pub(crate) join: Join,
}

/// One branch.
#[derive(Debug)]
pub(crate) struct Branch {
    pub(crate) name: String,
    pub(crate) scope: Scope,
}

/// When a parallel continues, and with which result.
#[derive(Debug)]
pub(crate) struct Join {
    pub(crate) strategy: JoinStrategy,
    pub(crate) error_policy: JoinErrorPolicy,
    pub(crate) result: Option<(Expression, String)>,
}

/// How many branches must end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JoinStrategy {
    AllOf,
    /// `anyOf` and `firstCompleted`, which are the same (JP3).
    First,
}

/// What happens when a branch fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JoinErrorPolicy {
    CollectAll,
    FailFast,
    IgnoreErrors,
}

/// Runs a subjourney and returns.
#[derive(Debug)]
pub(crate) struct SubjourneyCall {
    pub(crate) subjourney: StateRef,
    pub(crate) input: Option<Expression>,
    pub(crate) result_var: Option<String>,
    pub(crate) result_kind: ResultKind,
    pub(crate) on_failure: FailureHandling,
}

/// What a call writes to its variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResultKind {
    Output,
    Outcome,
}

/// What happens when a called subjourney fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FailureHandling {
    Propagate,
    CaptureAsResult,
}

/// Ends its scope with success.
#[derive(Debug)]
pub(crate) struct Succeed {
    pub(crate) output_var: Option<String>,
}

/// Ends its scope with an error.
#[derive(Debug)]
pub(crate) struct Fail {
    pub(crate) code: Template,
    pub(crate) reason: Template,
}
