//! The codes of all problems of a journey.
//!
//! `J001` to `J061` are the rules of the language by number. From `J071` on: accepted spellings
//! that are not canonical. From `J091` on: warnings about the times in a definition.

/// One kind of problem; each has a stable code and a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Code {
    /// The header: `apiVersion`, `kind`, `metadata`.
    Header,
    /// A target or start that is not a state of its scope.
    Target,
    /// An unknown type, an unknown key, or a value of the wrong kind.
    Shape,
    /// The text is not YAML as journeys use it.
    Yaml,
    /// An expression without a known language, or that does not parse.
    Expression,
    /// A schema that does not compile.
    Schema,
    /// A wrong path: no `next`, not reachable, or without an end.
    Flow,
    /// A choice.
    Choice,
    /// A transform.
    Transform,
    /// A fail state.
    Fail,
    /// A timer outside a journey.
    TimerKind,
    /// Not exactly one of `duration` and `until`.
    TimerXor,
    /// A literal duration.
    TimerDuration,
    /// A literal instant.
    TimerUntil,
    /// A timer that is neither a text nor a mapper.
    TimerMapper,
    /// A timer without `next`.
    TimerNext,
    /// A timer with keys of a step.
    TimerKeys,
    /// At run time: the mapper of a timer returned neither a duration nor an instant.
    TimerResult,
    /// A synchronous start that reaches a timer first.
    SyncTimer,
    /// A schedule outside a journey.
    ScheduleKind,
    /// The state at which scheduled runs start.
    ScheduleStart,
    /// The interval of a schedule.
    ScheduleInterval,
    /// The number of runs of a schedule.
    ScheduleMaxRuns,
    /// The first instant of a schedule.
    ScheduleStartAt,
    /// Subject or context of a schedule that is not a mapper.
    ScheduleMappers,
    /// What to do if a schedule exists already.
    ScheduleOnExisting,
    /// A scheduled path that reaches a step.
    SchedulePath,
    /// At run time: a mapper of a schedule returned the wrong kind of value.
    ScheduleResult,
    /// At run time: a scheduled run reached a step.
    ScheduledStep,
    /// The execution deadline.
    Execution,
    /// The lifecycle.
    Lifecycle,
    /// A document of limits.
    Limits,
    /// A step outside a journey.
    StepKind,
    /// The channel of a wait.
    Channel,
    /// A step without an input schema.
    StepInput,
    /// Timeout and `onTimeout` of a step.
    StepTimeout,
    /// A step without `next`.
    StepNext,
    /// The response of a step.
    StepResponse,
    /// The id of a step.
    StepId,
    /// The branches of a parallel.
    Branches,
    /// The join of a parallel.
    Join,
    /// A call of a subjourney.
    Subjourney,
    /// The compensation.
    Compensation,
    /// An unknown kind of task.
    TaskKind,
    /// An HTTP call.
    Http,
    /// Cookies on a task.
    TaskCookies,
    /// A Kafka task.
    Kafka,
    /// A cache task.
    Cache,
    /// An XML task.
    XmlDecode,
    /// A policy, or a reference to one.
    Policy,
    /// A state that an API cannot have.
    ApiStates,
    /// Route and responses of an API.
    ApiBindings,
    /// A response rule.
    ApiResponses,
    /// Bindings of starts and steps.
    StepBindings,
    /// A transport that this kind does not have.
    Transports,
    /// The error format.
    Errors,
    /// An outcome.
    Outcomes,
    /// The projected output.
    OutputResponse,
    /// The cookie jar.
    Cookies,
    /// The read guard.
    Access,
    /// Platform configuration.
    Config,
    /// The source is too large or too deep.
    TooLarge,
    /// A feature that this engine does not support.
    Unsupported,
    /// `default` inside a step, instead of `next`.
    StepDefault,
    /// `default` beside a step or in its response, instead of `next`.
    StateDefault,
    /// Keys of a step beside its block.
    StepBeside,
    /// An empty `target.path`, instead of none.
    EmptyPath,
    /// `resultVar` beside a transform.
    ResultVarBeside,
    /// A parallel without `next`: it ends its scope.
    ParallelNext,
    /// A placeholder in a duration, instead of a mapper.
    TimerTemplate,
    /// `params.body`, instead of `body`.
    ParamsBody,
    /// An attribute's `path` without `fromPayload`.
    AttributePath,
    /// The removed block `resources`.
    Resources,
    /// `kind: Workflow`, instead of `Journey`.
    WorkflowKind,
    /// An older spelling of a retry policy.
    Backoff,
    /// A timer that is due after the deadline.
    TimerAfterDeadline,
    /// Step timeouts that add up to more than the deadline.
    TimeoutsBeyondBudget,
    /// An `onTimeout` that cannot be reached.
    DeadTimeout,
    /// A literal instant in the past.
    PastInstant,
    /// An interval of months from a day that some months do not have.
    MonthEnd,
    /// A loop without any wait.
    BusyLoop,
}

