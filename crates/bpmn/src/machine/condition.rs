//! Conditional events: evaluated whenever a variable has changed.

use meantime_core::{Failure, Json};

use super::state::{ArmedWait, ElementInstanceId, LocalEffectKey, WaitKind};
use super::turn::Machine;
use crate::incident_code::IncidentCode;
use crate::model::{EventTrigger, NodeKind, NodeRef};

impl Machine<'_> {
    /// Triggers every condition that is true now and was not at its last evaluation.
    pub(super) fn evaluate_conditions(&mut self) {
        self.changed = false;
        let armed: Vec<(ElementInstanceId, NodeRef, bool)> = self
            .state
            .elements
            .iter()
            .filter(|(_, element)| !element.is_ending())
            .flat_map(|(id, element)| {
                element.waits.iter().filter_map(|wait| match wait.kind {
                    WaitKind::Condition { held } => Some((*id, wait.on, held)),
                    _ => None,
                })
            })
            .collect();
        for (id, on, held) in armed {
            let Some(EventTrigger::Conditional(condition)) = self.process.node(on).trigger() else {
                continue;
            };
            let holds = match self.evaluate(condition, id) {
                Ok(value) => match value.as_str() {
                    "true" => true,
                    // A condition on a variable that does not exist yet is null, which counts as
                    // false.
                    "false" | "null" => false,
                    _ => {
                        let text = format!("the condition `{condition}` gives {value}");
                        self.broken_condition(id, on, IncidentCode::NotACondition.failure(text));
                        continue;
                    }
                },
                Err(failure) => {
                    self.broken_condition(id, on, failure);
                    continue;
                }
            };
            if holds != held {
                self.condition_changed(id, on, holds);
            }
        }
    }

    fn condition_changed(&mut self, id: ElementInstanceId, on: NodeRef, holds: bool) {
        let repeats = match &self.process.node(on).kind {
            NodeKind::Boundary(boundary) => !boundary.interrupting,
            NodeKind::Start(start) => !start.interrupting,
            _ => false,
        };
        let Some(element) = self.element_mut(id) else { return };
        let index = element.waits.iter().position(|wait| wait.on == on);
        let Some(index) = index else { return };
        if repeats || !holds {
            element.waits[index].kind = WaitKind::Condition { held: holds };
        } else {
            element.waits.remove(index);
        }
        if holds {
            let kind = WaitKind::Condition { held: true };
            let wait = ArmedWait { key: LocalEffectKey::NONE, on, kind, name: String::new() };
            self.wait_fulfilled(id, &wait, Json::null());
        }
    }

    /// A condition that cannot be evaluated raises an incident at the element that waits for it.
    fn broken_condition(&mut self, id: ElementInstanceId, on: NodeRef, failure: Failure) {
        let Some(element) = self.element_mut(id) else { return };
        for wait in element.waits.iter_mut().filter(|wait| wait.on == on) {
            wait.kind = WaitKind::BrokenCondition;
        }
        if element.incident.is_none() {
            self.raise_incident(id, failure);
        }
    }

    /// Evaluates again the conditions of an element that could not be evaluated.
    pub(super) fn retry_broken_conditions(&mut self, id: ElementInstanceId) {
        let Some(element) = self.element_mut(id) else { return };
        let mut is_mended = false;
        for wait in &mut element.waits {
            if wait.kind == WaitKind::BrokenCondition {
                wait.kind = WaitKind::Condition { held: false };
                is_mended = true;
            }
        }
        self.changed |= is_mended;
    }
}
