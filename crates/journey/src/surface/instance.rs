//! What the engine knows of an instance, and what a definition says about its surface.

use meantime_core::{Definition, Json, Outcome, Position, State, Timestamp};

use crate::code::Code;
use crate::definition::{self, Journey};
use crate::machine::{RunView, SavedRun, context_at};

/// An instance as the engine keeps it.
#[derive(Debug, Clone, Copy)]
pub struct Instance<'a> {
    /// Its id, as people see it.
    pub id: &'a str,
    /// What its notation remembers; nothing once it is over.
    pub state: &'a State,
    /// Its outcome, if it is over.
    pub outcome: Option<&'a Outcome>,
    /// What it left behind when it ended.
    pub summary: Option<&'a Json>,
    /// Its deadline, if it has one.
    pub deadline_at: Option<Timestamp>,
}

/// What a definition is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A durable journey.
    Journey,
    /// An endpoint that answers one request.
    Api,
}

/// What a start answers with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartMode {
    /// The outcome of the run.
    Sync,
    /// That it was accepted.
    Async,
}

/// What a definition is; nothing when it is not of this notation.
pub fn kind(definition: &Definition) -> Option<Kind> {
    Some(match journey(definition)?.kind {
        definition::Kind::Journey => Kind::Journey,
        definition::Kind::Api => Kind::Api,
    })
}

/// How a start is answered.
pub fn start_mode(definition: &Definition) -> StartMode {
    match journey(definition).map(|it| it.start_mode) {
        Some(definition::StartMode::Async) => StartMode::Async,
        _ => StartMode::Sync,
    }
}

/// Whether callers may cancel (`cancellable: false` gives 409).
pub fn is_cancellable(definition: &Definition) -> bool {
    journey(definition).is_none_or(|it| it.cancellable)
}

/// Whether the definition itself says that anybody may call it (`access.public`).
pub fn declares_public(definition: &Definition) -> Option<bool> {
    journey(definition)?.public
}

/// Whether a guard decides who may read (`access.read.guardRef`).
pub fn is_guarded(definition: &Definition) -> bool {
    journey(definition).is_some_and(|it| it.guard.is_some())
}

/// Whether tasks read the inbound request: check a credential, pass headers through.
pub fn reads_inbound_request(definition: &Definition) -> bool {
    journey(definition).is_some_and(|it| it.reads_inbound_request)
}

/// The path of an API below the base, beginning with `/`.
pub fn route(definition: &Definition) -> Option<String> {
    let journey = journey(definition).filter(|it| !it.is_durable())?;
    let declared = journey.http.route.as_ref().map(|route| route.path.clone());
    Some(declared.unwrap_or_else(|| format!("/apis/{}", journey.name)))
}

/// Where the route of an API is written; where its kind is, when it has none of its own.
pub fn route_position(definition: &Definition) -> Position {
    let whole = Position { line: 1, column: 1 };
    journey(definition)
        .map_or(whole, |it| it.http.route.as_ref().map_or(it.kind_span, |route| route.span).start)
}

/// The code of a route that cannot be served.
pub const ROUTE_CODE: &str = Code::ApiBindings.code();

pub(super) fn journey(definition: &Definition) -> Option<&Journey> {
    definition.body()
}

/// A live run, or what an ended one left behind.
pub(super) enum RunSnapshot {
    Live(Box<RunView>),
    Ended(EndedRun),
}

/// What an ended run left behind.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct EndedRun {
    pub(super) current_state: String,
    pub(super) updated_at: String,
    pub(super) tags: Vec<String>,
    pub(super) attributes: std::collections::BTreeMap<String, String>,
    pub(super) outcome_id: Option<String>,
    pub(super) compensation_of: Option<String>,
    /// The error in the journey's own envelope, as text.
    pub(super) error: Option<String>,
}

impl Instance<'_> {
    /// Whether it is over.
    pub const fn is_ended(&self) -> bool {
        self.outcome.is_some()
    }

    pub(super) fn snapshot(&self) -> RunSnapshot {
        if !self.is_ended()
            && let Ok(saved) = SavedRun::read(self.state)
        {
            return RunSnapshot::Live(Box::new(RunView::new(&saved)));
        }
        let summary = self.summary.and_then(|summary| summary.read().ok());
        RunSnapshot::Ended(summary.unwrap_or_default())
    }

    /// The final or the current context.
    pub(super) fn context(&self) -> Json {
        match (self.outcome, self.snapshot()) {
            (
                Some(
                    Outcome::Completed { context, .. }
                    | Outcome::Failed { context, .. }
                    | Outcome::Cancelled { context, .. },
                ),
                _,
            ) => context.clone(),
            (None, RunSnapshot::Live(look)) => look.context,
            (None, RunSnapshot::Ended(_)) => Json::null(),
        }
    }

    /// The context that a step belongs to: that of its subjourney while it runs, else the run's.
    pub(super) fn context_at(&self, definition: &Definition, step: &str) -> Json {
        let own = || context_at(journey(definition)?, &SavedRun::read(self.state).ok()?, step);
        if self.is_ended() { self.context() } else { own().unwrap_or_else(|| self.context()) }
    }
}
