//! Compensation events and their handlers.

use std::collections::BTreeSet;

use super::checker::ProcessChecker;
use crate::model::{EventTrigger, NodeKind, NodeRef};
use crate::problem::Code;

impl ProcessChecker<'_> {
    pub(super) fn check_compensation(&mut self) {
        let process = self.process;
        for node in &process.nodes {
            let NodeKind::Boundary(boundary) = &node.kind else { continue };
            if !matches!(boundary.trigger, EventTrigger::Compensation) {
                continue;
            }
            let host = process.node(boundary.host);
            if host.handler.is_none() {
                let what = "no compensation handler is associated with it";
                let help = "draw an association to an activity that is marked as compensation";
                self.error_with_help(Code::Compensation, node, what, help);
            }
            if host.for_compensation {
                let what = "a compensation handler is not compensated itself";
                self.error(Code::Compensation, node, what);
            }
        }
        let handlers: BTreeSet<NodeRef> =
            process.nodes.iter().filter_map(|it| it.handler).collect();
        for (index, node) in process.nodes.iter().enumerate() {
            if node.for_compensation && !handlers.contains(&NodeRef(index)) {
                let what = "no compensation event is associated with this handler";
                let help = "attach a compensation event to an activity and associate it";
                self.warn(Code::Compensation, node, what, help);
            }
        }
    }
}
