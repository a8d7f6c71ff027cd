//! The view of an instance for operators.

use meantime_core::{Json, ScopeView, State, View, Waiting, WaitingKind};

use super::json;
use super::state::{ArmedWait, ElementInstance, ElementInstanceId, LocalEffectKey, ROOT, WaitKind};
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
            let key = Some(wait.key).filter(|key| *key != LocalEffectKey::NONE);
            let key = key.map(|key| key.of(instance.instance));
            let since = element.since;
            let element = process.node(wait.on).id.to_string();
            let name = if wait.name.is_empty() { element.clone() } else { wait.name.clone() };
            waiting.push(Waiting { kind, key, name, element, since });
        }
    }
    View { variables, waiting }
}

/// The process, its active scopes, and elements that have local variables or an incident, which an
/// operator may repair by setting a variable.
pub(crate) fn scopes(process: &Process, state: &State) -> Vec<ScopeView> {
    let Ok(instance) = super::codec::load(process, state) else { return Vec::new() };
    let is_scope = |element: &ElementInstance| {
        element.is_scope() || !element.variables.is_empty() || element.incident.is_some()
    };
    let shown = instance.elements.iter().filter(|(_, it)| !it.is_ending() && is_scope(it));
    let shown = shown.map(|(id, element)| {
        let mut parent = element.parent;
        while let Some(above) = parent.and_then(|id| instance.elements.get(&id)) {
            if above.parent.is_none() || is_scope(above) {
                break;
            }
            parent = above.parent;
        }
        let node = element.node.map(|node| &*process.node(node).id);
        ScopeView {
            id: name_of(*id),
            parent: parent.map(name_of),
            element: node.unwrap_or(&process.id).to_owned(),
            variables: json::object(&element.variables),
        }
    });
    shown.collect()
}

fn name_of(id: ElementInstanceId) -> String {
    if id == ROOT { ScopeView::ROOT.to_owned() } else { id.0.to_string() }
}

fn kind_of(wait: &ArmedWait) -> Option<WaitingKind> {
    Some(match wait.kind {
        WaitKind::Task => WaitingKind::Task,
        WaitKind::UserTask => WaitingKind::UserTask,
        WaitKind::Timer { .. } => WaitingKind::Timer,
        WaitKind::Message { .. } => WaitingKind::Message,
        WaitKind::Signal => WaitingKind::Signal,
        WaitKind::Child => WaitingKind::Child,
        WaitKind::Condition { .. } => WaitingKind::Condition,
        // Shown as the incident of its element.
        WaitKind::BrokenCondition => return None,
    })
}
