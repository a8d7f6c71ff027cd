//! What people may see of an instance.

use meantime_core::{Json, State, View, Waiting, WaitingKind};

use super::json;
use super::state::{ROOT, Wait, WaitKind};
use crate::model::Process;

/// Variables and waits of a saved instance.
pub(crate) fn inspect(process: &Process, state: &State) -> View {
    let Ok(instance) = super::codec::load(process, state) else { return View::default() };
    let root = instance.elements.get(&ROOT).map(|root| &root.variables);
    let variables = root.map_or_else(Json::default, json::object);
    let mut waiting = Vec::new();
    for element in instance.elements.values().filter(|it| !it.is_ending()) {
        for wait in &element.waits {
            let Some(kind) = kind_of(wait) else { continue };
            let key = Some(wait.key.of(instance.instance));
            let place = process.node(wait.on).id.to_string();
            let name = if wait.name.is_empty() { place.clone() } else { wait.name.clone() };
            waiting.push(Waiting { kind, key, name, place, since: element.since });
        }
    }
    View { variables, waiting }
}

fn kind_of(wait: &Wait) -> Option<WaitingKind> {
    Some(match wait.kind {
        WaitKind::Task => WaitingKind::Task,
        WaitKind::UserTask => WaitingKind::UserTask,
        WaitKind::Timer { .. } => WaitingKind::Timer,
        WaitKind::Message { .. } => WaitingKind::Message,
        WaitKind::Signal => WaitingKind::Signal,
        WaitKind::Child => WaitingKind::Child,
        WaitKind::Condition { .. } => return None,
    })
}
