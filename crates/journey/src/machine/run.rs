//! One turn: the loop over ready frames, effects, budgets.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use meantime_core::{Cx, Effect, EffectKey, Fault, Json, Status, Termination, Turn, Verdict};
use meantime_value::Value;

use super::saved::{Frame, FrameData, FrameId, ROOT_FRAME, SavedRun, ScopeName, WaitState};
use super::transition::{ScopeEnd, Transition};
use crate::definition::{Journey, Scope, State, StateBody};
use crate::json;
use crate::settings::Settings;

/// Longer paths are cut: a loop may run thousands of times in one turn.
const MAX_PATH_STATES: usize = 200;

/// Effects reserved for one state. The turn yields when fewer are left.
const RESERVED_EFFECTS: usize = 16;

/// A turn in progress.
pub(crate) struct Run<'a> {
    pub(super) journey: &'a Journey,
    pub(super) settings: &'a Settings,
    pub(super) cx: &'a Cx<'a>,
    pub(super) saved: SavedRun,
    /// Contexts of frames that own one, as read or written in this turn.
    pub(super) contexts: BTreeMap<FrameId, Value>,
    /// The value of `platform`, computed by the first expression.
    pub(super) platform: OnceCell<Value>,
    pub(super) effects: Vec<Effect>,
    /// States that were entered in this turn.
    path: Vec<String>,
    pub(super) ops: u64,
    /// The status, once the run is closing or has ended.
    pub(super) status: Option<Status>,
}

impl<'a> Run<'a> {
    pub(crate) fn new(
        journey: &'a Journey,
        settings: &'a Settings,
        saved: SavedRun,
        cx: &'a Cx<'a>,
    ) -> Self {
        let (contexts, platform, effects) = (BTreeMap::new(), OnceCell::new(), Vec::new());
        let (path, ops, status) = (Vec::new(), 0, None);
        Self { journey, settings, cx, saved, contexts, platform, effects, path, ops, status }
    }

    /// Runs ready frames until all wait, the run has ended, or the slice is used up.
    pub(super) fn run_ready_frames(&mut self) -> Result<(), Fault> {
        while let Some(id) = self.first_ready() {
            if self.is_slice_used_up() {
                break;
            }
            self.enter_state(id)?;
        }
        Ok(())
    }

    /// The result of the turn.
    pub(crate) fn finish(mut self, verdicts: Vec<Verdict>) -> Result<Turn, Fault> {
        self.saved.updated_at = self.cx.now;
        self.record_path();
        let ready = self.first_ready().is_some();
        for (id, context) in std::mem::take(&mut self.contexts) {
            if let Some(frame) = self.saved.frames.get_mut(&id) {
                frame.data = FrameData::Own(json::document(&context)?);
            }
        }
        let going_on = if ready { Status::Yield } else { Status::Running };
        let status = self.status.unwrap_or(going_on);
        let state = self.saved.write()?;
        Ok(Turn { state, effects: self.effects, status, verdicts, ops: self.ops.max(1) })
    }

    /// Whether the outcome is decided.
    pub(super) fn is_over(&self) -> bool {
        self.status.is_some() || self.saved.pending_outcome.is_some()
    }

    fn first_ready(&self) -> Option<FrameId> {
        if self.is_over() {
            return None;
        }
        let ready = |frame: &Frame| frame.wait_state == WaitState::Ready;
        self.saved.frames.iter().find(|(_, frame)| ready(frame)).map(|(id, _)| *id)
    }

    fn is_slice_used_up(&self) -> bool {
        let limits = self.cx.limits;
        self.ops >= limits.ops_per_slice
            || self.effects.len() + RESERVED_EFFECTS > limits.slice_effects()
    }

    fn enter_state(&mut self, id: FrameId) -> Result<(), Fault> {
        let state = self.state_of(id)?;
        self.ops += 1;
        self.saved.activations += 1;
        let (activation, now) = (self.saved.activations, self.cx.now);
        let frame = self.frame_mut(id)?;
        (frame.activation, frame.since) = (activation, now);
        match self.path.len() {
            0..MAX_PATH_STATES => self.path.push(self.element_path(id)),
            MAX_PATH_STATES => self.path.push("…".to_owned()),
            _ => {}
        }
        let flow = self.dispatch(id, state)?;
        self.apply_transition(id, flow)
    }

    /// Records all entered states as one entry of history per turn, as for processes.
    fn record_path(&mut self) {
        if self.path.is_empty() {
            return;
        }
        let states: Vec<Json> = self.path.iter().map(|state| Json::text(state)).collect();
        let (kind, data) = ("path".to_owned(), Json::list(&states));
        self.push(Effect::Record { kind, data });
    }

