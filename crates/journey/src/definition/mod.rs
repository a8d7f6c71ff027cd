//! A journey as it runs: checked, with its expressions and schemas compiled.
//!
//! Nothing here changes after deploy. Positions of a running instance are the ids of states in
//! their scopes, so a later release may shape these types differently.

mod bindings;
mod document;
mod expression;
mod policy;
mod schema;
mod state;
mod task;
mod template;

pub(crate) use bindings::{
    ApiResponse, ApiResponses, Bound, HttpBindings, MetadataBindings, Passthrough, RequestBindings,
    Route, Status,
};
pub(crate) use document::{
    Compensation, CompensationMode, ConfigKey, ConfigType, Journey, Kind, OUTCOME_NAMES,
    OutcomeRule, Phase, Projection, STATUS_NAMES, Scope, StartMode, Subjourney, Timeout,
};
pub(crate) use expression::{Binding, Expression, Moment};
pub(crate) use policy::{ClientAuth, Resilience, RetryOn};
pub(crate) use schema::{Mismatch, Schema};
pub(crate) use state::{
    Behaviour, Body, Branch, Call, Choice, Destination, ErrorPolicy, Fail, Join, Parallel,
    ResultKind, State, Step, StepKind, StepTimeout, Strategy, Succeed, Target, Timed, Timer,
    Transform, Way,
};
pub(crate) use task::{
    AuthCheck, AuthKind, AuthSource, BodyPart, Cache, HttpBody, HttpCall, MaxRuns, Schedule, Task,
    WorkerTask,
};
pub(crate) use template::Template;
