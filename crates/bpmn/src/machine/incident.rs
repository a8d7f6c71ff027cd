//! Places that stand still until somebody helps.

use meantime_core::{Effect, Failure, Verdict};

use super::state::{Id, Key, Phase, Role, Step};
use super::turn::Machine;
use crate::model::Kind;

impl Machine<'_> {
    /// Parks an element where it stands; the rest of the instance goes on.
    pub(super) fn park(&mut self, id: Id, failure: Failure) {
        let place = self.place_of(id);
        let key = self.push(Effect::Incident { place, failure });
        if let Some(element) = self.element_mut(id) {
            element.incident = Some(key);
        }
    }

    /// Somebody wants a place to be tried again.
    pub(super) fn retried(&mut self, key: Key) -> Verdict {
        let found = self.state.elements.iter().find(|(_, it)| it.incident == Some(key));
        let Some((id, _)) = found else { return Verdict::NotTaken };
        let id = *id;
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
