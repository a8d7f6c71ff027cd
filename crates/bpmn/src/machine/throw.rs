//! Throwing events and end events.

use meantime_core::{Effect, Failure, Json};

use super::json;
use super::state::{Continuation, ElementInstanceId};
use super::turn::Machine;
use crate::model::{NodeRef, ThrownEvent};

impl Machine<'_> {
    pub(super) fn throw(
        &mut self,
        id: ElementInstanceId,
        throw: &ThrownEvent,
    ) -> Result<(), Failure> {
        match throw {
            ThrownEvent::None => self.complete(id, Json::null()),
            ThrownEvent::Terminate => self.terminate(id),
            ThrownEvent::Message(work) => self.schedule_work(id, work)?,
            ThrownEvent::Signal(name) => {
                let name = self.evaluate_name(name, id, "the signal")?;
                let payload = self.local_payload(id);
                self.push(Effect::Broadcast { name, payload });
                self.complete(id, Json::null());
            }
            ThrownEvent::Error(code) => {
                let code = self.evaluate_name(code, id, "the error code")?;
                let failure = Failure::new(code, "thrown by the process");
                let payload = self.local_payload(id);
                self.throw_error(id, &failure, payload);
            }
            ThrownEvent::Escalation(code) => {
                let code = self.evaluate_name(code, id, "the escalation code")?;
                let payload = self.local_payload(id);
                self.escalate(id, &code, payload);
            }
            ThrownEvent::Link(link) => self.follow_link(id, link),
            ThrownEvent::Compensation(activity) => self.compensate(id, *activity),
            ThrownEvent::Cancel => self.cancel_transaction(id),
        }
        Ok(())
    }

    /// The variables of the event's input mappings, which are its payload.
    fn local_payload(&self, id: ElementInstanceId) -> Json {
        let variables = self.element(id).map(|it| &it.variables).filter(|it| !it.is_empty());
        variables.map_or_else(Json::null, json::object)
    }

    /// Ends the scope at once, tokens at joins included; the enclosing scope continues.
    fn terminate(&mut self, id: ElementInstanceId) {
        let Some((at, scope)) = self.element(id).and_then(|it| it.node.zip(it.parent)) else {
            return;
        };
        self.remove_left(id, at);
        self.end_scope_content(scope, Continuation::Complete);
    }

    fn cancel_transaction(&mut self, id: ElementInstanceId) {
        let Some((at, scope)) = self.element(id).and_then(|it| it.node.zip(it.parent)) else {
            return;
        };
        self.remove_left(id, at);
        // From here on no event can interrupt the compensation.
        self.cancel_waits(scope);
        self.end_scope_content(scope, Continuation::CancelTransaction);
    }

    /// A link continues at its catch event in the same scope.
    fn follow_link(&mut self, id: ElementInstanceId, link: &str) {
        let Some((at, scope)) = self.element(id).and_then(|it| it.node.zip(it.parent)) else {
            return;
        };
        let target: Option<NodeRef> = self.process.link_target(at, link);
        self.remove_left(id, at);
        if let Some(target) = target {
            self.send_token(target, scope, None, Some(Json::null()));
        }
        self.complete_scope_if_empty(scope);
    }
}
