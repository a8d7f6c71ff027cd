//! Whether a token can still reach an inclusive gateway.
//!
//! Not a count of forked branches: a search against the flows, from the incoming flows that have
//! no token, for anything that is active. It follows links and boundary events, and loops do not
//! trap it.

use std::collections::BTreeSet;

use super::state::Id;
use super::turn::Machine;
use crate::model::{Kind, NodeRef, Throw, Trigger};

impl Machine<'_> {
    /// Whether something active in the scope has a path to the gateway by a flow without a token.
    pub(super) fn can_still_arrive(&mut self, scope: Id, gateway: NodeRef) -> bool {
        let active = self.active_nodes(scope, gateway);
        let Some(join) = self.element(scope).and_then(|it| it.joins.get(&gateway)) else {
            return false;
        };
        let node = self.process.node(gateway);
        let empty = node
            .incoming
            .iter()
            .filter(|flow| !join.tokens.contains(flow) && !join.used.contains(flow));
        let mut ahead: Vec<NodeRef> = empty.map(|flow| self.process.flow(*flow).source).collect();
        // What passes the gateway itself is not on its way to it.
        let mut seen = BTreeSet::from([gateway]);
        while let Some(at) = ahead.pop() {
            if !seen.insert(at) {
                continue;
            }
            self.ops += 1;
            if active.contains(&at) {
                return true;
            }
            self.before(at, &mut ahead);
        }
        false
    }

    /// Nodes where a token stands or waits, except at the gateway itself.
    fn active_nodes(&self, scope: Id, gateway: NodeRef) -> BTreeSet<NodeRef> {
        let inside = self.state.elements.values().filter(|it| it.parent == Some(scope));
        let waiting = self.element(scope).into_iter().flat_map(|it| it.joins.keys().copied());
        let nodes = inside.filter_map(|it| it.node).chain(waiting);
        nodes.filter(|node| *node != gateway).collect()
    }

    /// The nodes from which a token comes directly.
    fn before(&self, at: NodeRef, ahead: &mut Vec<NodeRef>) {
        let node = self.process.node(at);
        ahead.extend(node.incoming.iter().map(|flow| self.process.flow(*flow).source));
        match &node.kind {
            Kind::Boundary(boundary) => ahead.push(boundary.host),
            Kind::Catch(Trigger::Link(link)) => {
                let throws = |(index, other): (usize, &crate::model::Node)| {
                    let same = matches!(&other.kind, Kind::Throw(Throw::Link(it)) if it == link);
                    (same && other.parent == node.parent).then_some(NodeRef(index))
                };
                ahead.extend(self.process.nodes.iter().enumerate().filter_map(throws));
            }
            _ => {}
        }
    }
}
