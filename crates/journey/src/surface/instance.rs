//! What the engine stores about an instance, and what a definition declares for its own API.

use meantime_core::{Definition, Json, Outcome, Position, State, Timestamp};

use crate::code::Code;
use crate::definition::{self, Journey};
use crate::machine::{RunView, SavedRun, context_at};

/// An instance as the engine stores it.
#[derive(Debug, Clone, Copy)]
pub struct Instance<'a> {
    /// Its public id.
    pub id: &'a str,
    /// The state of its notation; empty after its end.
    pub state: &'a State,
    /// Its outcome, if it has ended.
    pub outcome: Option<&'a Outcome>,
    /// The summary written at its end.
    pub summary: Option<&'a Json>,
    /// Its deadline, if it has one.
    pub deadline_at: Option<Timestamp>,
}

/// The kinds of definitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A durable journey.
    Journey,
    /// An endpoint that answers one request.
    Api,
}

/// What the answer to a start contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartMode {
    /// The outcome of the run.
    Sync,
    /// Only that it was accepted.
    Async,
}

/// The kind of a definition; none for another notation.
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

/// Whether callers may cancel (`cancellable: false` answers 409).
pub fn is_cancellable(definition: &Definition) -> bool {
    journey(definition).is_none_or(|it| it.cancellable)
}

/// Whether the definition declares that everybody may call it (`access.public`).
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

/// The position of an API's route, or of its kind if it has no route.
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

/// A running instance, or the summary of an ended one.
pub(super) enum RunSnapshot {
    Live(Box<RunView>),
    Ended(EndedRun),
}

/// The summary of an ended run.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct EndedRun {
    pub(super) current_state: String,
    pub(super) updated_at: String,
    pub(super) tags: Vec<String>,
    pub(super) attributes: std::collections::BTreeMap<String, String>,
    pub(super) outcome_id: Option<String>,
    pub(super) compensation_of: Option<String>,
    /// The error in the journey's envelope, as text.
    pub(super) error: Option<String>,
}

impl Instance<'_> {
    /// Whether it has ended.
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

    /// The context that a step sees: that of its subjourney while it runs, otherwise the run's.
    pub(super) fn context_at(&self, definition: &Definition, step: &str) -> Json {
        let own = || context_at(journey(definition)?, &SavedRun::read(self.state).ok()?, step);
        if self.is_ended() { self.context() } else { own().unwrap_or_else(|| self.context()) }
    }
}
