//! `subjourney`: runs another scope of the same definition, in the same instance, with its own
//! context.

use meantime_core::{Effect, Failure, Fault, Json, Termination};
use meantime_value::Value;

use crate::definition::{FailureHandling, Mismatch, ResultKind, Schema, StateBody, SubjourneyCall};
use crate::json;
use crate::machine::run::{Run, state_mismatch};
use crate::machine::saved::{FrameData, FrameId, ScopeName, WaitState};
use crate::machine::transition::{ScopeEnd, StateError, Transition};

impl Run<'_> {
    pub(in crate::machine) fn enter_call(
        &mut self,
        id: FrameId,
        call: &SubjourneyCall,
    ) -> Result<Transition, Fault> {
        let name = &call.subjourney.id;
        let Some(subjourney) = self.journey.subjourneys.get(name) else {
            return Err(state_mismatch(&format!("the definition has no subjourney `{name}`")));
        };
        let context = match &call.input {
            Some(mapper) => match self.evaluate(id, mapper, Vec::new())? {
                Ok(value) if json::object(&value).is_some() => value,
                Ok(_) => return Ok(StateError::not_object("the input of a subjourney").into()),
                Err(error) => return Ok(error.into()),
            },
            None => json::object_of([]),
        };
        self.record_mismatches(subjourney.input.as_ref(), &context, "subjourney input")?;
        let data = FrameData::Own(json::document(&context)?);
        let scope = ScopeName::Call(name.clone());
        let child = self.add_frame(Some(id), scope, &subjourney.scope.start.id, data);
        Ok(Transition::Wait(WaitState::Call(child)))
    }

    /// The subjourney has ended: continues the frame that called it.
    pub(in crate::machine) fn call_ended(
        &mut self,
        id: FrameId,
        name: &str,
        child: FrameId,
        end: ScopeEnd,
    ) -> Result<(), Fault> {
        let state = self.state_of(id)?;
        let StateBody::Call(call) = &state.body else {
            return Err(state_mismatch("a subjourney was called by a state that calls none"));
        };
        let request = self.frame(child)?.request.clone();
        self.frame_mut(id)?.request = request;
        self.cancel_frame(child);
        if let ScopeEnd::Succeeded { output } = &end {
            let schema = self.journey.subjourneys.get(name).and_then(|it| it.output.as_ref());
            self.record_mismatches(schema, output, "subjourney output")?;
        }
        if let (ScopeEnd::Failed { .. }, FailureHandling::Propagate) = (&end, call.on_failure) {
            return self.apply_transition(id, Transition::End(end));
        }
        if let Some(var) = &call.result_var {
            let value = match call.result_kind {
                ResultKind::Outcome => scope_outcome(&end),
                ResultKind::Output => match end {
                    ScopeEnd::Succeeded { output } => output,
                    ScopeEnd::Failed { .. } => Value::Null,
                },
            };
            self.write_var(id, var, value)?;
        }
        let flow = Self::next_transition(state)?;
        self.apply_transition(id, flow)
    }

    /// Checks a document. All checks of a turn share the operations that a run may use without an
    /// outside event; a check that exceeds them counts as a mismatch.
    pub(in crate::machine) fn mismatches(
        &mut self,
        schema: &Schema,
        document: &Json,
    ) -> Vec<Mismatch> {
        let left = self.cx.limits.ops_runaway.saturating_sub(self.ops);
        let checked = schema.check(document, left);
        self.ops = self.ops.saturating_add(checked.ops);
        checked.mismatches
    }

    /// Records a value that does not match in the history; the run continues (JR7).
    pub(in crate::machine) fn record_mismatches(
        &mut self,
        schema: Option<&Schema>,
        value: &Value,
        what: &str,
    ) -> Result<(), Fault> {
        let Some(schema) = schema else { return Ok(()) };
        let mismatches = self.mismatches(schema, &json::document(value)?);
        if !mismatches.is_empty() {
            let (what, mismatches) = (Json::text(what), Mismatch::list(&mismatches));
            let data = Json::object([("mismatches", &mismatches), ("what", &what)]);
            self.push(Effect::Record { kind: "schemaMismatch".to_owned(), data });
        }
        Ok(())
    }
}

/// The value of `resultKind: outcome`.
fn scope_outcome(end: &ScopeEnd) -> Value {
    match end {
        ScopeEnd::Succeeded { output } => json::object_of([
            ("phase", "SUCCEEDED".into()),
            ("terminationKind", "Success".into()),
            ("output", output.clone()),
            ("error", Value::Null),
        ]),
        ScopeEnd::Failed { failure, termination } => json::object_of([
            ("phase", "FAILED".into()),
            ("terminationKind", termination_name(*termination).into()),
            ("output", Value::Null),
            ("error", error_of(failure)),
        ]),
    }
}

/// An error as expressions see it.
pub(crate) fn error_of(failure: &Failure) -> Value {
    json::object_of([
        ("code", failure.code.as_str().into()),
        ("reason", failure.message.as_str().into()),
    ])
}

/// Why something failed, as expressions see it.
pub(crate) const fn termination_name(termination: Termination) -> &'static str {
    match termination {
        Termination::Fail => "Fail",
        Termination::Timeout => "Timeout",
        Termination::RuntimeError => "RuntimeError",
    }
}
