//! Delivers each event to the frame that waits for it, if any.

use meantime_core::{
    Effect, EffectKey, Event, Failure, Fault, IncidentId, Json, Outcome, Termination, Verdict,
    unknown_scope,
};
use meantime_value::{Object, Value};

use super::run::{Run, state_mismatch};
use super::saved::{FrameId, ROOT_FRAME, WaitState};
use crate::json;
use crate::machine::overlay::ContextChange;

/// The outcome of a run that reaches a deadline which its definition does not declare.
const DEFAULT_TIMEOUT_OUTCOME: (&str, &str) =
    ("JOURNEY_TIMEOUT", "the run took longer than it may");

impl Run<'_> {
    /// Handles one event and continues the run.
    pub(crate) fn handle_event(&mut self, event: &Event) -> Result<Verdict, Fault> {
        self.ops += 1;
        let verdict = self.dispatch_event(event)?;
        self.run_ready_frames()?;
        Ok(verdict)
    }

    fn dispatch_event(&mut self, event: &Event) -> Result<Verdict, Fault> {
        let taken = match event {
            Event::Submitted { step, payload, request_bindings } => {
                return self.submitted(step, payload, request_bindings.as_ref());
            }
            Event::EffectDone { key, answer } => {
                self.schedule_answered(*key, answer)? || self.compensation_refused(*key)
            }
            Event::ChildDone { key, .. } => self.compensation_done(*key),
            Event::Continue => true,
            _ if self.is_over() => false,
            Event::TaskDone { key, outcome } => self.task_done(*key, outcome)?,
            Event::TimerFired { key, .. } => self.timer_fired(*key)?,
            Event::VariablesSet { scope: Some(scope), .. } => return Ok(unknown_scope(scope)),
            Event::VariablesSet { values, scope: None } => self.set_variables(values)?,
            Event::IncidentRetried { incident, key } => self.retry_incident(*incident, *key),
            Event::Cancel { reason } => self.cancel_run(reason)?,
            Event::DeadlineReached => self.time_out_run()?,
            Event::Signal { .. }
            | Event::Message { .. }
            | Event::ChildRaised { .. }
            | Event::IncidentResolved { .. }
            | Event::DeadlineMoved { .. } => false,
        };
        Ok(if taken { Verdict::taken() } else { Verdict::NotTaken })
    }

    /// Continues a timer, times out a step, or reports an overdue compensation. Any other key is
    /// stale.
    fn timer_fired(&mut self, key: EffectKey) -> Result<bool, Fault> {
        if self.saved.cap.take_if(|cap| *cap == key).is_some() {
            self.compensation_overdue();
            return Ok(true);
        }
        // Stale: the frame has moved on, or a submission came before its timeout. The timer no
        // longer belongs to the state that armed it, so it must not move the frame.
        let Some((id, is_step)) = self.frame_of_timer(key) else { return Ok(false) };
        // A timer moved it: from here on there is no inbound request.
        self.frame_mut(id)?.request = None;
        if is_step {
            self.step_timed_out(id)?;
        } else {
            let flow = Self::next_transition(self.state_of(id)?)?;
            self.apply_transition(id, flow)?;
        }
        Ok(true)
    }

    fn frame_of_timer(&self, timer: EffectKey) -> Option<(FrameId, bool)> {
        self.saved.frames.iter().find_map(|(id, frame)| match &frame.wait_state {
            WaitState::Timer { key, .. } if *key == timer => Some((*id, false)),
            WaitState::Step { timeout: Some((key, _)) } if *key == timer => Some((*id, true)),
            _ => None,
        })
    }

    /// An operator corrects the context.
    fn set_variables(&mut self, values: &Json) -> Result<bool, Fault> {
        let values = json::parse(values)?;
        for entry in json::object(&values).into_iter().flat_map(Object::entries) {
            let path = vec![entry.key.name().to_string()];
            self.write(ROOT_FRAME, &ContextChange::put(path, entry.value.clone()))?;
        }
        Ok(true)
    }

    fn retry_incident(&mut self, incident: IncidentId, key: Option<EffectKey>) -> bool {
        let Some(key) = key else { return false };
        if self.saved.overdue == Some(key) {
            self.saved.overdue = None;
            self.push(Effect::ResolveIncident { incident });
            self.arm_compensation_timer();
            return true;
        }
        let mut frames = self.saved.frames.values_mut();
        let Some(frame) = frames.find(|frame| frame.wait_state == WaitState::Incident(key)) else {
            return false;
        };
        frame.wait_state = WaitState::Ready;
        self.push(Effect::ResolveIncident { incident });
        true
    }

    fn cancel_run(&mut self, reason: &str) -> Result<bool, Fault> {
        let context = self.final_context()?;
        let reason = reason.to_owned();
        self.fix_outcome(Outcome::Cancelled { reason, context: json::document(&context)? })?;
        Ok(true)
    }

    /// D2: ends with the declared code and reason; a definition cannot catch it (D5).
    pub(super) fn time_out_run(&mut self) -> Result<bool, Fault> {
        let context = self.final_context()?;
        let failure = match &self.journey.timeout {
            Some(timeout) => Failure::new(timeout.code.clone(), timeout.reason.clone()),
            None => Failure::new(DEFAULT_TIMEOUT_OUTCOME.0, DEFAULT_TIMEOUT_OUTCOME.1),
        };
        let (termination, context) = (Termination::Timeout, json::document(&context)?);
        self.fix_outcome(Outcome::Failed { failure, termination, context })?;
        Ok(true)
    }

    /// The root context as it is now.
    pub(super) fn final_context(&mut self) -> Result<Value, Fault> {
        if self.saved.frames.is_empty() {
            return Err(state_mismatch("a run without frames"));
        }
        self.context(ROOT_FRAME)
    }
}
