//! The notation: compile, start, advance, inspect.

use std::sync::Arc;

use meantime_core::time::Span;
use meantime_core::{
    Compiled, Cx, DEADLINE_EXCEEDED, Definition, Diagnostic, Event, Execution, Fault, Graph,
    Limits, Notation, ScopeView, Source, Start, State, Timestamp, Turn, View,
};

use crate::machine::{Machine, inspect, scopes};
use crate::model::Process;
use crate::problem::Problems;
use crate::read::{ReadProcess, read};

/// The name of this notation.
pub const NOTATION: &str = "bpmn";

/// BPMN 2.0.
#[derive(Debug, Default)]
pub struct Bpmn;

impl Notation for Bpmn {
    fn compile(&self, source: &Source, limits: &Limits) -> Compiled {
        let mut problems = Problems::default();
        let read = read(&source.text, limits, &mut problems);
        let mut definitions = Vec::new();
        for process in read {
            definitions.extend(define(process, limits, &mut problems));
        }
        Compiled { definitions, diagnostics: problems.into_list() }
    }

    fn lint(&self, definition: &Definition, now: Timestamp) -> Vec<Diagnostic> {
        body(definition).map(|process| crate::check::lint(process, now)).unwrap_or_default()
    }

    fn start(&self, definition: &Definition, start: &Start, cx: &Cx<'_>) -> Result<Turn, Fault> {
        Machine::new(body(definition)?, definition.execution.as_ref(), cx).start(start)
    }

    fn advance(
        &self,
        definition: &Definition,
        state: &State,
        events: &[Event],
        cx: &Cx<'_>,
    ) -> Result<Turn, Fault> {
        let process = body(definition)?;
        Machine::resume(process, definition.execution.as_ref(), state, cx)?.advance(events)
    }

    fn inspect(&self, definition: &Definition, state: &State) -> View {
        body(definition).map(|process| inspect(process, state)).unwrap_or_default()
    }

    fn scopes(&self, definition: &Definition, state: &State) -> Vec<ScopeView> {
        body(definition).map(|process| scopes(process, state)).unwrap_or_default()
    }

    fn graph(&self, definition: &Definition) -> Graph {
        body(definition).map(crate::graph::graph).unwrap_or_default()
    }
}

fn body(definition: &Definition) -> Result<&Process, Fault> {
    definition.body().ok_or_else(|| Fault::new("not_bpmn", "the body is of another notation"))
}

/// The definition of a process that was read; none if its triggers are not constant.
fn define(read: ReadProcess, limits: &Limits, problems: &mut Problems) -> Option<Definition> {
    let ReadProcess { process, label, deadline, zone } = read;
    let errors = problems.errors();
    let triggers = crate::machine::triggers(&process, limits, problems);
    let execution = deadline.and_then(|text| Span::parse_delay(&text).ok()).map(|max_duration| {
        let (code, reason) = (DEADLINE_EXCEEDED.to_owned(), "the deadline has passed".to_owned());
        Execution { max_duration, zone, code, reason }
    });
    (problems.errors() == errors).then(|| Definition {
        name: process.id.to_string(),
        label,
        triggers,
        execution,
        system: false,
        body: Arc::new(process),
    })
}
