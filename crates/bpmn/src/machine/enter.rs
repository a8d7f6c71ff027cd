//! Tokens reach nodes; elements are set up.

use meantime_core::{Failure, Json};

use super::state::{ArmedWait, ElementInstanceId, ElementPhase, ElementRole, ROOT};
use super::turn::Machine;
use crate::model::{FlowRef, Gateway, LoopCharacteristics, Node, NodeKind, NodeRef};

impl Machine<'_> {
    /// A token reaches a node.
    pub(super) fn enter(
        &mut self,
        at: NodeRef,
        scope: ElementInstanceId,
        flow: Option<FlowRef>,
        payload: Option<Json>,
    ) {
        let Some(element) = self.element_mut(scope) else { return };
        element.busy = element.busy.saturating_sub(1);
        let node = self.process.node(at);
        if is_joining(node)
            && let Some(flow) = flow
        {
            self.arrive(at, scope, flow);
            self.complete_scope_if_empty(scope);
            return;
        }
        let id = self.create(Some(at), Some(scope));
        match payload {
            // It has happened already: only its results and its flows are left.
            Some(payload) => self.complete(id, payload),
            None => self.resume_element(id),
        }
    }

    /// Goes on with an element from its phase; what fails parks it there.
    pub(super) fn resume_element(&mut self, id: ElementInstanceId) {
        let Some(element) = self.element(id) else { return };
        if element.incident.is_some() {
            return;
        }
        let result = match element.phase {
            ElementPhase::Entering if id == ROOT => self.set_up_process(),
            ElementPhase::Entering => self.enter_activity(id),
            ElementPhase::Active => self.retry_active_element(id),
            ElementPhase::Completing => self.apply_outputs_and_leave(id),
            ElementPhase::Leaving => self.leave(id),
            ElementPhase::Ending | ElementPhase::WaitingForCatcher => Ok(()),
        };
        if let Err(failure) = result {
            self.raise_incident(id, failure);
        }
    }

    /// Inputs, boundary events, then the activity itself.
    fn enter_activity(&mut self, id: ElementInstanceId) -> Result<(), Failure> {
        let Some(node) = self.node_of(id) else { return Ok(()) };
        let whole = !self.is_repeated(id);
        if whole && node.repeat.is_some() {
            // Inputs belong to each iteration.
            self.arm_boundaries(id, node)?;
        } else {
            if matches!(node.kind, NodeKind::SubProcess(_)) {
                // Before anything lands in it, a scope is a scope.
                self.mark_as_scope(id);
            }
            self.apply_inputs(id, &node.mapping)?;
            if whole {
                self.arm_boundaries(id, node)?;
            }
        }
        self.activate(id);
        self.begin_activity(id)
    }

    fn begin_activity(&mut self, id: ElementInstanceId) -> Result<(), Failure> {
        let repeat = self.node_of(id).and_then(|node| node.repeat.as_ref());
        match repeat.filter(|_| !self.is_repeated(id)) {
            Some(LoopCharacteristics::MultiInstance(multi)) => self.begin_multi(id, multi),
            Some(LoopCharacteristics::StandardLoop { .. }) => self.begin_loop(id),
            None => self.perform(id),
        }
    }

    /// An active element that was parked is tried again.
    fn retry_active_element(&mut self, id: ElementInstanceId) -> Result<(), Failure> {
        match self.element(id).map(|it| &it.role) {
            // What it does goes on: only what failed beside it was to be tried again.
            Some(ElementRole::Leaf | ElementRole::Scope) if self.has_open_work(id) => Ok(()),
            Some(ElementRole::Leaf | ElementRole::Scope) => self.begin_activity(id),
            Some(ElementRole::AdHoc(_)) => {
                self.ad_hoc_progress(id)?;
                self.complete_scope_if_empty(id);
                Ok(())
            }
            Some(_) => {
                self.complete_scope_if_empty(id);
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Whether an element waits for its own work, or something runs inside of it.
    fn has_open_work(&self, id: ElementInstanceId) -> bool {
        let Some(element) = self.element(id) else { return false };
        let own = |wait: &ArmedWait| Some(wait.on) == element.node;
        element.busy > 0 || element.waits.iter().any(own)
    }

    fn activate(&mut self, id: ElementInstanceId) {
        if let Some(element) = self.element_mut(id) {
            element.phase = ElementPhase::Active;
        }
    }

    fn mark_as_scope(&mut self, id: ElementInstanceId) {
        if let Some(element) = self.element_mut(id)
            && matches!(element.role, ElementRole::Leaf)
        {
            element.role = ElementRole::Scope;
        }
    }

    fn arm_boundaries(&mut self, id: ElementInstanceId, node: &Node) -> Result<(), Failure> {
        let armed = self.element(id).is_none_or(|it| it.armed);
        if !armed && !node.boundaries.is_empty() {
            self.arm(id, &node.boundaries)?;
        }
        if let Some(element) = self.element_mut(id) {
            // Event sub-processes of a scope are armed by the scope itself.
            element.armed = true;
        }
        Ok(())
    }
}

/// Whether tokens wait for each other at a node.
fn is_joining(node: &Node) -> bool {
    let waits = matches!(
        node.kind,
        NodeKind::Gateway(Gateway::Parallel | Gateway::Inclusive | Gateway::Complex { .. })
    );
    waits && node.incoming.len() > 1
}
