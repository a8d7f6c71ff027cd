//! Delivers events to the elements that wait for them. Dispatch only.

use meantime_core::{Event, Json, Outcome, Verdict, unknown_scope};

use super::json;
use super::state::{ArmedWait, ElementInstanceId, LocalEffectKey, ROOT, WaitKind};
use super::turn::Machine;

impl Machine<'_> {
    /// Handles one event. Total: an event that no element waits for is `NotTaken`.
    pub(super) fn handle_event(&mut self, event: &Event) -> Verdict {
        match event {
            Event::Continue => Verdict::taken(),
            Event::TaskDone { key, outcome } => match self.remove_wait((*key).into()) {
                Some((id, _)) => self.task_done(id, outcome),
                None => Verdict::NotTaken,
            },
            Event::TimerFired { key, .. } => self.fulfil_wait((*key).into(), Json::null()),
            Event::Signal { key, payload, .. } | Event::Message { key, payload, .. } => {
                self.fulfil_wait((*key).into(), payload.clone())
            }
            Event::ChildDone { key, outcome, .. } => match self.find_child_element((*key).into()) {
                Some(id) => self.child_done(id, outcome),
                None => Verdict::NotTaken,
            },
            Event::EffectDone { key, answer } => match self.find_child_element((*key).into()) {
                Some(id) => self.child_refused(id, answer),
                None => Verdict::NotTaken,
            },
            Event::ChildRaised { key, raised } => match self.find((*key).into()) {
                Some(id) => {
                    self.catch_child_error(id, raised);
                    Verdict::taken()
                }
                None => Verdict::NotTaken,
            },
            Event::Submitted { step, .. } => {
                let problem = json::of_text(&format!("a process has no step {step:?}"));
                Verdict::Refused { code: "step_not_active".to_owned(), problem }
            }
            Event::IncidentRetried { key, .. } => match key {
                Some(key) => self.retry_incident((*key).into()),
                None => Verdict::NotTaken,
            },
            Event::IncidentResolved { key, variables, .. } => {
                self.resolve_incident((*key).into(), variables)
            }
            Event::VariablesSet { values, scope } => self.set_variables(values, scope.as_deref()),
            Event::Cancel { reason } => {
                let (reason, context) = (reason.clone(), self.root_variables());
                self.outcome = Some(Outcome::Cancelled { reason, context });
                Verdict::taken()
            }
            Event::DeadlineReached => {
                self.outcome = Some(self.timed_out());
                Verdict::taken()
            }
            // Handled by the kernel; the process has no wait for it.
            Event::DeadlineMoved { .. } => Verdict::NotTaken,
        }
    }

    /// An operator sets variables of the process or of one of its scopes.
    fn set_variables(&mut self, values: &Json, scope: Option<&str>) -> Verdict {
        let id = match scope {
            None => Some(ROOT),
            Some(text) => text.parse().ok().map(ElementInstanceId).filter(|id| self.has_scope(*id)),
        };
        match (id, json::object_entries(values)) {
            (Some(id), Some(values)) => {
                self.merge(id, values);
                Verdict::taken()
            }
            (None, _) => unknown_scope(scope.unwrap_or_default()),
            (_, None) => Verdict::NotTaken,
        }
    }

    fn has_scope(&self, id: ElementInstanceId) -> bool {
        id != ROOT && self.element(id).is_some_and(|element| !element.is_ending())
    }

    /// An armed wait was fulfilled.
    fn fulfil_wait(&mut self, key: LocalEffectKey, payload: Json) -> Verdict {
        match self.remove_wait(key) {
            Some((id, wait)) => {
                self.wait_fulfilled(id, &wait, payload);
                Verdict::taken()
            }
            // Stale: the wait was cancelled or fulfilled by an earlier event, so its key no longer
            // exists. Nothing may change, or a cancelled wait would fire, or one wait twice.
            None => Verdict::NotTaken,
        }
    }

    /// Removes and returns the wait of that key; none if the element is ending.
    fn remove_wait(&mut self, key: LocalEffectKey) -> Option<(ElementInstanceId, ArmedWait)> {
        let id = self.find(key)?;
        let element = self.element_mut(id)?;
        let index = element.waits.iter().position(|wait| wait.key == key)?;
        Some((id, element.waits.remove(index)))
    }

    /// The element of a child instance; also one that is ending and only waits for the child's end.
    fn find_child_element(&mut self, key: LocalEffectKey) -> Option<ElementInstanceId> {
        let waits = |wait: &ArmedWait| wait.key == key && wait.kind == WaitKind::Child;
        let found = self.state.elements.iter_mut().find(|(_, it)| it.waits.iter().any(waits));
        let (id, element) = found?;
        element.waits.retain(|wait| !waits(wait));
        Some(*id)
    }

    /// The element that has a wait with the key.
    fn find(&self, key: LocalEffectKey) -> Option<ElementInstanceId> {
        // Conditions are not effects and share the key `NONE`, which must find none of them.
        let waits = |wait: &ArmedWait| wait.key == key && key != LocalEffectKey::NONE;
        let found = self
            .state
            .elements
            .iter()
            // An element that is ending keeps its child waits; only the end of the child, which
            // `find_child_element` delivers, may still reach it.
            .find(|(_, it)| !it.is_ending() && it.waits.iter().any(waits));
        found.map(|(id, _)| *id)
    }

    /// The outcome of an instance whose deadline has passed, as the definition declares it (D2).
    fn timed_out(&self) -> Outcome {
        Outcome::timed_out(self.execution, self.cx.deadline, self.root_variables())
    }
}
