//! `wait` and `webhook`: stand until somebody submits, or until the timeout.

use meantime_core::{Effect, Fault, Json, Verdict};
use meantime_expr::value::Object;

use crate::definition::{Body, Mismatch, State, Step};
use crate::json;
use crate::machine::data::PAYLOAD;
use crate::machine::flow::{Flow, Trouble};
use crate::machine::overlay::Change;
use crate::machine::run::Run;
use crate::machine::saved::{FrameId, Role, Standing};

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
    ) -> Result<Flow, Fault> {
        if self.saved.role == Role::Scheduled {
            return Ok(Trouble::scheduled_step(&state.id).into());
        }
        // Also when a loop comes back: what was submitted last time is gone (JR3), and so is the
        // request that led here.
        self.write(id, &Change::remove(vec![PAYLOAD.to_owned()]))?;
        self.frame_mut(id)?.request = None;
        let timeout = step.timeout.as_ref().map(|timeout| {
            let ms = timeout.seconds.saturating_mul(1_000);
            let due_at = self.cx.now.saturating_add_millis(ms);
            let element = self.place_of(id);
            (self.push(Effect::StartTimer { element, due_at }), due_at)
        });
        Ok(Flow::Wait(Standing::Step { timeout }))
    }

    /// Input from outside.
    pub(in crate::machine) fn submitted(
        &mut self,
        name: &str,
        payload: &Json,
        bound: Option<&Json>,
    ) -> Result<Verdict, Fault> {
        let Some((id, timeout)) = self.active_step(name) else {
            let text = format!("the step `{name}` does not wait for a submission");
            let problem = Json::text(&text);
            return Ok(Verdict::Refused { code: STEP_NOT_ACTIVE.to_owned(), problem });
        };
        let state = self.state_of(id)?;
        let Body::Step(step) = &state.body else {
            return Err(super::super::run::broken("a frame waits at a state that is not a step"));
        };
        let mismatches = self.mismatches(&step.input, payload);
        if !mismatches.is_empty() {
            let problem = Mismatch::list(&mismatches);
            return Ok(Verdict::Refused { code: INVALID_INPUT.to_owned(), problem });
        }
        if let Some(key) = timeout {
            self.push(Effect::CancelTimer { key });
        }
        self.write_var(id, PAYLOAD, json::parse(payload)?)?;
        self.take_bound(id, bound)?;
        let flow = Self::next_of(state)?;
        self.follow(id, flow)?;
        Ok(Verdict::taken())
    }

    /// Nobody submitted in time.
    pub(in crate::machine) fn step_timed_out(&mut self, id: FrameId) -> Result<(), Fault> {
        let state = self.state_of(id)?;
        let Body::Step(step) = &state.body else {
            return Err(super::super::run::broken("a frame waits at a state that is not a step"));
        };
        match &step.timeout {
            Some(timeout) => self.follow(id, Flow::Next(timeout.next.id.clone())),
            None => Err(super::super::run::broken("a step without a timeout timed out")),
        }
    }

    /// What the surface read from the request: paths with values, and the request's id.
    pub(in crate::machine) fn take_bound(
        &mut self,
        id: FrameId,
        bound: Option<&Json>,
    ) -> Result<(), Fault> {
        let bound = bound.map(json::parse).transpose()?.unwrap_or_default();
        let request = json::get(&bound, &["request".to_owned()]).and_then(json::string);
        self.frame_mut(id)?.request = request;
        let context = json::get(&bound, &["context".to_owned()]);
        for entry in context.and_then(json::object).into_iter().flat_map(Object::entries) {
            let path = entry.key.name().split('.').map(str::to_owned).collect();
            self.write(id, &Change::put(path, entry.value.clone()))?;
        }
        Ok(())
    }

    fn active_step(&self, name: &str) -> Option<(FrameId, Option<meantime_core::EffectKey>)> {
        if self.is_over() {
            return None;
        }
        self.saved.frames.iter().find_map(|(id, frame)| match &frame.standing {
            Standing::Step { timeout } if frame.state == name => {
                Some((*id, timeout.map(|(key, _)| key)))
            }
            _ => None,
        })
    }
}
