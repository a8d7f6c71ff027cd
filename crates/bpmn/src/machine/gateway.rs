//! Chooses the outgoing flows of a gateway.

use meantime_core::Failure;

use super::leave::no_flow_taken;
use super::state::ElementInstanceId;
use super::turn::Machine;
use crate::model::{FlowRef, Gateway, Node};

impl Machine<'_> {
    pub(super) fn choose_at_gateway(
        &mut self,
        id: ElementInstanceId,
        node: &Node,
        gateway: &Gateway,
    ) -> Result<Vec<FlowRef>, Failure> {
        match gateway {
            Gateway::Exclusive => self.choose_one(id, node),
            Gateway::Parallel => Ok(node.outgoing.clone()),
            Gateway::Inclusive | Gateway::Complex { .. } => self.choose_some(id, node),
            // The token continues at the event that fires first; the gateway itself sends none.
            Gateway::EventBased => Ok(Vec::new()),
        }
    }

    /// The first flow in document order whose condition is true; otherwise the default flow, whose
    /// own condition is not evaluated.
    fn choose_one(&mut self, id: ElementInstanceId, node: &Node) -> Result<Vec<FlowRef>, Failure> {
        for at in node.outgoing.iter().filter(|at| node.default != Some(**at)) {
            let taken = match &self.process.flow(*at).condition {
                Some(condition) => self.evaluate_condition(condition, id)?,
                None => true,
            };
            if taken {
                return Ok(vec![*at]);
            }
        }
        match node.default {
            Some(default) => Ok(vec![default]),
            None if node.outgoing.is_empty() => Ok(Vec::new()),
            None => Err(no_flow_taken()),
        }
    }

    /// Every flow whose condition is true; otherwise the default flow.
    pub(super) fn choose_some(
        &mut self,
        id: ElementInstanceId,
        node: &Node,
    ) -> Result<Vec<FlowRef>, Failure> {
        let mut chosen = Vec::new();
        for at in node.outgoing.iter().filter(|at| node.default != Some(**at)) {
            let taken = match &self.process.flow(*at).condition {
                Some(condition) => self.evaluate_condition(condition, id)?,
                None => true,
            };
            if taken {
                chosen.push(*at);
            }
        }
        match (chosen.is_empty(), node.default) {
            (true, Some(default)) => Ok(vec![default]),
            (true, None) if !node.outgoing.is_empty() => Err(no_flow_taken()),
            _ => Ok(chosen),
        }
    }
}
