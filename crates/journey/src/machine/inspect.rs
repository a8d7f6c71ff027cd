//! What people see of a run. For reads only.

use std::collections::BTreeMap;

use meantime_core::{Json, Timestamp, View, Waiting, WaitingKind};

use super::run::{place_of, root_state, scope_of};
use super::saved::{Data, FrameId, ROOT, Role, Saved, Standing};
use crate::definition::{Body, Journey, Task};

/// A run as its surface needs it.
#[derive(Debug, Clone)]
pub(crate) struct Look {
    /// The outermost state (JP6).
    pub(crate) current_state: String,
    /// Ids of the steps that can be submitted to.
    pub(crate) steps: Vec<String>,
    pub(crate) context: Json,
    pub(crate) tags: Vec<String>,
    pub(crate) attributes: BTreeMap<String, String>,
    pub(crate) updated_at: Timestamp,
    /// The next instant at which something happens by itself.
    pub(crate) due_at: Option<Timestamp>,
    /// Whether it compensates another run.
    pub(crate) is_compensation: bool,
    /// Whether its outcome is fixed and it only waits for its compensation.
    pub(crate) is_closing: bool,
}

impl Look {
    pub(crate) fn new(saved: &Saved) -> Self {
        let closing = saved.closing.is_some();
        let frames = saved.frames.values().filter(|_| !closing);
        let steps = frames.clone().filter(|it| matches!(it.standing, Standing::Step { .. }));
        let due = frames.filter_map(|frame| match &frame.standing {
            Standing::Timer { due_at, .. } | Standing::Step { timeout: Some((_, due_at)) } => {
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
            is_compensation: matches!(saved.role, Role::Compensation(_)),
            is_closing: closing,
        }
    }
}

/// The general view.
pub(crate) fn view(journey: &Journey, saved: &Saved) -> View {
    let waiting = saved.frames.iter().filter(|_| saved.closing.is_none());
    let waiting = waiting.filter_map(|(id, frame)| {
        let (kind, key) = match &frame.standing {
            Standing::Task(key) => (WaitingKind::Task, Some(*key)),
            Standing::Timer { key, .. } => (WaitingKind::Timer, Some(*key)),
            Standing::Step { timeout } => (WaitingKind::Step, timeout.map(|(key, _)| key)),
            Standing::Ready
            | Standing::Schedule(_)
            | Standing::Parallel(_)
            | Standing::Call(_)
            | Standing::Incident(_) => return None,
        };
        let (name, element) = (name_of(journey, saved, *id), place_of(saved, *id));
        Some(Waiting { kind, key, name, element, since: frame.since })
    });
    let mut waiting: Vec<Waiting> = waiting.collect();
    if let Some(closing) = &saved.closing {
        waiting.push(Waiting {
            kind: WaitingKind::Child,
            key: Some(closing.compensation),
            name: journey.name.clone(),
            element: super::start::COMPENSATION_PLACE.to_owned(),
            since: saved.updated_at,
        });
    }
    View { variables: root_context(saved), waiting }
}

/// The type of a task, the id of anything else.
fn name_of(journey: &Journey, saved: &Saved, id: FrameId) -> String {
    let Some(frame) = saved.frames.get(&id) else { return String::new() };
    let state = scope_of(journey, saved, id).and_then(|scope| scope.states.get(&frame.state));
    match state.map(|state| &state.body) {
        Some(Body::Task(task)) => match &**task {
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
pub(crate) fn context_at(journey: &Journey, saved: &Saved, step: &str) -> Option<Json> {
    let has_step = |id: &FrameId| {
        let state = scope_of(journey, saved, *id).and_then(|scope| scope.states.get(step));
        state.is_some_and(|state| matches!(state.body, Body::Step(_)))
    };
    let mut at = saved.frames.keys().copied().find(has_step)?;
    loop {
        let frame = saved.frames.get(&at)?;
        match &frame.data {
            Data::Own(context) => return Some(context.clone()),
            // A branch writes into the context of its owner.
            Data::Over(_) => at = frame.parent?,
        }
    }
}

fn root_context(saved: &Saved) -> Json {
    match saved.frames.get(&ROOT).map(|frame| &frame.data) {
        Some(Data::Own(context)) => context.clone(),
        _ => Json::null(),
    }
}
