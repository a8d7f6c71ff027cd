//! The probe as a notation.

use std::collections::BTreeMap;

use meantime_core::{
    Compiled, Cx, Definition, Diagnostic, Event, Fault, Json, Limits, Notation, Source, Start,
    StartCause, State, Timestamp, Turn, Verdict, View, Waiting, WaitingKind,
};

use super::interpreter::Interpreter;
use super::program::{Program, compile};
use super::saved::{HandleKind, Saved};

/// The format of a probe's saved state.
const FORMAT: u16 = 1;

/// The probe notation.
#[derive(Debug, Default)]
pub struct Probe;

impl Notation for Probe {
    fn compile(&self, source: &Source, _limits: &Limits) -> Compiled {
        compile(source)
    }

    fn lint(&self, _definition: &Definition, _now: Timestamp) -> Vec<Diagnostic> {
        Vec::new()
    }

    fn start(&self, definition: &Definition, start: &Start, cx: &Cx<'_>) -> Result<Turn, Fault> {
        if start.input.as_str() == "\"refuse\"" {
            let (code, problem) = ("bad_input".to_owned(), Json::null());
            let verdicts = vec![Verdict::Refused { code, problem }];
            let status = meantime_core::Status::Running;
            let (state, effects) = (State::default(), Vec::new());
            return Ok(Turn { state, effects, status, verdicts, ops: 1 });
        }
        let mut saved = Saved::default();
        saved.variables.insert("input".to_owned(), start.input.as_str().to_owned());
        saved.scheduled = matches!(start.cause, StartCause::Schedule { .. });
        let context: BTreeMap<String, Json> =
            start.context.as_ref().and_then(|it| it.read().ok()).unwrap_or_default();
        for (name, value) in context {
            saved.variables.insert(name, value.as_str().to_owned());
        }
        let mut interpreter = Interpreter::new(program(definition)?, saved, cx);
        interpreter.run()?;
        finish(interpreter, vec![Verdict::taken()])
    }

    fn advance(
        &self,
        definition: &Definition,
        state: &State,
        events: &[Event],
        cx: &Cx<'_>,
    ) -> Result<Turn, Fault> {
        let saved = minicbor::decode(&state.bytes)
            .map_err(|error| Fault::new("bad_state", error.to_string()))?;
        let mut interpreter = Interpreter::new(program(definition)?, saved, cx);
        let mut verdicts = Vec::with_capacity(events.len());
        for event in events {
            verdicts.push(interpreter.take(event)?);
            interpreter.run()?;
        }
        finish(interpreter, verdicts)
    }

    fn inspect(&self, _definition: &Definition, state: &State) -> View {
        let Ok(saved) = minicbor::decode::<Saved>(&state.bytes) else { return View::default() };
        let entries: Vec<String> =
            saved.variables.iter().map(|(name, value)| format!("{name:?}:{value}")).collect();
        let text = format!("{{{}}}", entries.join(","));
        let waits = |handle: &super::saved::Handle| {
            handle.result.is_none() && handle.kind != HandleKind::Incident
        };
        let waiting = saved.handles.iter().filter(|(_, handle)| waits(handle));
        let waiting = waiting.map(|(name, handle)| Waiting {
            kind: match handle.kind {
                HandleKind::Task => WaitingKind::Task,
                HandleKind::Timer => WaitingKind::Timer,
                HandleKind::Subscription => WaitingKind::Signal,
                HandleKind::Child => WaitingKind::Child,
                HandleKind::Step | HandleKind::Incident => WaitingKind::Step,
            },
            key: handle.key,
            name: name.clone(),
            element: name.clone(),
            since: Timestamp::default(),
        });
        View { variables: Json::parse(&text).unwrap_or_default(), waiting: waiting.collect() }
    }
}

fn program(definition: &Definition) -> Result<&Program, Fault> {
    definition.body().ok_or_else(|| Fault::new("not_a_probe", "the body is of another notation"))
}

fn finish(interpreter: Interpreter<'_>, verdicts: Vec<Verdict>) -> Result<Turn, Fault> {
    let (saved, effects, status, ops) = interpreter.finish();
    let bytes =
        minicbor::to_vec(&saved).map_err(|error| Fault::new("bad_state", error.to_string()))?;
    Ok(Turn { state: State::new(FORMAT, bytes), effects, status, verdicts, ops })
}
