//! Checks that sequence flows stay in their scope and connect only nodes that tokens can pass.

use super::checker::ProcessChecker;
use crate::model::{EventTrigger, Node, NodeKind, ThrownEvent};
use crate::problem::Code;

impl ProcessChecker<'_> {
    pub(super) fn check_flows(&mut self) {
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
                && let Some(why) = why_no_outgoing(node)
            {
                self.error(Code::Misplaced, node, &format!("{why} has no outgoing flow"));
            }
            if !node.incoming.is_empty()
                && let Some(why) = why_no_incoming(node)
            {
                self.error(Code::Misplaced, node, &format!("{why} has no incoming flow"));
            }
        }
    }
}

fn why_no_outgoing(node: &Node) -> Option<&'static str> {
    match &node.kind {
        NodeKind::End(_) => Some("an end event"),
        NodeKind::Throw(ThrownEvent::Link(_)) => Some("a thrown link"),
        NodeKind::Boundary(it) if matches!(it.trigger, EventTrigger::Compensation) => {
            Some("a compensation event (it is associated with its handler)")
        }
        _ if node.is_event_sub_process() => Some("an event sub-process"),
        _ if node.for_compensation => Some("a compensation handler"),
        _ => None,
    }
}

fn why_no_incoming(node: &Node) -> Option<&'static str> {
    match &node.kind {
        NodeKind::Start(_) => Some("a start event"),
        NodeKind::Boundary(_) => Some("a boundary event"),
        NodeKind::Catch(EventTrigger::Link(_)) => Some("a caught link"),
        _ if node.is_event_sub_process() => Some("an event sub-process"),
        _ if node.for_compensation => Some("a compensation handler"),
        _ => None,
    }
}
