//! Checks the flows of gateways.

use super::checker::ProcessChecker;
use crate::model::{EventTrigger, Gateway, Node, NodeKind, SequenceFlow, Task};
use crate::problem::Code;

impl ProcessChecker<'_> {
    pub(super) fn check_gateways(&mut self) {
        let process = self.process;
        for node in &process.nodes {
            let NodeKind::Gateway(gateway) = &node.kind else { continue };
            match gateway {
                Gateway::Exclusive => self.check_exclusive(node),
                Gateway::Parallel => {
                    self.refuse_conditions(node, "a parallel gateway takes every flow");
                }
                Gateway::EventBased => self.check_event_based(node),
                Gateway::Complex { activation: None } if node.incoming.len() > 1 => {
                    let what = "a complex gateway that joins needs an activationCondition";
                    let help = "write when it continues, such as = activationCount >= 2";
                    self.error_with_help(Code::Gateway, node, what, help);
                }
                Gateway::Inclusive | Gateway::Complex { .. } => {}
            }
        }
    }

    fn outgoing_flows(&self, node: &Node) -> Vec<&SequenceFlow> {
        node.outgoing.iter().map(|at| self.process.flow(*at)).collect()
    }

    /// A flow without a condition is always taken, so the flows after it never are.
    fn check_exclusive(&mut self, node: &Node) {
        if node.outgoing.len() < 2 {
            return;
        }
        let open = node
            .outgoing
            .iter()
            .copied()
            .find(|at| self.process.flow(*at).condition.is_none() && node.default != Some(*at));
        if let Some(open) = open {
            let what = format!(
                "the flow `{}` has no condition and is taken whenever it is reached",
                self.process.flow(open).id
            );
            let help = "give it a condition, or make it the default flow";
            self.warn(Code::Gateway, node, &what, help);
        }
    }

    fn refuse_conditions(&mut self, node: &Node, why: &str) {
        let conditional =
            self.outgoing_flows(node).into_iter().find(|flow| flow.condition.is_some());
        if let Some(flow) = conditional {
            let what = format!("the flow `{}` has a condition, but {why}", flow.id);
            self.error_with_help(Code::Gateway, node, &what, "use an inclusive gateway");
        }
        if node.default.is_some() {
            self.error(Code::Gateway, node, &format!("it has a default flow, but {why}"));
        }
    }

    fn check_event_based(&mut self, node: &Node) {
        self.refuse_conditions(node, "the first event decides");
        if node.outgoing.is_empty() {
            self.error(Code::Gateway, node, "no event follows it");
        }
        for flow in &node.outgoing {
            let process = self.process;
            let target = process.node(process.flow(*flow).target);
            let waits = match &target.kind {
                NodeKind::Catch(trigger) => !matches!(trigger, EventTrigger::Link(_)),
                NodeKind::Task(Task::Receive(_)) => {
                    target.boundaries.is_empty() && target.repeat.is_none()
                }
                _ => false,
            };
            if !waits {
                let what = "what follows an event-based gateway catches a timer, message, signal \
                            or condition, or is a plain receive task";
                self.error(Code::Gateway, target, what);
            } else if target.incoming.len() > 1 {
                let what = "an event after an event-based gateway has no other incoming flow";
                self.error(Code::Gateway, target, what);
            }
        }
    }
}
