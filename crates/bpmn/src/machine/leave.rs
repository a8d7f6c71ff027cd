//! Elements complete: output mappings are applied, then tokens leave by the outgoing flows.

use std::collections::BTreeMap;

use meantime_core::{Failure, Json, Outcome};

use super::json;
use super::state::{ElementInstance, ElementInstanceId, ElementPhase, ElementRole, ROOT};
use super::turn::Machine;
use crate::incident_code::IncidentCode;
use crate::model::{FlowRef, Node, NodeKind, NodeRef};

impl Machine<'_> {
    /// Completes an element with its result: output mappings first, then the outgoing flows.
    pub(super) fn complete(&mut self, id: ElementInstanceId, result: Json) {
        let Some(element) = self.element_mut(id) else { return };
        element.phase = ElementPhase::Completing;
        element.result = Some(result);
        self.resume_element(id);
    }

    /// Applies output mappings, then leaves by the outgoing flows.
    pub(super) fn apply_outputs_and_leave(&mut self, id: ElementInstanceId) -> Result<(), Failure> {
        let Some(node) = self.node_of(id) else { return Ok(()) };
        let result = self.element(id).and_then(|it| it.result.clone()).unwrap_or_default();
        if self.is_multi(id) {
            // Each iteration has applied its own mappings; only the output collection is written
            // here.
            self.write_output_collection(id, node);
        } else if !matches!(self.element(id).map(|it| &it.role), Some(ElementRole::Loop(_))) {
            let values = self.named_result(id, &result);
            self.apply_outputs(id, &node.mapping, values)?;
        }
        if let Some(element) = self.element_mut(id) {
            element.phase = ElementPhase::Leaving;
            element.result = None;
        }
        self.leave(id)
    }

    /// The result as variables. A scope has no result: activities inside it have written theirs,
    /// and its local variables are dropped unless output mappings name them.
    fn named_result(&self, id: ElementInstanceId, result: &Json) -> BTreeMap<String, Json> {
        let is_scope = self.element(id).is_none_or(super::state::ElementInstance::is_scope);
        if is_scope { BTreeMap::new() } else { json::payload_variables(result) }
    }

    /// Chooses the outgoing flows and sends the tokens.
    pub(super) fn leave(&mut self, id: ElementInstanceId) -> Result<(), Failure> {
        let Some((at, node)) = self.element(id).and_then(|it| it.node).zip(self.node_of(id)) else {
            return Ok(());
        };
        if self.is_repeated(id) {
            self.record_compensable(id, at, node);
            self.remove_without_flow(id, at);
            return Ok(());
        }
        let flows = self.choose_flows(id, node)?;
        self.record_compensable(id, at, node);
        self.cancel_waits(id);
        let Some(element) = self.remove_left(id, at) else { return Ok(()) };
        let Some(scope) = element.parent else { return Ok(()) };
        for flow in flows {
            self.send_token(self.process.flow(flow).target, scope, Some(flow), None);
        }
        if let Err(failure) = self.ad_hoc_progress(scope) {
            self.raise_incident(scope, failure);
        }
        self.complete_scope_if_empty(scope);
        Ok(())
    }

    /// Removes an element without taking a flow.
    fn remove_without_flow(&mut self, id: ElementInstanceId, at: NodeRef) {
        self.cancel_waits(id);
        let parent = self.remove_left(id, at).and_then(|it| it.parent);
        if let Some(parent) = parent {
            self.complete_scope_if_empty(parent);
        }
    }

    pub(super) fn remove_left(
        &mut self,
        id: ElementInstanceId,
        at: NodeRef,
    ) -> Option<ElementInstance> {
        self.path.left(id, at);
        self.remove(id)
    }

    /// The outgoing flows that tokens take.
    pub(super) fn choose_flows(
        &mut self,
        id: ElementInstanceId,
        node: &Node,
    ) -> Result<Vec<FlowRef>, Failure> {
        match &node.kind {
            NodeKind::Gateway(gateway) => self.choose_at_gateway(id, node, gateway),
            // Several flows of an activity or event fork; a condition excludes its flow.
            _ => self.choose_some(id, node),
        }
    }

    /// Ends a scope in which nothing is active, according to its role.
    pub(super) fn complete_scope_if_empty(&mut self, id: ElementInstanceId) {
        let Some(element) = self.element(id) else { return };
        if element.busy > 0 || !element.joins.is_empty() {
            return;
        }
        if element.phase == ElementPhase::Ending {
            self.try_finish_ending(id);
            return;
        }
        if element.then.is_some() {
            self.continue_after_clearing(id);
            return;
        }
        match &element.role {
            ElementRole::Scope if id == ROOT => self.end_process(),
            ElementRole::Scope if element.phase == ElementPhase::Active => {
                self.complete(id, Json::null());
            }
            ElementRole::AdHoc(_) => self.ad_hoc_scope_empty(id),
            ElementRole::Iteration(_) => self.iteration_done(id),
            ElementRole::Loop(_) => self.loop_iteration_done(id),
            ElementRole::Compensating(_) | ElementRole::CompensationScope(_) => {
                self.compensate_next(id);
            }
            ElementRole::Scope | ElementRole::Leaf | ElementRole::MultiInstance(_) => {}
        }
    }

    fn end_process(&mut self) {
        // Open waits, such as those of event sub-processes, are cancelled by the kernel (T9).
        let output = self.root_variables();
        self.outcome = Some(Outcome::Completed { context: output.clone(), output });
    }
}

/// No flow can be taken, and there is no default.
pub(super) fn no_flow_taken() -> Failure {
    IncidentCode::NoFlowTaken.failure("no condition holds and there is no default flow")
}
