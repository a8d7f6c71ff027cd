//! Places that stand still until somebody helps.

use std::collections::BTreeMap;

use meantime_core::{Effect, Failure, Json, Verdict};

use super::json;
use super::state::{Id, Key, Phase, ROOT, Role, Step, Then};
use super::turn::Machine;
use crate::model::Kind;

impl Machine<'_> {
    /// Parks an element where it stands; the rest of the instance goes on.
    pub(super) fn park(&mut self, id: Id, failure: Failure) {
        let element = self.place_of(id);
        let key = self.push(Effect::Incident { element, failure });
        if let Some(element) = self.element_mut(id) {
            element.incident = Some(key);
        }
    }

    /// Somebody wants a place to be tried again.
    pub(super) fn retried(&mut self, key: Key) -> Verdict {
        let Some(id) = self.parked(key) else { return Verdict::NotTaken };
        self.mend_conditions(id);
        let Some(element) = self.element_mut(id) else { return Verdict::NotTaken };
        element.incident = None;
        if element.phase == Phase::Raised {
            element.phase = Phase::Entering;
            if matches!(self.node_of(id).map(|node| &node.kind), Some(Kind::Gateway(_))) {
                self.look_again(id);
                return Verdict::taken();
            }
        }
        self.state.steps.push_back(Step::Run(id));
        Verdict::taken()
    }

    /// The element that stands still for an incident.
    fn parked(&self, key: Key) -> Option<Id> {
        let found = self.state.elements.iter().find(|(_, it)| it.incident == Some(key));
        found.map(|(id, _)| *id)
    }

    /// Somebody says that a place is done, and with what. The process as a whole is not a place.
    pub(super) fn resolved(&mut self, key: Key, variables: &Json) -> Verdict {
        let id = self.parked(key).filter(|id| *id != ROOT);
        let Some((id, values)) = id.zip(json::object_entries(variables)) else {
            return Verdict::NotTaken;
        };
        let Some(element) = self.element_mut(id) else { return Verdict::NotTaken };
        element.incident = None;
        match element.phase {
            // Tokens wait at a join: those that are there go on.
            Phase::Raised => self.join_anyway(id, values),
            // Its work is done and its outputs failed: these take their place.
            Phase::Completing => {
                element.phase = Phase::Leaving;
                element.result = None;
                self.leave_with(id, values);
            }
            // No flow could be chosen: with these perhaps one can.
            Phase::Leaving => self.leave_with(id, values),
            Phase::Entering | Phase::Active | Phase::Ending => self.complete_with(id, values),
        }
        Verdict::taken()
    }

    fn leave_with(&mut self, id: Id, values: BTreeMap<String, Json>) {
        if let Some(scope) = self.enclosing_scope(id) {
            self.propagate(scope, values);
        }
        self.state.steps.push_back(Step::Run(id));
    }

    /// Ends an element as if it had done its part. What still runs inside of it is ended first.
    fn complete_with(&mut self, id: Id, values: BTreeMap<String, Json>) {
        match self.element(id).map(|it| &it.role) {
            Some(Role::Plain) => self.complete(id, json::object(&values)),
            Some(Role::Scope | Role::AdHoc(_) | Role::Multi(_) | Role::Loop(_)) => {
                self.propagate(id, values);
                self.clear(id, Then::Complete);
            }
            // What failed is what these are for.
            Some(Role::Iteration(_) | Role::Compensating(_) | Role::Memory(_)) => {
                self.merge(id, values);
                self.state.steps.push_back(Step::Run(id));
            }
            None => {}
        }
    }

    /// The path of an element through the scopes around it: `Sub/Task`, `Items#2`.
    pub(super) fn place_of(&self, id: Id) -> String {
        let path = self.scope_path(id);
        if self.is_iterated(id) {
            return path.trim_end_matches('/').to_owned();
        }
        let here = self.node_of(id).map_or(&*self.process.id, |node| &*node.id);
        format!("{path}{here}")
    }

    /// The scopes around an element, each with a slash behind it.
    pub(super) fn scope_path(&self, id: Id) -> String {
        let mut parts = Vec::new();
        let mut at = self.parent_of(id);
        while let Some(parent) = at {
            let Some(element) = self.element(parent) else { break };
            if let Some(node) = element.node {
                let name = &self.process.node(node).id;
                match &element.role {
                    Role::Iteration(index) => parts.push(format!("{name}#{}/", index + 1)),
                    Role::Scope | Role::AdHoc(_) if !self.is_iterated(parent) => {
                        parts.push(format!("{name}/"));
                    }
                    _ => {}
                }
            }
            at = element.parent;
        }
        parts.reverse();
        parts.concat()
    }

    /// Whether an element is the activity inside one iteration.
    fn is_iterated(&self, id: Id) -> bool {
        let parent = self.parent_of(id).and_then(|parent| self.element(parent));
        parent.is_some_and(|it| matches!(it.role, Role::Iteration(_))) && self.is_repeated(id)
    }

    /// Whether an element is what a multi-instance activity or a loop repeats, and not the whole.
    pub(super) fn is_repeated(&self, id: Id) -> bool {
        let parent = self.parent_of(id).and_then(|parent| self.element(parent));
        parent.is_some_and(|it| {
            matches!(it.role, Role::Iteration(_) | Role::Loop(_))
                && it.node == self.element(id).and_then(|it| it.node)
        })
    }
}
