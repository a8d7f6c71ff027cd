//! Tokens enter nodes; elements are set up.

use meantime_core::{Failure, Json};

use super::state::{ArmedWait, ElementInstanceId, ElementPhase, ElementRole, ROOT};
use super::turn::Machine;
use crate::model::{FlowRef, Gateway, LoopCharacteristics, Node, NodeKind, NodeRef};

impl Machine<'_> {
    /// A token enters a node.
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
            // The event of this node has already happened, so the element completes at once with
            // its payload.
            Some(payload) => self.complete(id, payload),
            None => self.resume_element(id),
        }
    }

    /// Continues an element from its phase. A failure raises an incident and leaves the phase
    /// unchanged.
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

    /// Applies inputs, arms boundary events, then starts the activity.
    fn enter_activity(&mut self, id: ElementInstanceId) -> Result<(), Failure> {
        let Some(node) = self.node_of(id) else { return Ok(()) };
        let whole = !self.is_repeated(id);
        if whole && node.repeat.is_some() {
            // Input mappings are applied for each iteration, not for the whole.
            self.arm_boundaries(id, node)?;
        } else {
            if matches!(node.kind, NodeKind::SubProcess(_)) {
                // Before anything can fail, so that an incident at this element is handled as one
                // of a scope.
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

    /// Continues an active element after its incident was retried.
    fn retry_active_element(&mut self, id: ElementInstanceId) -> Result<(), Failure> {
        match self.element(id).map(|it| &it.role) {
            // Its own work is still open, so it is not started a second time: the incident was
            // about something beside it, such as a condition.
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

    /// Whether an element waits for its own work, or something inside it is active.
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
            // Only boundary events are armed here; a scope arms its event sub-processes itself.
            element.armed = true;
        }
        Ok(())
    }
}

/// Whether tokens wait for each other at the node.
fn is_joining(node: &Node) -> bool {
    let waits = matches!(
        node.kind,
        NodeKind::Gateway(Gateway::Parallel | Gateway::Inclusive | Gateway::Complex { .. })
    );
    waits && node.incoming.len() > 1
}
