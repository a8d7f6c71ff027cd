//! Tokens that wait for each other at gateways.

use std::collections::BTreeMap;

use meantime_core::{Failure, Json};

use super::json;
use super::state::{ElementInstanceId, ElementPhase, JoinState};
use super::turn::Machine;
use crate::expression::Expression;
use crate::incident_code::IncidentCode;
use crate::model::{FlowRef, Gateway, Node, NodeKind, NodeRef};

impl Machine<'_> {
    /// A token arrives at a joining gateway.
    pub(super) fn arrive(&mut self, at: NodeRef, scope: ElementInstanceId, flow: FlowRef) {
        let node = self.process.node(at);
        let Some(element) = self.element_mut(scope) else { return };
        let join = element.joins.entry(at).or_default();
        match &node.kind {
            NodeKind::Gateway(Gateway::Complex { .. }) if !join.used.is_empty() => {
                self.absorb_late_token(at, scope, flow, node);
            }
            NodeKind::Gateway(Gateway::Complex { activation: Some(activation) }) => {
                join.tokens.push(flow);
                self.try_complex(at, scope, activation);
            }
            NodeKind::Gateway(Gateway::Parallel) => {
                join.tokens.push(flow);
                // One token on every incoming flow; further tokens of a flow wait for the next
                // activation.
                if node.incoming.iter().all(|flow| join.tokens.contains(flow)) {
                    self.join(at, scope);
                }
            }
            // An inclusive gateway is tried when no step is left: only then it is known which
            // tokens can still arrive.
            _ => join.tokens.push(flow),
        }
    }

    /// Consumes one token of each incoming flow and continues with one token.
    fn join(&mut self, at: NodeRef, scope: ElementInstanceId) {
        self.take_tokens(at, scope);
        let id = self.create(Some(at), Some(scope));
        self.resume_element(id);
    }

    /// Removes one token of each flow that has one; returns those flows.
    fn take_tokens(&mut self, at: NodeRef, scope: ElementInstanceId) -> Vec<FlowRef> {
        let incoming = &self.process.node(at).incoming;
        let Some(element) = self.element_mut(scope) else { return Vec::new() };
        let Some(join) = element.joins.get_mut(&at) else { return Vec::new() };
        let mut taken = Vec::new();
        for flow in incoming {
            if let Some(index) = join.tokens.iter().position(|it| it == flow) {
                join.tokens.remove(index);
                taken.push(*flow);
            }
        }
        if join.tokens.is_empty() && join.used.is_empty() {
            element.joins.remove(&at);
        }
        taken
    }

    /// Tries all joins when no step is left. Returns whether one of them continued.
    pub(super) fn try_joins(&mut self) -> bool {
        let waiting: Vec<(ElementInstanceId, NodeRef)> = self
            .state
            .elements
            .iter()
            .flat_map(|(id, element)| element.joins.keys().map(|at| (*id, *at)))
            .collect();
        for (scope, at) in &waiting {
            let is_open = !self.can_still_arrive(*scope, *at);
            let gateway = &self.process.node(*at).kind;
            if is_open && matches!(gateway, NodeKind::Gateway(Gateway::Inclusive)) {
                self.join(*at, *scope);
                return true;
            }
            if is_open && self.reset_complex(*scope, *at) {
                return true;
            }
        }
        waiting.into_iter().any(|(scope, at)| self.is_stuck(scope, at))
    }

    /// Tokens wait in a scope in which nothing else is active, so the join can never complete:
    /// raises an incident.
    fn is_stuck(&mut self, scope: ElementInstanceId, at: NodeRef) -> bool {
        let alone = self.element(scope).is_some_and(|it| {
            it.busy == 0 && it.then.is_none() && it.incident.is_none() && !it.is_ending()
        });
        if !alone {
            return false;
        }
        let missing = self.flows_without_token(scope, at);
        let text = format!("tokens wait here, and none can arrive by {}", missing.join(", "));
        self.raise_join_incident(at, scope, IncidentCode::JoinNeverCompletes.failure(text));
        true
    }

    /// Raises an incident at the gateway; its tokens stay.
    fn raise_join_incident(&mut self, at: NodeRef, scope: ElementInstanceId, failure: Failure) {
        let id = self.create(Some(at), Some(scope));
        self.raise_incident(id, failure);
        if let Some(element) = self.element_mut(id) {
            element.phase = ElementPhase::WaitingForCatcher;
        }
    }

    /// Retries a join after its incident. A complex gateway evaluates its condition at once; other
    /// joins are tried when no step is left.
    pub(super) fn retry_join(&mut self, id: ElementInstanceId) {
        let Some(element) = self.remove(id) else { return };
        let Some((at, scope)) = element.node.zip(element.parent) else { return };
        let gateway = &self.process.node(at).kind;
        if let NodeKind::Gateway(Gateway::Complex { activation: Some(activation) }) = gateway {
            self.try_complex(at, scope, activation);
        }
    }

    /// An operator resolves the incident of a join: the tokens that have arrived continue as one.
    pub(super) fn force_join(&mut self, id: ElementInstanceId, values: BTreeMap<String, Json>) {
        let Some(element) = self.remove(id) else { return };
        let Some((at, scope)) = element.node.zip(element.parent) else { return };
        self.propagate(scope, values);
        self.join(at, scope);
    }

    fn flows_without_token(&self, scope: ElementInstanceId, at: NodeRef) -> Vec<String> {
        let join = self.element(scope).and_then(|it| it.joins.get(&at)).cloned();
        let JoinState { tokens, .. } = join.unwrap_or_default();
        let incoming = self.process.node(at).incoming.iter();
        let missing = incoming.filter(|flow| !tokens.contains(flow));
        missing.map(|flow| format!("`{}`", self.process.flow(*flow).id)).collect()
    }

    /// A complex gateway continues as soon as its condition holds.
    fn try_complex(&mut self, at: NodeRef, scope: ElementInstanceId, activation: &Expression) {
        let tokens = self.element(scope).and_then(|it| it.joins.get(&at));
        let mut flows = tokens.map(|it| it.tokens.clone()).unwrap_or_default();
        flows.sort();
        flows.dedup();
        let id = self.create(Some(at), Some(scope));
        let count = Json::from(flows.len() as u64);
        let names = flows.iter().map(|flow| json::of_text(&self.process.flow(*flow).id));
        let names = json::list(&names.collect::<Vec<_>>());
        self.set(id, "activationCount", count);
        self.set(id, "activeFlows", names);
        match self.evaluate_condition(activation, id) {
            Ok(true) => {
                let taken = self.take_tokens(at, scope);
                self.begin_reset(at, scope, taken);
                self.resume_element(id);
            }
            Ok(false) => {
                self.remove(id);
            }
            Err(failure) => {
                self.remove(id);
                self.raise_join_incident(at, scope, failure);
            }
        }
    }

    /// After a complex gateway has fired, one token of each remaining flow still belongs to this
    /// activation and is dropped.
    fn begin_reset(&mut self, at: NodeRef, scope: ElementInstanceId, taken: Vec<FlowRef>) {
        let all = taken.len() == self.process.node(at).incoming.len();
        if let Some(element) = self.element_mut(scope)
            && !all
        {
            element.joins.entry(at).or_default().used = taken;
        }
    }

    /// A token that arrives after its complex gateway has fired: dropped, or kept for the next
    /// activation if its flow was already used.
    fn absorb_late_token(
        &mut self,
        at: NodeRef,
        scope: ElementInstanceId,
        flow: FlowRef,
        node: &Node,
    ) {
        let Some(element) = self.element_mut(scope) else { return };
        let Some(join) = element.joins.get_mut(&at) else { return };
        if join.used.contains(&flow) {
            join.tokens.push(flow);
            return;
        }
        join.used.push(flow);
        if node.incoming.iter().all(|flow| join.used.contains(flow)) {
            self.reset_join(at, scope);
        }
    }

    /// No more tokens can arrive: resets the gateway for its next activation.
    fn reset_complex(&mut self, scope: ElementInstanceId, at: NodeRef) -> bool {
        let used = self
            .element(scope)
            .and_then(|it| it.joins.get(&at))
            .is_some_and(|join| !join.used.is_empty());
        if used {
            self.reset_join(at, scope);
            self.complete_scope_if_empty(scope);
        }
        used
    }

    /// Ends an activation; tokens that arrived early for the next one are sent again.
    fn reset_join(&mut self, at: NodeRef, scope: ElementInstanceId) {
        let join = self.element_mut(scope).and_then(|element| element.joins.remove(&at));
        for flow in join.map(|join| join.tokens).unwrap_or_default() {
            self.send_token(at, scope, Some(flow), None);
        }
    }
}
