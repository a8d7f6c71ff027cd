//! Tokens reach nodes; elements are set up.

use meantime_core::{Failure, Json};

use super::state::{Id, Phase, ROOT, Role, Wait};
use super::turn::Machine;
use crate::model::{FlowRef, Gateway, Kind, Node, NodeRef, Repeat};

impl Machine<'_> {
    /// A token reaches a node.
    pub(super) fn enter(
        &mut self,
        at: NodeRef,
        scope: Id,
        flow: Option<FlowRef>,
        payload: Option<Json>,
    ) {
        let Some(element) = self.element_mut(scope) else { return };
        element.busy = element.busy.saturating_sub(1);
        let node = self.process.node(at);
        if joins(node)
            && let Some(flow) = flow
        {
            self.arrive(at, scope, flow);
            self.settle(scope);
            return;
        }
        let id = self.create(Some(at), Some(scope));
        match payload {
            // It has happened already: only its results and its flows are left.
            Some(payload) => self.complete(id, payload),
            None => self.go_on(id),
        }
    }

    /// Goes on with an element from its phase; what fails parks it there.
    pub(super) fn go_on(&mut self, id: Id) {
        let Some(element) = self.element(id) else { return };
        if element.incident.is_some() {
            return;
        }
        let result = match element.phase {
            Phase::Entering if id == ROOT => self.set_up_process(),
            Phase::Entering => self.set_up(id),
            Phase::Active => self.carry_on(id),
            Phase::Completing => self.hand_on(id),
            Phase::Leaving => self.leave(id),
            Phase::Ending | Phase::Raised => Ok(()),
        };
        if let Err(failure) = result {
            self.park(id, failure);
        }
    }

    /// Inputs, boundary events, then the activity itself.
    fn set_up(&mut self, id: Id) -> Result<(), Failure> {
        let Some(node) = self.node_of(id) else { return Ok(()) };
        let whole = !self.is_repeated(id);
        if whole && node.repeat.is_some() {
            // Inputs belong to each iteration.
            self.arm_boundaries(id, node)?;
        } else {
            if matches!(node.kind, Kind::Sub(_)) {
                // Before anything lands in it, a scope is a scope.
                self.make_scope(id);
            }
            self.apply_inputs(id, &node.mapping)?;
            if whole {
                self.arm_boundaries(id, node)?;
            }
        }
        self.activate(id);
        self.begin(id)
    }

    fn begin(&mut self, id: Id) -> Result<(), Failure> {
        let repeat = self.node_of(id).and_then(|node| node.repeat.as_ref());
        match repeat.filter(|_| !self.is_repeated(id)) {
            Some(Repeat::Multi(multi)) => self.begin_multi(id, multi),
            Some(Repeat::Loop { .. }) => self.begin_loop(id),
            None => self.perform(id),
        }
    }

    /// An active element that was parked is tried again.
    fn carry_on(&mut self, id: Id) -> Result<(), Failure> {
        match self.element(id).map(|it| &it.role) {
            // What it does goes on: only what failed beside it was to be tried again.
            Some(Role::Plain | Role::Scope) if self.is_under_way(id) => Ok(()),
            Some(Role::Plain | Role::Scope) => self.begin(id),
            Some(Role::AdHoc(_)) => {
                self.ad_hoc_progress(id)?;
                self.settle(id);
                Ok(())
            }
            Some(_) => {
                self.settle(id);
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Whether an element waits for its own work, or something runs inside of it.
    fn is_under_way(&self, id: Id) -> bool {
        let Some(element) = self.element(id) else { return false };
        let own = |wait: &Wait| Some(wait.on) == element.node;
        element.busy > 0 || element.waits.iter().any(own)
    }

    fn activate(&mut self, id: Id) {
        if let Some(element) = self.element_mut(id) {
            element.phase = Phase::Active;
        }
    }

    fn make_scope(&mut self, id: Id) {
        if let Some(element) = self.element_mut(id)
            && matches!(element.role, Role::Plain)
        {
            element.role = Role::Scope;
        }
    }

    fn arm_boundaries(&mut self, id: Id, node: &Node) -> Result<(), Failure> {
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
fn joins(node: &Node) -> bool {
    let waits = matches!(
        node.kind,
        Kind::Gateway(Gateway::Parallel | Gateway::Inclusive | Gateway::Complex { .. })
    );
    waits && node.incoming.len() > 1
}
