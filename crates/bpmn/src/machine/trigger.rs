//! Continues the element whose wait was fulfilled.

use meantime_core::{Channel, Effect, Json};

use super::state::{ArmedWait, Continuation, ElementInstanceId, WaitKind};
use super::turn::Machine;
use crate::model::{NodeKind, NodeRef};

impl Machine<'_> {
    /// A wait of an element was fulfilled; it is already removed from the element's list.
    pub(super) fn wait_fulfilled(
        &mut self,
        owner: ElementInstanceId,
        wait: &ArmedWait,
        payload: Json,
    ) {
        match &self.process.node(wait.on).kind {
            NodeKind::Boundary(boundary) if boundary.interrupting => {
                let then = Continuation::Boundary { node: wait.on, payload };
                self.interrupt(owner, Some(then));
            }
            NodeKind::Boundary(_) => {
                self.rearm(owner, wait);
                if let Some(scope) = self.parent_of(owner) {
                    self.send_token(wait.on, scope, None, Some(payload));
                }
            }
            NodeKind::Start(start) => {
                if !start.interrupting {
                    self.rearm(owner, wait);
                }
                self.trigger_event_sub_process(owner, wait.on, payload);
            }
            _ if self.element(owner).and_then(|it| it.node) == Some(wait.on) => {
                self.complete(owner, payload);
            }
            _ => self.take_gateway_event(owner, wait.on, payload),
        }
    }

    /// The first event after a gateway gets its token; the others are cancelled (B9).
    fn take_gateway_event(&mut self, gateway: ElementInstanceId, event: NodeRef, payload: Json) {
        let Some((at, scope)) = self.element(gateway).and_then(|it| it.node.zip(it.parent)) else {
            return;
        };
        self.cancel_waits(gateway);
        self.remove_left(gateway, at);
        self.send_token(event, scope, None, Some(payload));
    }

    /// Arms a non-interrupting event again.
    fn rearm(&mut self, owner: ElementInstanceId, wait: &ArmedWait) {
        let channel = match &wait.kind {
            WaitKind::Timer { .. } => return self.arm_next(owner, wait),
            WaitKind::Message { correlation } => {
                Channel::Message { name: wait.name.clone(), key: correlation.clone() }
            }
            WaitKind::Signal => Channel::Broadcast { name: wait.name.clone() },
            WaitKind::Condition { .. }
            | WaitKind::BrokenCondition
            | WaitKind::Task
            | WaitKind::UserTask
            | WaitKind::Child => return,
        };
        let element = self.event_element_path(owner, wait.on);
        let key = self.push(Effect::Subscribe { element, channel });
        if let Some(element) = self.element_mut(owner) {
            element.waits.push(ArmedWait { key, ..wait.clone() });
        }
    }
}
