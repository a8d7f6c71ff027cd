//! Something that was armed has happened.

use meantime_core::{Channel, Effect, Json};

use super::state::{Id, Then, Wait, WaitKind};
use super::turn::Machine;
use crate::model::{Kind, NodeRef};

impl Machine<'_> {
    /// A wait of an element was fulfilled; it is no longer in the element's list.
    pub(super) fn triggered(&mut self, owner: Id, wait: &Wait, payload: Json) {
        match &self.process.node(wait.on).kind {
            Kind::Boundary(boundary) if boundary.interrupting => {
                let then = Then::Boundary { node: wait.on, payload };
                self.interrupt(owner, Some(then));
            }
            Kind::Boundary(_) => {
                self.arm_again(owner, wait);
                if let Some(scope) = self.parent_of(owner) {
                    self.send(wait.on, scope, None, Some(payload));
                }
            }
            Kind::Start(start) => {
                if !start.interrupting {
                    self.arm_again(owner, wait);
                }
                self.trigger_event_sub(owner, wait.on, payload);
            }
            _ if self.element(owner).and_then(|it| it.node) == Some(wait.on) => {
                self.complete(owner, payload);
            }
            _ => self.first_event(owner, wait.on, payload),
        }
    }

    /// The first event after a gateway takes its token; the others are withdrawn (B9).
    fn first_event(&mut self, gateway: Id, event: NodeRef, payload: Json) {
        let Some((at, scope)) = self.element(gateway).and_then(|it| it.node.zip(it.parent)) else {
            return;
        };
        self.withdraw(gateway);
        self.depart_quietly(gateway, at);
        self.send(event, scope, None, Some(payload));
    }

    /// What does not interrupt can happen again.
    fn arm_again(&mut self, owner: Id, wait: &Wait) {
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
        let element = self.place_of_event(owner, wait.on);
        let key = self.push(Effect::Subscribe { element, channel });
        if let Some(element) = self.element_mut(owner) {
            element.waits.push(Wait { key, ..wait.clone() });
        }
    }
}
