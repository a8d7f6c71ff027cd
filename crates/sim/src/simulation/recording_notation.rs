//! Wraps a notation and records every turn that it computes.

use std::sync::{Arc, Mutex, PoisonError};

use meantime_core::{
    Compiled, Cx, Definition, Diagnostic, Event, Fault, Limits, Notation, Source, Start, State,
    Timestamp, Turn, View,
};
use meantime_kernel::store::Phase;

use crate::checker::{ObservedTurn, TurnCause};

/// Turns that one process has computed and not yet committed.
#[derive(Debug, Clone, Default)]
pub(super) struct ComputedTurns(Arc<Mutex<Vec<ObservedTurn>>>);

impl ComputedTurns {
    /// Removes and returns the recorded turns.
    pub(super) fn take(&self) -> Vec<ObservedTurn> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn add(&self, turn: ObservedTurn) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(turn);
    }
}

/// A notation that records its turns.
pub(super) struct RecordingNotation {
    pub(super) inner: Arc<dyn Notation>,
    pub(super) computed: ComputedTurns,
}

impl RecordingNotation {
    fn record_turn(&self, cause: TurnCause, before: State, cx: &Cx<'_>, turn: &Turn) {
        self.computed.add(ObservedTurn {
            instance: cx.instance,
            version: cx.version,
            turn_no: cx.turn_no,
            now: cx.now,
            started_at: cx.started_at,
            deadline: cx.deadline,
            key: cx.key.map(str::to_owned),
            catches: cx.catches.to_vec(),
            cause,
            // Set when the turn is committed.
            committed_at: cx.now,
            phase: Phase::Starting,
            before,
            after: turn.state.clone(),
            effects: turn.effects.clone(),
            status: turn.status.clone(),
            verdicts: turn.verdicts.clone(),
        });
    }
}

impl Notation for RecordingNotation {
    fn compile(&self, source: &Source, limits: &Limits) -> Compiled {
        self.inner.compile(source, limits)
    }

    fn lint(&self, definition: &Definition, now: Timestamp) -> Vec<Diagnostic> {
        self.inner.lint(definition, now)
    }

    fn start(&self, definition: &Definition, start: &Start, cx: &Cx<'_>) -> Result<Turn, Fault> {
        let turn = self.inner.start(definition, start, cx)?;
        self.record_turn(TurnCause::Start(Box::new(start.clone())), State::default(), cx, &turn);
        Ok(turn)
    }

    fn advance(
        &self,
        definition: &Definition,
        state: &State,
        events: &[Event],
        cx: &Cx<'_>,
    ) -> Result<Turn, Fault> {
        let turn = self.inner.advance(definition, state, events, cx)?;
        self.record_turn(TurnCause::Events(events.to_vec()), state.clone(), cx, &turn);
        Ok(turn)
    }

    fn inspect(&self, definition: &Definition, state: &State) -> View {
        self.inner.inspect(definition, state)
    }
}
