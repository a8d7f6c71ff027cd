//! A journey as it runs: checked, with its expressions and schemas compiled.
//!
//! Nothing here changes after deployment. A saved state refers to states by their ids and scopes,
//! so a later release may change these types.

mod bindings;
mod document;
mod expression;
mod policy;
mod schema;
mod state;
mod task;
mod template;

pub(crate) use bindings::{
    ApiResponse, ApiResponses, HttpBindings, MetadataBindings, Passthrough, RequestBindings, Route,
    Status, ValueSources,
};
pub(crate) use document::{
    Compensation, CompensationMode, ConfigKey, ConfigType, Journey, Kind, OutcomeRule, Phase,
    Projection, RESERVED_OUTCOME_FIELDS, RESERVED_STATUS_FIELDS, Scope, StartMode, Subjourney,
    Timeout,
};
pub(crate) use expression::{Binding, EvaluationInputs, Expression, MAX_EVALUATION_OPS};
pub(crate) use policy::{ClientAuth, ResiliencePolicy, RetryOn};
pub(crate) use schema::{Mismatch, Schema};
pub(crate) use state::{
    Branch, Choice, ChoiceOption, Destination, Fail, FailureHandling, Join, JoinErrorPolicy,
    JoinStrategy, Parallel, ResultKind, State, StateBody, StateRef, Step, StepKind, StepTimeout,
    SubjourneyCall, Succeed, TimeSource, Timer, Transform,
};
pub(crate) use task::{
    AuthCheck, AuthKind, AuthSource, BodyPart, Cache, HttpBody, HttpCall, MaxRuns, Schedule, Task,
    WorkerTask,
};
pub(crate) use template::Template;
