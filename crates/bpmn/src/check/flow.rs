//! Sequence flows stay in their scope and touch only what tokens may pass.

use super::checker::Check;
use crate::model::{Kind, Node, Throw, Trigger};
use crate::problem::Code;

impl Check<'_> {
    pub(super) fn flows(&mut self) {
        let process = self.process;
        for flow in &process.flows {
            let (source, target) = (process.node(flow.source), process.node(flow.target));
            if source.parent != target.parent {
                let what = format!("the flow `{}` crosses the border of a sub-process", flow.id);
                self.error(Code::Misplaced, source, &what);
            }
        }
        for node in &process.nodes {
            if !node.outgoing.is_empty()
                && let Some(why) = nothing_leaves(node)
            {
                self.error(Code::Misplaced, node, &format!("{why} has no outgoing flow"));
            }
            if !node.incoming.is_empty()
                && let Some(why) = nothing_arrives(node)
            {
                self.error(Code::Misplaced, node, &format!("{why} has no incoming flow"));
            }
        }
    }
}

fn nothing_leaves(node: &Node) -> Option<&'static str> {
    match &node.kind {
        Kind::End(_) => Some("an end event"),
        Kind::Throw(Throw::Link(_)) => Some("a thrown link"),
        Kind::Boundary(it) if matches!(it.trigger, Trigger::Compensation) => {
            Some("a compensation event (it is associated with its handler)")
        }
        _ if node.is_event_sub() => Some("an event sub-process"),
        _ if node.for_compensation => Some("a compensation handler"),
        _ => None,
    }
}

fn nothing_arrives(node: &Node) -> Option<&'static str> {
    match &node.kind {
        Kind::Start(_) => Some("a start event"),
        Kind::Boundary(_) => Some("a boundary event"),
        Kind::Catch(Trigger::Link(_)) => Some("a caught link"),
        _ if node.is_event_sub() => Some("an event sub-process"),
        _ if node.for_compensation => Some("a compensation handler"),
        _ => None,
    }
}
