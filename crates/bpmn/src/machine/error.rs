//! Errors propagate outwards, scope by scope and across call activities, to the nearest catch
//! event.

use meantime_core::{Effect, Failure, Json};

use super::json;
use super::state::{Continuation, ElementInstanceId, ElementPhase, ElementRole};
use super::turn::Machine;
use crate::model::{EventTrigger, NodeRef};

/// The event that catches an error or escalation.
pub(super) enum Catcher {
    /// A boundary event of an element.
    BoundaryEvent(ElementInstanceId, NodeRef),
    /// The start of an event sub-process in a scope.
    EventSubProcess(ElementInstanceId, NodeRef),
}

impl Machine<'_> {
    /// Throws an error from an element. An error that no event catches is an incident at the
    /// element.
    pub(super) fn throw_error(&mut self, id: ElementInstanceId, failure: &Failure, payload: Json) {
        let code = failure.code.clone();
        let matches = |trigger: &EventTrigger| match trigger {
            EventTrigger::Error { code: Some(caught), .. } if *caught == code => Some(true),
            EventTrigger::Error { code: None, .. } => Some(false),
            _ => None,
        };
        match self.find_catcher(id, &matches) {
            Some(Catcher::BoundaryEvent(host, node)) => {
                let payload = self.error_payload(node, failure, payload);
                self.interrupt(host, Some(Continuation::Boundary { node, payload }));
            }
            Some(Catcher::EventSubProcess(scope, start)) => {
                let payload = self.error_payload(start, failure, payload);
                self.trigger_event_sub_process(scope, start, payload);
            }
            None if self.cx.is_caught(&code) => {
                let data = Some(payload).filter(|payload| !payload.is_null());
                let raised = Failure { data, ..failure.clone() };
                self.push(Effect::NotifyParent { raised });
                if let Some(element) = self.element_mut(id) {
                    element.phase = ElementPhase::WaitingForCatcher;
                }
            }
            None => self.raise_incident(id, failure.clone()),
        }
    }

    /// The nearest event that catches: at one level, an event with the exact code is preferred to
    /// one that catches any code.
    ///
    /// `matches` returns whether a trigger catches, and whether by the exact code.
    pub(super) fn find_catcher(
        &self,
        from: ElementInstanceId,
        matches: &dyn Fn(&EventTrigger) -> Option<bool>,
    ) -> Option<Catcher> {
        let (mut at, mut below) = (Some(from), None);
        while let Some(id) = at {
            let element = self.element(id)?;
            if element.runs_body() && !element.interrupted {
                let subs = &self.process.body_of(element.node).event_sub_processes;
                // An event sub-process does not catch errors from inside itself.
                let others = subs.iter().filter(|sub| below != Some(**sub));
                let starts = others.filter_map(|it| self.process.body_of(Some(*it)).starts.first());
                if let Some(start) = self.best_match(starts.copied(), matches) {
                    return Some(Catcher::EventSubProcess(id, start));
                }
            }
            if element.armed && !self.is_repeated_part(id) {
                let boundaries = element.node.map(|node| &self.process.node(node).boundaries);
                let boundaries = boundaries.into_iter().flatten().copied();
                if let Some(boundary) = self.best_match(boundaries, matches) {
                    return Some(Catcher::BoundaryEvent(id, boundary));
                }
            }
            below = element.node;
            at = element.parent;
        }
        None
    }

    /// Whether an element is one repetition of an activity: boundary events belong to the activity
    /// as a whole.
    fn is_repeated_part(&self, id: ElementInstanceId) -> bool {
        let is_iteration =
            matches!(self.element(id).map(|it| &it.role), Some(ElementRole::Iteration(_)));
        is_iteration || self.is_repeated(id)
    }

    fn best_match(
        &self,
        events: impl Iterator<Item = NodeRef>,
        matches: &dyn Fn(&EventTrigger) -> Option<bool>,
    ) -> Option<NodeRef> {
        let mut any = None;
        for at in events {
            match self.process.node(at).trigger().and_then(matches) {
                Some(true) => return Some(at),
                Some(false) => any = any.or(Some(at)),
                None => {}
            }
        }
        any
    }

    /// The payload of the catching event: variables of the throwing element, and the code if the
    /// model asks for it.
    fn error_payload(&self, node: NodeRef, failure: &Failure, payload: Json) -> Json {
        let trigger = self.process.node(node).trigger();
        let Some(EventTrigger::Error { code_variable, message_variable, .. }) = trigger else {
            return payload;
        };
        let mut values = json::payload_variables(&payload);
        if let Some(name) = code_variable {
            values.insert(name.clone(), json::of_text(&failure.code));
        }
        if let Some(name) = message_variable {
            values.insert(name.clone(), json::of_text(&failure.message));
        }
        json::object(&values)
    }

    /// Catches an error or escalation that a called instance raised.
    pub(super) fn catch_child_error(&mut self, id: ElementInstanceId, raised: &Failure) {
        let payload = raised.data.clone().unwrap_or_default();
        match raised.code.strip_prefix(super::escalation::ESCALATION_PREFIX) {
            Some(code) => {
                self.escalate_from_child(id, code, payload);
            }
            None => self.throw_error(id, raised, payload),
        }
    }

    /// All codes that are caught around an element: a child instance may throw these.
    pub(super) fn codes_caught_around(&self, id: ElementInstanceId) -> Vec<String> {
        let mut caught = Vec::new();
        let mut at = Some(id);
        while let Some(element) = at.and_then(|id| self.element(id)) {
            let node = element.node.map(|node| self.process.node(node));
            let boundaries = node.into_iter().flat_map(|node| &node.boundaries);
            let subs = if element.runs_body() && !element.interrupted {
                self.process.body_of(element.node).event_sub_processes.as_slice()
            } else {
                &[]
            };
            let starts = subs.iter().flat_map(|sub| &self.process.body_of(Some(*sub)).starts);
            for event in boundaries.chain(starts) {
                caught.extend(match self.process.node(*event).trigger() {
                    Some(EventTrigger::Error { code, .. }) => {
                        Some(code.clone().unwrap_or_else(|| "*".to_owned()))
                    }
                    Some(EventTrigger::Escalation { code, .. }) => {
                        let code = code.as_deref().unwrap_or("*");
                        Some(format!("{}{code}", super::escalation::ESCALATION_PREFIX))
                    }
                    _ => None,
                });
            }
            at = element.parent;
        }
        caught.sort();
        caught.dedup();
        caught
    }
}
