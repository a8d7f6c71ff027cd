//! Flow scripts as a notation.

use std::sync::Arc;

use meantime_core::{
    Compiled, Cx, Definition, Diagnostic, EffectKey, Event, Fault, InstanceId, Json, Limits,
    Notation, Source, Start, State, Timestamp, Turn, View, Waiting, WaitingKind,
};
use meantime_script::{
    EffectKind, EffectRequest, EffectStartError, Host, Machine, PendingAwaitable, StartedEffect,
    reads_format,
};

use crate::definition::{CompiledWorkflow, compile};
use crate::host::position_text;
use crate::lint::lint;
use crate::turn::{advance, start};

/// The name under which kernels know this notation.
pub const NOTATION: &str = "flow";

/// The notation of flow scripts.
#[derive(Debug, Default)]
pub struct Flow;

impl Flow {
    /// The notation, ready to be registered under [`NOTATION`].
    pub fn shared() -> Arc<dyn Notation> {
        Arc::new(Self)
    }
}

impl Notation for Flow {
    fn compile(&self, source: &Source, limits: &Limits) -> Compiled {
        compile(source, limits)
    }

    fn lint(&self, definition: &Definition, now: Timestamp) -> Vec<Diagnostic> {
        definition
            .body()
            .map_or_else(Vec::new, |body: &CompiledWorkflow| lint(definition, body, now))
    }

    fn start(&self, definition: &Definition, begin: &Start, cx: &Cx<'_>) -> Result<Turn, Fault> {
        start(body(definition)?, begin, cx)
    }

    fn advance(
        &self,
        definition: &Definition,
        state: &State,
        events: &[Event],
        cx: &Cx<'_>,
    ) -> Result<Turn, Fault> {
        advance(definition, body(definition)?, state, events, cx)
    }

    fn inspect(&self, definition: &Definition, state: &State) -> View {
        let view = inspect_saved(definition, state, |body, machine| {
            let waiting = machine.pending().into_iter().map(|it| waiting(body, it)).collect();
            View { variables: machine.variables(), waiting }
        });
        view.unwrap_or_default()
    }

    fn element(&self, definition: &Definition, state: &State) -> Option<String> {
        inspect_saved(definition, state, |_, machine| position_text(machine.current_position()))
    }
}

/// Loads a saved script for inspection.
fn inspect_saved<T>(
    definition: &Definition,
    state: &State,
    at: impl FnOnce(&CompiledWorkflow, &Machine<'_>) -> T,
) -> Option<T> {
    let body = body(definition).ok().filter(|_| reads_format(state.format))?;
    let (mut host, limits) = (ReadOnlyHost, Limits::default());
    let machine = Machine::load(&body.program, &state.bytes, &mut host, &limits).ok()?;
    Some(at(body, &machine))
}

fn body(definition: &Definition) -> Result<&CompiledWorkflow, Fault> {
    definition.body().ok_or_else(|| Fault::new("not_a_flow", "the body is of another notation"))
}

fn waiting(body: &CompiledWorkflow, pending: PendingAwaitable) -> Waiting {
    Waiting {
        kind: match pending.what {
            EffectKind::Task | EffectKind::Http => WaitingKind::Task,
            EffectKind::Timer => WaitingKind::Timer,
            EffectKind::Signal => WaitingKind::Signal,
            EffectKind::Child => WaitingKind::Child,
        },
        key: Some(pending.key),
        name: pending.name,
        element: position_text(body.program.position(pending.at)),
        since: pending.since,
    }
}

/// A host for inspecting a saved script: it starts nothing.
struct ReadOnlyHost;

impl Host for ReadOnlyHost {
    fn now(&self) -> Timestamp {
        Timestamp::default()
    }

    fn instance(&self) -> InstanceId {
        // The saved state knows its instance.
        InstanceId::new(0, 0)
    }

    fn key(&self) -> Option<&str> {
        None
    }

    fn random(&mut self) -> u64 {
        0
    }

    fn has_room(&self, _effects: usize) -> bool {
        false
    }

    fn start(&mut self, _request: &EffectRequest) -> Result<StartedEffect, EffectStartError> {
        Err(EffectStartError::type_error("nothing is started by looking"))
    }

    fn cancel(&mut self, _what: EffectKind, _key: EffectKey) {}

    fn log(&mut self, _level: &'static str, _message: Json, _data: Option<Json>) {}
}
