//! The view of a run for operators and its own API. Read only.

use std::collections::BTreeMap;

use meantime_core::{Json, Timestamp, View, Waiting, WaitingKind};

use super::run::{element_path, root_state, scope_of};
use super::saved::{FrameData, FrameId, ROOT_FRAME, RunRole, SavedRun, WaitState};
use crate::definition::{Journey, StateBody, Task};

/// A run as its own API needs it.
#[derive(Debug, Clone)]
pub(crate) struct RunView {
    /// The outermost state (JP6).
    pub(crate) current_state: String,
    /// Ids of the steps that can be submitted to.
    pub(crate) steps: Vec<String>,
    pub(crate) context: Json,
    pub(crate) tags: Vec<String>,
    pub(crate) attributes: BTreeMap<String, String>,
    pub(crate) updated_at: Timestamp,
    /// The next time at which something happens without an event from outside.
    pub(crate) due_at: Option<Timestamp>,
    /// Whether it compensates another run.
    pub(crate) is_compensation: bool,
    /// Whether its outcome is decided and it only waits for its compensation.
    pub(crate) is_closing: bool,
}

impl RunView {
    pub(crate) fn new(saved: &SavedRun) -> Self {
        let pending_outcome = saved.pending_outcome.is_some();
        let frames = saved.frames.values().filter(|_| !pending_outcome);
        let steps = frames.clone().filter(|it| matches!(it.wait_state, WaitState::Step { .. }));
        let due = frames.filter_map(|frame| match &frame.wait_state {
            WaitState::Timer { due_at, .. } | WaitState::Step { timeout: Some((_, due_at)) } => {
                Some(*due_at)
            }
            _ => None,
        });
        Self {
            current_state: root_state(saved).to_owned(),
            steps: steps.map(|frame| frame.state.clone()).collect(),
            context: root_context(saved),
            tags: saved.tags.clone(),
            attributes: saved.attributes.clone(),
            updated_at: saved.updated_at,
            due_at: due.min(),
            is_compensation: matches!(saved.role, RunRole::Compensation(_)),
            is_closing: pending_outcome,
        }
    }
}

/// The general view.
pub(crate) fn view(journey: &Journey, saved: &SavedRun) -> View {
    let waiting = saved.frames.iter().filter(|_| saved.pending_outcome.is_none());
    let waiting = waiting.filter_map(|(id, frame)| {
        let (kind, key) = match &frame.wait_state {
            WaitState::Task(key) => (WaitingKind::Task, Some(*key)),
            WaitState::Timer { key, .. } => (WaitingKind::Timer, Some(*key)),
            WaitState::Step { timeout } => (WaitingKind::Step, timeout.map(|(key, _)| key)),
            WaitState::Ready
            | WaitState::Schedule(_)
            | WaitState::Parallel(_)
            | WaitState::Call(_)
            | WaitState::Incident(_) => return None,
        };
        let (name, element) = (name_of(journey, saved, *id), element_path(saved, *id));
        Some(Waiting { kind, key, name, element, since: frame.since })
    });
    let mut waiting: Vec<Waiting> = waiting.collect();
    if let Some(pending_outcome) = &saved.pending_outcome {
        waiting.push(Waiting {
            kind: WaitingKind::Child,
            key: Some(pending_outcome.compensation),
            name: journey.name.clone(),
            element: super::start::COMPENSATION_ELEMENT.to_owned(),
            since: saved.updated_at,
        });
    }
    View { variables: root_context(saved), waiting }
}

/// The type of a task, the id of anything else.
fn name_of(journey: &Journey, saved: &SavedRun, id: FrameId) -> String {
    let Some(frame) = saved.frames.get(&id) else { return String::new() };
    let state = scope_of(journey, saved, id).and_then(|scope| scope.states.get(&frame.state));
    match state.map(|state| &state.body) {
        Some(StateBody::Task(task)) => match &**task {
            Task::Http(_) => crate::surface::HTTP_TASK.to_owned(),
            Task::Cache(_) => super::task::CACHE_TASK.to_owned(),
            Task::Auth(check) => check.kind.name().to_owned(),
            Task::Worker(worker) => worker.kind.clone(),
            Task::Schedule(_) => frame.state.clone(),
        },
        _ => frame.state.clone(),
    }
}

/// The context of the scope that has a step, if that scope is being run.
pub(crate) fn context_at(journey: &Journey, saved: &SavedRun, step: &str) -> Option<Json> {
    let has_step = |id: &FrameId| {
        let state = scope_of(journey, saved, *id).and_then(|scope| scope.states.get(step));
        state.is_some_and(|state| matches!(state.body, StateBody::Step(_)))
    };
    let mut at = saved.frames.keys().copied().find(has_step)?;
    loop {
        let frame = saved.frames.get(&at)?;
        match &frame.data {
            FrameData::Own(context) => return Some(context.clone()),
            // A branch writes to the context of its owner.
            FrameData::Overlay(_) => at = frame.parent?,
        }
    }
}

fn root_context(saved: &SavedRun) -> Json {
    match saved.frames.get(&ROOT_FRAME).map(|frame| &frame.data) {
        Some(FrameData::Own(context)) => context.clone(),
        _ => Json::null(),
    }
}
