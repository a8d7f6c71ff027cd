//! Elements with an incident, and the operations that continue them.

use std::collections::BTreeMap;

use meantime_core::{Effect, Failure, Json, Verdict};

use super::json;
use super::state::{
    Continuation, ElementInstanceId, ElementPhase, ElementRole, LocalEffectKey, QueuedStep, ROOT,
};
use super::turn::Machine;
use crate::model::NodeKind;

impl Machine<'_> {
    /// Stops an element with an incident; the rest of the instance continues.
    pub(super) fn raise_incident(&mut self, id: ElementInstanceId, failure: Failure) {
        let element = self.element_path(id);
        let key = self.push(Effect::Incident { element, failure });
        if let Some(element) = self.element_mut(id) {
            element.incident = Some(key);
        }
    }

    /// An operator retries an incident.
    pub(super) fn retry_incident(&mut self, key: LocalEffectKey) -> Verdict {
        let Some(id) = self.element_with_incident(key) else { return Verdict::NotTaken };
        self.retry_broken_conditions(id);
        let Some(element) = self.element_mut(id) else { return Verdict::NotTaken };
        element.incident = None;
        if element.phase == ElementPhase::WaitingForCatcher {
            element.phase = ElementPhase::Entering;
            if matches!(self.node_of(id).map(|node| &node.kind), Some(NodeKind::Gateway(_))) {
                self.retry_join(id);
                return Verdict::taken();
            }
        }
        self.state.steps.push_back(QueuedStep::Run(id));
        Verdict::taken()
    }

    /// The element that an incident belongs to.
    fn element_with_incident(&self, key: LocalEffectKey) -> Option<ElementInstanceId> {
        let found = self.state.elements.iter().find(|(_, it)| it.incident == Some(key));
        found.map(|(id, _)| *id)
    }

    /// An operator resolves an incident: the element completes with the given variables. The
    /// process as a whole cannot be resolved.
    pub(super) fn resolve_incident(&mut self, key: LocalEffectKey, variables: &Json) -> Verdict {
        let id = self.element_with_incident(key).filter(|id| *id != ROOT);
        let Some((id, values)) = id.zip(json::object_entries(variables)) else {
            return Verdict::NotTaken;
        };
        let Some(element) = self.element_mut(id) else { return Verdict::NotTaken };
        element.incident = None;
        match element.phase {
            // A join with an incident: the tokens that have arrived continue.
            ElementPhase::WaitingForCatcher => self.force_join(id, values),
            // The work is done but the output mappings failed: the given variables replace their
            // result.
            ElementPhase::Completing => {
                element.phase = ElementPhase::Leaving;
                element.result = None;
                self.leave_with(id, values);
            }
            // No flow could be chosen: the choice is made again with the given variables.
            ElementPhase::Leaving => self.leave_with(id, values),
            ElementPhase::Entering | ElementPhase::Active | ElementPhase::Ending => {
                self.complete_with(id, values);
            }
        }
        Verdict::taken()
    }

    fn leave_with(&mut self, id: ElementInstanceId, values: BTreeMap<String, Json>) {
        if let Some(scope) = self.enclosing_scope(id) {
            self.propagate(scope, values);
        }
        self.state.steps.push_back(QueuedStep::Run(id));
    }

    /// Completes an element as if its work were done. Everything active inside it is ended first.
    fn complete_with(&mut self, id: ElementInstanceId, values: BTreeMap<String, Json>) {
        match self.element(id).map(|it| &it.role) {
            Some(ElementRole::Leaf) => self.complete(id, json::object(&values)),
            Some(
                ElementRole::Scope
                | ElementRole::AdHoc(_)
                | ElementRole::MultiInstance(_)
                | ElementRole::Loop(_),
            ) => {
                self.propagate(id, values);
                self.end_scope_content(id, Continuation::Complete);
            }
            // What failed is an expression of the element itself: it is evaluated again with these
            // variables.
            Some(
                ElementRole::Iteration(_)
                | ElementRole::Compensating(_)
                | ElementRole::CompensationScope(_),
            ) => {
                self.merge(id, values);
                self.state.steps.push_back(QueuedStep::Run(id));
            }
            None => {}
        }
    }

    /// The path of an element through the scopes around it: `SubProcess/Task`, `Items#2`.
    pub(super) fn element_path(&self, id: ElementInstanceId) -> String {
        let path = self.scope_path(id);
        if self.is_iterated(id) {
            return path.trim_end_matches('/').to_owned();
        }
        let here = self.node_of(id).map_or(&*self.process.id, |node| &*node.id);
        format!("{path}{here}")
    }

    /// The path of the enclosing scopes, each followed by a slash.
    pub(super) fn scope_path(&self, id: ElementInstanceId) -> String {
        let mut parts = Vec::new();
        let mut at = self.parent_of(id);
        while let Some(parent) = at {
            let Some(element) = self.element(parent) else { break };
            if let Some(node) = element.node {
                let name = &self.process.node(node).id;
                match &element.role {
                    ElementRole::Iteration(index) => parts.push(format!("{name}#{}/", index + 1)),
                    ElementRole::Scope | ElementRole::AdHoc(_) if !self.is_iterated(parent) => {
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
    fn is_iterated(&self, id: ElementInstanceId) -> bool {
        let parent = self.parent_of(id).and_then(|parent| self.element(parent));
        parent.is_some_and(|it| matches!(it.role, ElementRole::Iteration(_)))
            && self.is_repeated(id)
    }

    /// Whether an element is one repetition in a multi-instance activity or loop, not the activity
    /// as a whole.
    pub(super) fn is_repeated(&self, id: ElementInstanceId) -> bool {
        let parent = self.parent_of(id).and_then(|parent| self.element(parent));
        parent.is_some_and(|it| {
            matches!(it.role, ElementRole::Iteration(_) | ElementRole::Loop(_))
                && it.node == self.element(id).and_then(|it| it.node)
        })
    }
}