impl Code {
    /// The stable code.
    pub(crate) const fn code(self) -> &'static str {
        match self {
            Self::Header => "J001",
            Self::Target => "J002",
            Self::Shape => "J003",
            Self::Yaml => "J004",
            Self::Expression => "J005",
            Self::Schema => "J006",
            Self::Flow => "J007",
            Self::Choice => "J008",
            Self::Transform => "J009",
            Self::Fail => "J010",
            Self::TimerKind => "J011",
            Self::TimerXor => "J012",
            Self::TimerDuration => "J013",
            Self::TimerUntil => "J014",
            Self::TimerMapper => "J015",
            Self::TimerNext => "J016",
            Self::TimerKeys => "J017",
            Self::TimerResult => "J018",
            Self::SyncTimer => "J019",
            Self::ScheduleKind => "J020",
            Self::ScheduleStart => "J021",
            Self::ScheduleInterval => "J022",
            Self::ScheduleMaxRuns => "J023",
            Self::ScheduleStartAt => "J024",
            Self::ScheduleMappers => "J025",
            Self::ScheduleOnExisting => "J026",
            Self::SchedulePath => "J027",
            Self::ScheduleResult => "J028",
            Self::ScheduledStep => "J029",
            Self::Execution => "J030",
            Self::Lifecycle => "J031",
            Self::Limits => "J032",
            Self::StepKind => "J033",
            Self::Channel => "J034",
            Self::StepInput => "J035",
            Self::StepTimeout => "J036",
            Self::StepNext => "J037",
            Self::StepResponse => "J038",
            Self::StepId => "J039",
            Self::Branches => "J040",
            Self::Join => "J041",
            Self::Subjourney => "J042",
            Self::Compensation => "J043",
            Self::TaskKind => "J044",
            Self::Http => "J045",
            Self::TaskCookies => "J046",
            Self::Kafka => "J047",
            Self::Cache => "J048",
            Self::XmlDecode => "J049",
            Self::Policy => "J050",
            Self::ApiStates => "J051",
            Self::ApiBindings => "J052",
            Self::ApiResponses => "J053",
            Self::StepBindings => "J054",
            Self::Transports => "J055",
            Self::Errors => "J056",
            Self::Outcomes => "J057",
            Self::OutputResponse => "J058",
            Self::Cookies => "J059",
            Self::Access => "J060",
            Self::Config => "J061",
            Self::TooLarge => "J062",
            Self::Unsupported => "J063",
            Self::StepDefault => "J071",
            Self::StateDefault => "J072",
            Self::StepBeside => "J073",
            Self::EmptyPath => "J074",
            Self::ResultVarBeside => "J075",
            Self::ParallelNext => "J076",
            Self::TimerTemplate => "J078",
            Self::ParamsBody => "J079",
            Self::AttributePath => "J080",
            Self::Resources => "J081",
            Self::WorkflowKind => "J082",
            Self::Backoff => "J083",
            Self::TimerAfterDeadline => "J091",
            Self::TimeoutsBeyondBudget => "J092",
            Self::DeadTimeout => "J093",
            Self::PastInstant => "J094",
            Self::MonthEnd => "J095",
            Self::BusyLoop => "J096",
        }
    }
}
