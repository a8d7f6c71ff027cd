//! Compensation: runs the handlers of completed activities, last completed first, each once.

use meantime_core::Json;

use super::multi_instance::private_variables;
use super::state::{
    CompensationProgress, CompletedActivity, Continuation, ElementInstanceId, ElementPhase,
    ElementRole, QueuedStep,
};
use super::turn::Machine;
use crate::model::{EventTrigger, Node, NodeKind, NodeRef};

impl Machine<'_> {
    /// Records a completed activity that can be compensated in the enclosing scope.
    pub(super) fn record_compensable(&mut self, id: ElementInstanceId, at: NodeRef, node: &Node) {
        if !node.is_activity() || node.is_event_sub_process() {
            return;
        }
        let Some(parent) = self.parent_of(id) else { return };
        let Some(element) = self.element_mut(id) else { return };
        let (is_whole, inner) =
            (is_repetition_root(&element.role), std::mem::take(&mut element.done));
        let variables = if element.runs_body() {
            element.variables.clone()
        } else {
            std::collections::BTreeMap::new()
        };
        let around = self.element(parent).map(private_variables).unwrap_or_default();
        let Some(scope) = self.element_mut(parent) else { return };
        if is_whole {
            // Each iteration of a repeated activity was recorded separately.
            scope.done.extend(inner);
        } else if node.handler.is_some() {
            scope.done.push(CompletedActivity { node: at, variables: around, inner: Vec::new() });
        } else if !inner.is_empty() {
            let variables = around.into_iter().chain(variables).collect();
            scope.done.push(CompletedActivity { node: at, variables, inner });
        }
    }

    /// A thrown compensation: of one activity, or of all completed activities in its scope.
    pub(super) fn compensate(&mut self, id: ElementInstanceId, activity: Option<NodeRef>) {
        let mut rest = Vec::new();
        for scope in self.compensated_scopes(id) {
            let Some(element) = self.element_mut(scope) else { continue };
            let (chosen, others): (Vec<CompletedActivity>, Vec<CompletedActivity>) =
                std::mem::take(&mut element.done)
                    .into_iter()
                    .partition(|done| activity.is_none_or(|wanted| done.node == wanted));
            element.done = others;
            rest.extend(chosen);
        }
        if let Some(element) = self.element_mut(id) {
            element.role = ElementRole::Compensating(CompensationProgress { rest, cancels: false });
        }
        self.compensate_next(id);
    }

    /// The scope of the event; for an event sub-process also the scope that contains it.
    fn compensated_scopes(&self, id: ElementInstanceId) -> Vec<ElementInstanceId> {
        let mut scopes = Vec::new();
        let mut at = self.parent_of(id);
        while let Some(scope) = at {
            scopes.push(scope);
            let is_event_sub = self.node_of(scope).is_some_and(Node::is_event_sub_process);
            at = self.parent_of(scope).filter(|_| is_event_sub);
        }
        scopes.reverse();
        scopes
    }

    /// Runs the next handler; after the last one, completes.
    pub(super) fn compensate_next(&mut self, id: ElementInstanceId) {
        let Some(ElementRole::Compensating(work) | ElementRole::CompensationScope(work)) =
            self.element_mut(id).map(|it| &mut it.role)
        else {
            return;
        };
        let Some(done) = work.rest.pop() else { return self.compensation_finished(id) };
        match self.process.node(done.node).handler {
            Some(handler) => self.run_handler(id, handler, done.variables),
            None => self.compensate_inside(id, done),
        }
    }

    /// All handlers have run.
    fn compensation_finished(&mut self, id: ElementInstanceId) {
        match self.element(id).map(|it| &it.role) {
            Some(ElementRole::Compensating(CompensationProgress { cancels: true, .. })) => {
                self.transaction_cancelled(id);
            }
            Some(ElementRole::CompensationScope(_)) => {
                let parent = self.remove(id).and_then(|it| it.parent);
                if let Some(parent) = parent {
                    self.complete_scope_if_empty(parent);
                }
            }
            _ => self.complete(id, Json::null()),
        }
    }

    fn run_handler(
        &mut self,
        id: ElementInstanceId,
        handler: NodeRef,
        variables: std::collections::BTreeMap<String, Json>,
    ) {
        let element = self.create(Some(handler), Some(id));
        if let Some(element) = self.element_mut(element) {
            element.variables = variables;
        }
        self.state.steps.push_back(QueuedStep::Run(element));
    }

    /// A completed sub-process without a handler: compensates the activities inside it, with the
    /// variables it had.
    fn compensate_inside(&mut self, id: ElementInstanceId, done: CompletedActivity) {
        let memory = self.create(None, Some(id));
        let work = CompensationProgress { rest: done.inner, cancels: false };
        if let Some(element) = self.element_mut(memory) {
            (element.node, element.role) = (Some(done.node), ElementRole::CompensationScope(work));
            (element.phase, element.variables) = (ElementPhase::Active, done.variables);
        }
        self.compensate_next(memory);
    }

    /// A transaction is cancelled: all its completed activities are compensated first.
    pub(super) fn compensate_transaction(&mut self, scope: ElementInstanceId) {
        let rest = self.element_mut(scope).map(|it| std::mem::take(&mut it.done));
        let rest = rest.unwrap_or_default();
        let id = self.create(None, Some(scope));
        if let Some(element) = self.element_mut(id) {
            element.phase = ElementPhase::Active;
            element.role = ElementRole::Compensating(CompensationProgress { rest, cancels: true });
        }
        self.compensate_next(id);
    }

    /// The compensation of a cancelled transaction has ended: its cancel boundary event is
    /// triggered.
    fn transaction_cancelled(&mut self, id: ElementInstanceId) {
        let Some(scope) = self.parent_of(id) else { return };
        let boundaries = self.node_of(scope).map(|node| &node.boundaries);
        let is_cancel = |at: &&NodeRef| {
            matches!(&self.process.node(**at).kind, NodeKind::Boundary(it)
                if matches!(it.trigger, EventTrigger::Cancel))
        };
        let node = boundaries.into_iter().flatten().find(is_cancel).copied();
        let then = node.map(|node| Continuation::Boundary { node, payload: Json::null() });
        self.interrupt(scope, then);
    }
}

/// Whether it is a repeated activity as a whole, not one of its iterations.
fn is_repetition_root(role: &ElementRole) -> bool {
    matches!(role, ElementRole::MultiInstance(_) | ElementRole::Loop(_))
}
