//! One turn: events in order, the script between them, then the next state.

use std::collections::BTreeMap;

use meantime_core::{
    Cx, Definition, Effect, Event, Fault, Json, Outcome, Start, State, Status, Turn, Verdict,
    unknown_scope,
};
use meantime_script::{FORMAT, Machine, StopReason, reads_format};

use crate::definition::CompiledWorkflow;
use crate::end::{cancelled, finished, timed_out, uncaught};
use crate::event::settlement;
use crate::host::TurnHost;

/// The first turn.
pub(crate) fn start(body: &CompiledWorkflow, start: &Start, cx: &Cx<'_>) -> Result<Turn, Fault> {
    let mut effects = Vec::new();
    if !body.tags.is_empty() {
        effects.push(Effect::AddTags(body.tags.clone()));
    }
    let mut host = TurnHost::new(cx, body.retry, effects);
    let machine = Machine::start(&body.program, body.workflow, &start.input, &mut host, cx.limits)?;
    let mut session = ScriptTurn { machine, ended: None };
    session.run()?;
    let (state, status, ops) = session.finish(cx)?;
    let (effects, verdicts) = (host.into_effects(), vec![Verdict::taken()]);
    Ok(Turn { state, effects, status, verdicts, ops })
}

/// Any later turn.
pub(crate) fn advance(
    definition: &Definition,
    body: &CompiledWorkflow,
    state: &State,
    events: &[Event],
    cx: &Cx<'_>,
) -> Result<Turn, Fault> {
    if !reads_format(state.format) {
        let text =
            format!("the state has format {}, this release reads {FORMAT} and older", state.format);
        return Err(Fault::new("corrupt_state", text));
    }
    let mut host = TurnHost::new(cx, body.retry, Vec::new());
    let machine = Machine::load(&body.program, &state.bytes, &mut host, cx.limits)?;
    let mut session = ScriptTurn { machine, ended: None };
    let mut verdicts = Vec::with_capacity(events.len());
    for event in events {
        verdicts.push(session.handle_event(event, definition, cx)?);
    }
    let (state, status, ops) = session.finish(cx)?;
    Ok(Turn { state, effects: host.into_effects(), status, verdicts, ops })
}

/// A script during one turn.
struct ScriptTurn<'a> {
    machine: Machine<'a>,
    ended: Option<Outcome>,
}

impl ScriptTurn<'_> {
    /// Processes one event and runs the script as far as it gets, so that events have the same
    /// meaning whether they come in one turn or in several.
    fn handle_event(
        &mut self,
        event: &Event,
        definition: &Definition,
        cx: &Cx<'_>,
    ) -> Result<Verdict, Fault> {
        if self.ended.is_some() {
            return Ok(Verdict::NotTaken);
        }
        match event {
            Event::Cancel { reason } => {
                self.ended = Some(cancelled(&self.machine, reason));
                return Ok(Verdict::taken());
            }
            Event::DeadlineReached => {
                self.ended = Some(timed_out(&self.machine, definition, cx.deadline));
                return Ok(Verdict::taken());
            }
            Event::VariablesSet { scope: Some(scope), .. } => return Ok(unknown_scope(scope)),
            Event::VariablesSet { values, scope: None } => return self.set_variables(values),
            Event::Submitted { step, .. } => return Ok(refuse_submission(step)),
            Event::Continue => {}
            _ => {
                let Some((key, with)) = settlement(event, &self.machine) else {
                    return Ok(Verdict::NotTaken);
                };
                if matches!(event, Event::ChildRaised { .. }) {
                    self.machine.cancel_child(key);
                }
                if !self.machine.settle_effect(key, with)? {
                    // A signal returns to its buffer; all other events have no receiver any more.
                    let returns = matches!(event, Event::Signal { .. } | Event::Message { .. });
                    return Ok(if returns { Verdict::NotTaken } else { Verdict::taken() });
                }
                self.machine.cancel_losers_now();
            }
        }
        self.run()?;
        Ok(Verdict::taken())
    }

    fn run(&mut self) -> Result<(), Fault> {
        match self.machine.run()? {
            StopReason::Waiting | StopReason::Yield => {}
            StopReason::Finished => self.ended = Some(finished(&mut self.machine)?),
            StopReason::Uncaught { trace } => {
                self.ended = Some(uncaught(&mut self.machine, trace));
            }
        }
        Ok(())
    }

    /// Sets variables of the workflow for an operator: all of them, or none.
    fn set_variables(&mut self, values: &Json) -> Result<Verdict, Fault> {
        let Ok(values) = values.read::<BTreeMap<String, Json>>() else {
            return Ok(refused("invalid_variables", "the variables are an object"));
        };
        if let Some(name) = values.keys().find(|name| !self.machine.has_variable(name)) {
            let text = format!("the workflow has no variable {name:?}");
            return Ok(refused("unknown_variable", &text));
        }
        for (name, value) in &values {
            self.machine.set_variable(name, value)?;
        }
        Ok(Verdict::taken())
    }

    /// The next state, the status of the instance, and the cost of the turn.
    fn finish(mut self, cx: &Cx<'_>) -> Result<(State, Status, u64), Fault> {
        if self.ended.is_none() && self.machine.is_stuck() {
            self.machine.fail_stuck();
            self.run()?;
        }
        self.machine.cancel_losers_now();
        if let Some(outcome) = self.ended {
            return Ok((State::default(), Status::Ended(outcome), self.machine.ops()));
        }
        let bytes = self.machine.save()?;
        let most = cx.limits.state_bytes;
        if bytes.len() > most {
            let text = format!("the state has {} bytes, the limit is {most}", bytes.len());
            return Err(self.machine.locate_fault(Fault::new("state_limit", text)));
        }
        let goes_on = !self.machine.is_waiting() || self.machine.has_pending_cancellations();
        let status = if goes_on { Status::Yield } else { Status::Running };
        Ok((State::new(FORMAT, bytes), status, self.machine.ops()))
    }
}

fn refuse_submission(step: &str) -> Verdict {
    refused("step_not_active", &format!("a flow has no step {step:?}; send a signal"))
}

fn refused(code: &str, text: &str) -> Verdict {
    Verdict::Refused { code: code.to_owned(), problem: Json::text(text) }
}
