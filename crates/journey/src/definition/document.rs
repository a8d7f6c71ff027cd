//! The document itself and its top-level blocks.

use std::collections::{BTreeMap, BTreeSet};

use meantime_core::Json;

use super::{ClientAuth, Expression, HttpBindings, MetadataBindings, Schema, State, StateRef};
use crate::yaml::Span;

/// The kind of a definition: a durable journey, or an endpoint that answers one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Journey,
    Api,
}

impl Kind {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Journey => "Journey",
            Self::Api => "Api",
        }
    }
}

/// One definition.
#[derive(Debug)]
pub(crate) struct Journey {
    pub(crate) kind: Kind,
    pub(crate) kind_span: Span,
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) tags: Vec<String>,
    pub(crate) main: Scope,
    pub(crate) subjourneys: BTreeMap<String, Subjourney>,
    pub(crate) compensation: Option<Compensation>,
    pub(crate) input: Option<Schema>,
    pub(crate) output: Option<Schema>,
    pub(crate) context: Option<Schema>,
    pub(crate) response: Option<Projection>,
    pub(crate) config: BTreeMap<String, ConfigKey>,
    pub(crate) timeout: Option<Timeout>,
    pub(crate) links: bool,
    pub(crate) cancellable: bool,
    pub(crate) start_mode: StartMode,
    pub(crate) metadata: MetadataBindings,
    pub(crate) envelope: Option<Expression>,
    pub(crate) outcomes: Vec<OutcomeRule>,
    pub(crate) guard: Option<StateRef>,
    /// `access.public`: whether everybody may call it; none leaves the decision to the deployment.
    pub(crate) public: Option<bool>,
    pub(crate) http: HttpBindings,
    pub(crate) auth: BTreeMap<String, ClientAuth>,
    /// Whether a task reads the inbound request: checks a credential, passes headers through.
    pub(crate) reads_inbound_request: bool,
}

/// States that can name each other as targets; no transition leaves a scope.
#[derive(Debug)]
pub(crate) struct Scope {
    pub(crate) start: StateRef,
    pub(crate) states: BTreeMap<String, State>,
    /// Ids of states that could not be read; empty in a definition that deploys.
    pub(crate) broken: BTreeSet<String>,
}

/// Reachable only through a call.
#[derive(Debug)]
pub(crate) struct Subjourney {
    pub(crate) scope: Scope,
    pub(crate) input: Option<Schema>,
    pub(crate) output: Option<Schema>,
}

/// What runs after the journey has failed or was cancelled, or as `also_for` says.
#[derive(Debug)]
pub(crate) struct Compensation {
    pub(crate) mode: CompensationMode,
    pub(crate) scope: Scope,
    /// Predicates over a success; none means always.
    pub(crate) also_for: Vec<Option<Expression>>,
}

/// Whether the outcome waits for the compensation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CompensationMode {
    Async,
    Sync,
}

/// Field names that the outcome of a journey reserves.
pub(crate) const RESERVED_OUTCOME_FIELDS: [&str; 9] = [
    "journeyId",
    "journeyName",
    "phase",
    "status",
    "output",
    "error",
    "tags",
    "attributes",
    "_links",
];

/// Field names that the answer to a submission reserves.
pub(crate) const RESERVED_STATUS_FIELDS: [&str; 9] = [
    "journeyId",
    "journeyName",
    "phase",
    "currentState",
    "updatedAt",
    "tags",
    "attributes",
    "_links",
    "dueAt",
];

/// Properties of an object in the context that an answer contains at its top level.
#[derive(Debug)]
pub(crate) struct Projection {
    pub(crate) output_var: String,
}

/// A declared configuration value.
#[derive(Debug)]
pub(crate) struct ConfigKey {
    pub(crate) kind: ConfigType,
    pub(crate) required: bool,
}

/// The type of a configuration value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConfigType {
    String,
    Integer,
    Number,
    Boolean,
    Object,
}

impl ConfigType {
    /// The name in messages.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::String => "a string",
            Self::Integer => "an integer",
            Self::Number => "a number",
            Self::Boolean => "a boolean",
            Self::Object => "an object",
        }
    }

    /// Whether a value is of the type.
    pub(crate) fn accepts(self, value: &Json) -> bool {
        // A document tells its kind by its first character.
        let text = value.as_str();
        match self {
            Self::String => text.starts_with('"'),
            Self::Integer => text.parse::<i64>().is_ok() || text.parse::<u64>().is_ok(),
            Self::Number => text.starts_with(|first: char| first == '-' || first.is_ascii_digit()),
            Self::Boolean => matches!(text, "true" | "false"),
            Self::Object => text.starts_with('{'),
        }
    }
}

/// The outcome of a run that reaches its deadline.
#[derive(Debug, Clone)]
pub(crate) struct Timeout {
    pub(crate) max_duration_sec: i64,
    pub(crate) code: String,
    pub(crate) reason: String,
}

/// What the answer to a start contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StartMode {
    /// The outcome of the run.
    Sync,
    /// Only that it was accepted.
    Async,
}

/// A name for some of the outcomes.
#[derive(Debug)]
pub(crate) struct OutcomeRule {
    pub(crate) id: String,
    pub(crate) phase: Phase,
    pub(crate) predicate: Option<Expression>,
}

/// The phase of a run as its own API shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    Running,
    Succeeded,
    Failed,
}

impl Phase {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Running => "RUNNING",
            Self::Succeeded => "SUCCEEDED",
            Self::Failed => "FAILED",
        }
    }
}

impl Journey {
    /// Whether the definition is a durable journey.
    pub(crate) fn is_durable(&self) -> bool {
        self.kind == Kind::Journey
    }
}
