//! Errors look for whoever catches them: outwards, scope by scope, across call activities.

use meantime_core::{Effect, Failure, Json};

use super::json;
use super::state::{Id, Phase, Role, Then};
use super::turn::Machine;
use crate::model::{NodeRef, Trigger};

/// Who catches something.
pub(super) enum Catcher {
    /// A boundary event of an element.
    Boundary(Id, NodeRef),
    /// The start of an event sub-process in a scope.
    EventSub(Id, NodeRef),
}

impl Machine<'_> {
    /// Throws an error from an element. Nobody catches it: an incident right there.
    pub(super) fn throw_error(&mut self, id: Id, failure: &Failure, payload: Json) {
        let code = failure.code.clone();
        let matches = |trigger: &Trigger| match trigger {
            Trigger::Error { code: Some(caught), .. } if *caught == code => Some(true),
            Trigger::Error { code: None, .. } => Some(false),
            _ => None,
        };
        match self.find_catcher(id, &matches) {
            Some(Catcher::Boundary(host, node)) => {
                let payload = self.error_payload(node, failure, payload);
                self.interrupt(host, Some(Then::Boundary { node, payload }));
            }
            Some(Catcher::EventSub(scope, start)) => {
                let payload = self.error_payload(start, failure, payload);
                self.trigger_event_sub(scope, start, payload);
            }
            None if self.cx.is_caught(&code) => {
                let data = Some(payload).filter(|payload| !payload.is_null());
                let raised = Failure { data, ..failure.clone() };
                self.push(Effect::NotifyParent { raised });
                if let Some(element) = self.element_mut(id) {
                    element.phase = Phase::Raised;
                }
            }
            None => self.park(id, failure.clone()),
        }
    }

    /// The nearest event that catches: an exact code before any code at the same level.
    ///
    /// `matches` says whether a trigger catches, and whether by its very code.
    pub(super) fn find_catcher(
        &self,
        from: Id,
        matches: &dyn Fn(&Trigger) -> Option<bool>,
    ) -> Option<Catcher> {
        let (mut at, mut below) = (Some(from), None);
        while let Some(id) = at {
            let element = self.element(id)?;
            if element.runs_body() && !element.interrupted {
                let subs = &self.process.body_of(element.node).event_subs;
                // What comes out of an event sub-process does not start it again.
                let others = subs.iter().filter(|sub| below != Some(**sub));
                let starts = others.filter_map(|it| self.process.body_of(Some(*it)).starts.first());
                if let Some(start) = self.best(starts.copied(), matches) {
                    return Some(Catcher::EventSub(id, start));
                }
            }
            if element.armed && !self.is_part(id) {
                let boundaries = element.node.map(|node| &self.process.node(node).boundaries);
                let boundaries = boundaries.into_iter().flatten().copied();
                if let Some(boundary) = self.best(boundaries, matches) {
                    return Some(Catcher::Boundary(id, boundary));
                }
            }
            below = element.node;
            at = element.parent;
        }
        None
    }

    /// Whether an element is only a part of a repeated activity: events are on the whole.
    fn is_part(&self, id: Id) -> bool {
        let is_iteration = matches!(self.element(id).map(|it| &it.role), Some(Role::Iteration(_)));
        is_iteration || self.is_repeated(id)
    }

    fn best(
        &self,
        events: impl Iterator<Item = NodeRef>,
        matches: &dyn Fn(&Trigger) -> Option<bool>,
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

    /// What the catcher gets: variables of the thrower, and the code where the model asks for it.
    fn error_payload(&self, node: NodeRef, failure: &Failure, payload: Json) -> Json {
        let trigger = self.process.node(node).trigger();
        let Some(Trigger::Error { code_variable, message_variable, .. }) = trigger else {
            return payload;
        };
        let mut values = json::handed(&payload);
        if let Some(name) = code_variable {
            values.insert(name.clone(), json::of_text(&failure.code));
        }
        if let Some(name) = message_variable {
            values.insert(name.clone(), json::of_text(&failure.message));
        }
        json::object(&values)
    }

    /// A child raised something that somebody up here catches.
    pub(super) fn child_raised(&mut self, id: Id, raised: &Failure) {
        let payload = raised.data.clone().unwrap_or_default();
        match raised.code.strip_prefix(super::escalation::PREFIX) {
            Some(code) => {
                self.escalate_from_child(id, code, payload);
            }
            None => self.throw_error(id, raised, payload),
        }
    }

    /// Everything that is caught around an element: a child may throw these up.
    pub(super) fn catches(&self, id: Id) -> Vec<String> {
        let mut caught = Vec::new();
        let mut at = Some(id);
        while let Some(element) = at.and_then(|id| self.element(id)) {
            let node = element.node.map(|node| self.process.node(node));
            let boundaries = node.into_iter().flat_map(|node| &node.boundaries);
            let subs = if element.runs_body() && !element.interrupted {
                self.process.body_of(element.node).event_subs.as_slice()
            } else {
                &[]
            };
            let starts = subs.iter().flat_map(|sub| &self.process.body_of(Some(*sub)).starts);
            for event in boundaries.chain(starts) {
                caught.extend(match self.process.node(*event).trigger() {
                    Some(Trigger::Error { code, .. }) => {
                        Some(code.clone().unwrap_or_else(|| "*".to_owned()))
                    }
                    Some(Trigger::Escalation { code, .. }) => {
                        let code = code.as_deref().unwrap_or("*");
                        Some(format!("{}{code}", super::escalation::PREFIX))
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
