//! `wait` and `webhook`: wait for a submission or the timeout.

use meantime_core::{Effect, Fault, Json, Verdict};
use meantime_value::Object;

use crate::definition::{Mismatch, State, StateBody, Step};
use crate::json;
use crate::machine::data::PAYLOAD_FIELD;
use crate::machine::overlay::ContextChange;
use crate::machine::run::Run;
use crate::machine::saved::{FrameId, RunRole, WaitState};
use crate::machine::transition::{StateError, Transition};

/// The code of a body that does not match the step's schema.
pub(crate) const INVALID_INPUT: &str = "invalid_input";

/// The code of a submission to a step that does not wait for one.
const STEP_NOT_ACTIVE: &str = "step_not_active";

impl Run<'_> {
    pub(in crate::machine) fn enter_step(
        &mut self,
        id: FrameId,
        state: &State,
        step: &Step,
    ) -> Result<Transition, Fault> {
        if self.saved.role == RunRole::Scheduled {
            return Ok(StateError::scheduled_step(&state.id).into());
        }
        // A loop may return here: the previous submission (JR3) and its request must not be
        // visible.
        self.write(id, &ContextChange::remove(vec![PAYLOAD_FIELD.to_owned()]))?;
        self.frame_mut(id)?.request = None;
        let timeout = step.timeout.as_ref().map(|timeout| {
            let ms = timeout.seconds.saturating_mul(1_000);
            let due_at = self.cx.now.saturating_add_millis(ms);
            let element = self.element_path(id);
            (self.push(Effect::StartTimer { element, due_at }), due_at)
        });
        Ok(Transition::Wait(WaitState::Step { timeout }))
    }

    /// A submission from outside.
    pub(in crate::machine) fn submitted(
        &mut self,
        name: &str,
        payload: &Json,
        request_bindings: Option<&Json>,
    ) -> Result<Verdict, Fault> {
        let Some((id, timeout)) = self.active_step(name) else {
            let text = format!("the step `{name}` does not wait for a submission");
            let problem = Json::text(&text);
            return Ok(Verdict::Refused { code: STEP_NOT_ACTIVE.to_owned(), problem });
        };
        let state = self.state_of(id)?;
        let StateBody::Step(step) = &state.body else {
            return Err(super::super::run::state_mismatch(
                "a frame waits at a state that is not a step",
            ));
        };
        let mismatches = self.mismatches(&step.input, payload);
        if !mismatches.is_empty() {
            let problem = Mismatch::list(&mismatches);
            return Ok(Verdict::Refused { code: INVALID_INPUT.to_owned(), problem });
        }
        if let Some(key) = timeout {
            self.push(Effect::CancelTimer { key });
        }
        self.write_var(id, PAYLOAD_FIELD, json::parse(payload)?)?;
        self.apply_request_bindings(id, request_bindings)?;
        let flow = Self::next_transition(state)?;
        self.apply_transition(id, flow)?;
        Ok(Verdict::taken())
    }

    /// The timeout of a step was reached without a submission.
    pub(in crate::machine) fn step_timed_out(&mut self, id: FrameId) -> Result<(), Fault> {
        let state = self.state_of(id)?;
        let StateBody::Step(step) = &state.body else {
            return Err(super::super::run::state_mismatch(
                "a frame waits at a state that is not a step",
            ));
        };
        match &step.timeout {
            Some(timeout) => self.apply_transition(id, Transition::Next(timeout.next.id.clone())),
            None => Err(super::super::run::state_mismatch("a step without a timeout timed out")),
        }
    }

    /// Applies what the server read from the request: paths with values, and the request's id.
    pub(in crate::machine) fn apply_request_bindings(
        &mut self,
        id: FrameId,
        request_bindings: Option<&Json>,
    ) -> Result<(), Fault> {
        let request_bindings = request_bindings.map(json::parse).transpose()?.unwrap_or_default();
        let request = json::get(&request_bindings, &["request".to_owned()]).and_then(json::string);
        self.frame_mut(id)?.request = request;
        let context = json::get(&request_bindings, &["context".to_owned()]);
        for entry in context.and_then(json::object).into_iter().flat_map(Object::entries) {
            let path = entry.key.name().split('.').map(str::to_owned).collect();
            self.write(id, &ContextChange::put(path, entry.value.clone()))?;
        }
        Ok(())
    }

    fn active_step(&self, name: &str) -> Option<(FrameId, Option<meantime_core::EffectKey>)> {
        if self.is_over() {
            return None;
        }
        self.saved.frames.iter().find_map(|(id, frame)| match &frame.wait_state {
            WaitState::Step { timeout } if frame.state == name => {
                Some((*id, timeout.map(|(key, _)| key)))
            }
            _ => None,
        })
    }
}
