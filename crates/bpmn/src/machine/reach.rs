//! Whether a token can still reach an inclusive gateway.
//!
//! Branches are not counted: it searches backwards along the flows, from the incoming flows without
//! a token, for an active element. The search follows links and boundary events and visits each
//! node once, so it ends also in a graph with loops.

use std::collections::BTreeSet;

use super::state::ElementInstanceId;
use super::turn::Machine;
use crate::model::{EventTrigger, FlowRef, NodeKind, NodeRef, ThrownEvent};

impl Machine<'_> {
    /// Whether an active element of the scope has a path to the gateway through a flow without a
    /// token, and none through a flow with one. An element with both, such as a token in a loop
    /// that returns to the gateway, is not waited for (BPMN 2.0.2, 13.4.3): it may itself be
    /// waiting for this gateway.
    pub(super) fn can_still_arrive(&mut self, scope: ElementInstanceId, gateway: NodeRef) -> bool {
        let active = self.active_nodes(scope, gateway);
        let Some(join) = self.element(scope).and_then(|it| it.joins.get(&gateway)) else {
            return false;
        };
        let has_come = |flow: &&FlowRef| join.tokens.contains(flow) || join.used.contains(flow);
        let incoming = &self.process.node(gateway).incoming;
        let (come, empty): (Vec<FlowRef>, Vec<FlowRef>) = incoming.iter().partition(has_come);
        let on_the_way: Vec<NodeRef> =
            self.nodes_leading_to(gateway, &empty).intersection(&active).copied().collect();
        if on_the_way.is_empty() {
            return false;
        }
        let comes_again = self.nodes_leading_to(gateway, &come);
        !on_the_way.iter().all(|at| comes_again.contains(at))
    }

    /// Nodes from which a token can arrive through one of these flows without passing the gateway.
    fn nodes_leading_to(&mut self, gateway: NodeRef, flows: &[FlowRef]) -> BTreeSet<NodeRef> {
        let mut ahead: Vec<NodeRef> =
            flows.iter().map(|flow| self.process.flow(*flow).source).collect();
        // A path through the gateway itself does not count.
        let mut seen = BTreeSet::from([gateway]);
        while let Some(at) = ahead.pop() {
            if seen.insert(at) {
                self.ops += 1;
                self.push_predecessors(at, &mut ahead);
            }
        }
        seen.remove(&gateway);
        seen
    }

    /// Nodes with a token or an active element, except the gateway itself.
    fn active_nodes(&self, scope: ElementInstanceId, gateway: NodeRef) -> BTreeSet<NodeRef> {
        let inside = self.state.elements.values().filter(|it| it.parent == Some(scope));
        let waiting = self.element(scope).into_iter().flat_map(|it| it.joins.keys().copied());
        let nodes = inside.filter_map(|it| it.node).chain(waiting);
        nodes.filter(|node| *node != gateway).collect()
    }

    /// Adds the nodes from which a token arrives directly.
    fn push_predecessors(&self, at: NodeRef, ahead: &mut Vec<NodeRef>) {
        let node = self.process.node(at);
        ahead.extend(node.incoming.iter().map(|flow| self.process.flow(*flow).source));
        match &node.kind {
            NodeKind::Boundary(boundary) => ahead.push(boundary.host),
            NodeKind::Catch(EventTrigger::Link(link)) => {
                let throws = |(index, other): (usize, &crate::model::Node)| {
                    let same =
                        matches!(&other.kind, NodeKind::Throw(ThrownEvent::Link(it)) if it == link);
                    (same && other.parent == node.parent).then_some(NodeRef(index))
                };
                ahead.extend(self.process.nodes.iter().enumerate().filter_map(throws));
            }
            _ => {}
        }
    }
}
