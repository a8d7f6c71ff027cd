//! Whether a token can still reach an inclusive gateway.
//!
//! Not a count of forked branches: a search against the flows, from the incoming flows that have
//! no token, for anything that is active. It follows links and boundary events, and loops do not
//! trap it: neither the search nor tokens that wait for each other around one.

use std::collections::BTreeSet;

use super::state::ElementInstanceId;
use super::turn::Machine;
use crate::model::{EventTrigger, FlowRef, NodeKind, NodeRef, ThrownEvent};

impl Machine<'_> {
    /// Whether something active in the scope has a path to the gateway by a flow without a token,
    /// and none by a flow that has one. What has both, such as a token that would come round a
    /// loop, is not waited for (BPMN 2.0.2, 13.4.3): it may itself be waiting for this gateway.
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

    /// Nodes from which a token can come by one of these flows without passing the gateway.
    fn nodes_leading_to(&mut self, gateway: NodeRef, flows: &[FlowRef]) -> BTreeSet<NodeRef> {
        let mut ahead: Vec<NodeRef> =
            flows.iter().map(|flow| self.process.flow(*flow).source).collect();
        // What passes the gateway itself is not on its way to it.
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

    /// Nodes where a token stands or waits, except at the gateway itself.
    fn active_nodes(&self, scope: ElementInstanceId, gateway: NodeRef) -> BTreeSet<NodeRef> {
        let inside = self.state.elements.values().filter(|it| it.parent == Some(scope));
        let waiting = self.element(scope).into_iter().flat_map(|it| it.joins.keys().copied());
        let nodes = inside.filter_map(|it| it.node).chain(waiting);
        nodes.filter(|node| *node != gateway).collect()
    }

    /// The nodes from which a token comes directly.
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
