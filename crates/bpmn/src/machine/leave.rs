//! Elements complete, hand on their results, and leave by their flows.

use std::collections::BTreeMap;

use meantime_core::{Failure, Json, Outcome};

use super::json;
use super::state::{Element, Id, Phase, ROOT, Role};
use super::turn::Machine;
use crate::model::{FlowRef, Kind, Node, NodeRef};
use crate::trouble::Trouble;

impl Machine<'_> {
    /// An element has done its part; what it hands on is applied, then it leaves.
    pub(super) fn complete(&mut self, id: Id, result: Json) {
        let Some(element) = self.element_mut(id) else { return };
        element.phase = Phase::Completing;
        element.result = Some(result);
        self.go_on(id);
    }

    /// Outputs, then flows.
    pub(super) fn hand_on(&mut self, id: Id) -> Result<(), Failure> {
        let Some(node) = self.node_of(id) else { return Ok(()) };
        let result = self.element(id).and_then(|it| it.result.clone()).unwrap_or_default();
        if self.is_multi(id) {
            // Iterations have applied their own mappings; only the collection leaves.
            self.put_out_collection(id, node);
        } else if !matches!(self.element(id).map(|it| &it.role), Some(Role::Loop(_))) {
            let values = self.named_result(id, &result);
            self.apply_outputs(id, &node.mapping, values)?;
        }
        if let Some(element) = self.element_mut(id) {
            element.phase = Phase::Leaving;
            element.result = None;
        }
        self.leave(id)
    }

    /// The result by variables. A scope has none: what was done in it has handed on its own, and
    /// its variables end with it unless output mappings name them.
    fn named_result(&self, id: Id, result: &Json) -> BTreeMap<String, Json> {
        let is_scope = self.element(id).is_none_or(super::state::Element::is_scope);
        if is_scope { BTreeMap::new() } else { json::handed(result) }
    }

    /// Chooses the flows and goes.
    pub(super) fn leave(&mut self, id: Id) -> Result<(), Failure> {
        let Some((at, node)) = self.element(id).and_then(|it| it.node).zip(self.node_of(id)) else {
            return Ok(());
        };
        if self.is_repeated(id) {
            self.note_done(id, at, node);
            self.depart(id, at);
            return Ok(());
        }
        let flows = self.choose_flows(id, node)?;
        self.note_done(id, at, node);
        self.withdraw(id);
        let Some(element) = self.depart_quietly(id, at) else { return Ok(()) };
        let Some(scope) = element.parent else { return Ok(()) };
        for flow in flows {
            self.send(self.process.flow(flow).target, scope, Some(flow), None);
        }
        if let Err(failure) = self.ad_hoc_progress(scope) {
            self.park(scope, failure);
        }
        self.settle(scope);
        Ok(())
    }

    /// Takes an element away that leaves by no flow.
    fn depart(&mut self, id: Id, at: NodeRef) {
        self.withdraw(id);
        let parent = self.depart_quietly(id, at).and_then(|it| it.parent);
        if let Some(parent) = parent {
            self.settle(parent);
        }
    }

    pub(super) fn depart_quietly(&mut self, id: Id, at: NodeRef) -> Option<Element> {
        self.path.left(id, at);
        self.remove(id)
    }

    /// Sends tokens on by chosen flows without an element: joins and links do.
    pub(super) fn choose_flows(&mut self, id: Id, node: &Node) -> Result<Vec<FlowRef>, Failure> {
        match &node.kind {
            Kind::Gateway(gateway) => self.choose_at_gateway(id, node, gateway),
            // Several flows from an activity or event fork; conditions filter.
            _ => self.choose_some(id, node),
        }
    }

    /// A scope in which nothing is left is over.
    pub(super) fn settle(&mut self, id: Id) {
        let Some(element) = self.element(id) else { return };
        if element.busy > 0 || !element.joins.is_empty() {
            return;
        }
        if element.phase == Phase::Ending {
            self.try_end(id);
            return;
        }
        if element.then.is_some() {
            self.after_clearing(id);
            return;
        }
        match &element.role {
            Role::Scope if id == ROOT => self.end_process(),
            Role::Scope if element.phase == Phase::Active => self.complete(id, Json::null()),
            Role::AdHoc(_) => self.ad_hoc_idle(id),
            Role::Iteration(_) => self.iteration_done(id),
            Role::Loop(_) => self.round_done(id),
            Role::Compensating(_) | Role::Memory(_) => self.compensate_next(id),
            Role::Scope | Role::Plain | Role::Multi(_) => {}
        }
    }

    fn end_process(&mut self) {
        // Whatever is still armed, such as event sub-processes, the kernel withdraws (T9).
        let output = self.root_variables();
        self.outcome = Some(Outcome::Completed { context: output.clone(), output });
    }
}

/// No flow can be taken, and there is no default.
pub(super) fn no_way() -> Failure {
    Trouble::NoFlowTaken.because("no condition holds and there is no default flow")
}