    /// Applies the transition that a state returned.
    pub(super) fn apply_transition(&mut self, id: FrameId, flow: Transition) -> Result<(), Fault> {
        match flow {
            Transition::Next(state) => {
                let frame = self.frame_mut(id)?;
                (frame.state, frame.wait_state) = (state, WaitState::Ready);
                Ok(())
            }
            Transition::Wait(wait_state) => {
                self.frame_mut(id)?.wait_state = wait_state;
                Ok(())
            }
            Transition::End(end) => self.end_frame(id, end),
            Transition::Error(error) => {
                let written = self.state_of(id)?.span.start;
                let failure = error.into_failure(&self.element_path(id), written);
                let termination = Termination::RuntimeError;
                self.end_frame(id, ScopeEnd::Failed { failure, termination })
            }
        }
    }

    /// The transition to the next state.
    pub(super) fn next_transition(state: &State) -> Result<Transition, Fault> {
        match &state.next {
            Some(next) => Ok(Transition::Next(next.id.clone())),
            None => Err(state_mismatch(&format!("`{}` has no next state", state.id))),
        }
    }

    pub(super) fn push(&mut self, effect: Effect) -> EffectKey {
        self.cx.push(&mut self.effects, effect)
    }

    /// Adds a frame that is ready to enter the first state of its scope.
    pub(super) fn add_frame(
        &mut self,
        parent: Option<FrameId>,
        scope: ScopeName,
        state: &str,
        data: FrameData,
    ) -> FrameId {
        let id = self.saved.next_frame;
        self.saved.next_frame += 1;
        let holder = parent.and_then(|parent| self.saved.frames.get(&parent));
        let request = holder.and_then(|holder| holder.request.clone());
        let frame = Frame {
            parent,
            scope,
            state: state.to_owned(),
            activation: 0,
            since: self.cx.now,
            wait_state: WaitState::Ready,
            data,
            request,
        };
        self.saved.frames.insert(id, frame);
        id
    }

    pub(super) fn frame(&self, id: FrameId) -> Result<&Frame, Fault> {
        self.saved.frames.get(&id).ok_or_else(|| state_mismatch("a frame is missing"))
    }

    pub(super) fn frame_mut(&mut self, id: FrameId) -> Result<&mut Frame, Fault> {
        self.saved.frames.get_mut(&id).ok_or_else(|| state_mismatch("a frame is missing"))
    }

    /// The state a frame is at.
    pub(super) fn state_of(&self, id: FrameId) -> Result<&'a State, Fault> {
        let name = &self.frame(id)?.state;
        let scope = scope_of(self.journey, &self.saved, id);
        let state = scope.and_then(|scope| scope.states.get(name));
        state.ok_or_else(|| state_mismatch(&format!("the definition has no state `{name}` there")))
    }

    /// The element path of a frame: parallel, branch and call states from the outside in.
    pub(super) fn element_path(&self, id: FrameId) -> String {
        element_path(&self.saved, id)
    }
}

/// The scope a frame runs.
pub(super) fn scope_of<'a>(
    journey: &'a Journey,
    saved: &SavedRun,
    id: FrameId,
) -> Option<&'a Scope> {
    let frame = saved.frames.get(&id)?;
    match &frame.scope {
        ScopeName::Root => saved.role.scope(journey),
        ScopeName::Call(name) => journey.subjourneys.get(name).map(|it| &it.scope),
        ScopeName::Branch(name) => {
            let parent = frame.parent?;
            let holder = &saved.frames.get(&parent)?.state;
            let state = scope_of(journey, saved, parent)?.states.get(holder)?;
            let StateBody::Parallel(parallel) = &state.body else { return None };
            parallel.branches.iter().find(|it| it.name == *name).map(|it| &it.scope)
        }
    }
}

pub(super) fn element_path(saved: &SavedRun, id: FrameId) -> String {
    let mut parts = Vec::new();
    let mut at = Some(id);
    while let Some(frame) = at.and_then(|id| saved.frames.get(&id)) {
        parts.push(frame.state.as_str());
        if let ScopeName::Branch(name) = &frame.scope {
            parts.push(name);
        }
        at = frame.parent;
    }
    parts.reverse();
    parts.join("/")
}

/// The state the whole run is at: the outermost one (JP6).
pub(super) fn root_state(saved: &SavedRun) -> &str {
    saved.frames.get(&ROOT_FRAME).map_or("", |frame| &frame.state)
}

/// The saved state does not fit the definition.
pub(super) fn state_mismatch(message: &str) -> Fault {
    Fault::new("corrupt_state", message.to_owned())
}
