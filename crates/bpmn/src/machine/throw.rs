//! Events that throw, and ends.

use meantime_core::{Effect, Failure, Json};

use super::json;
use super::state::{Id, Then};
use super::turn::Machine;
use crate::model::{NodeRef, Throw};

impl Machine<'_> {
    pub(super) fn throw(&mut self, id: Id, throw: &Throw) -> Result<(), Failure> {
        match throw {
            Throw::None => self.complete(id, Json::null()),
            Throw::Terminate => self.terminate(id),
            Throw::Message(work) => self.schedule_work(id, work)?,
            Throw::Signal(name) => {
                let name = self.evaluate_name(name, id, "the signal")?;
                let payload = self.local_payload(id);
                self.push(Effect::Broadcast { name, payload });
                self.complete(id, Json::null());
            }
            Throw::Error(code) => {
                let code = self.evaluate_name(code, id, "the error code")?;
                let failure = Failure::new(code, "thrown by the process");
                let payload = self.local_payload(id);
                self.throw_error(id, &failure, payload);
            }
            Throw::Escalation(code) => {
                let code = self.evaluate_name(code, id, "the escalation code")?;
                let payload = self.local_payload(id);
                self.escalate(id, &code, payload);
            }
            Throw::Link(link) => self.jump(id, link),
            Throw::Compensation(activity) => self.compensate(id, *activity),
            Throw::Cancel => self.cancel_transaction(id),
        }
        Ok(())
    }

    /// What input mappings of the event made: that is what it sends.
    fn local_payload(&self, id: Id) -> Json {
        let variables = self.element(id).map(|it| &it.variables).filter(|it| !it.is_empty());
        variables.map_or_else(Json::null, json::object)
    }

    /// The scope ends here and now, tokens at joins included; what is around it goes on.
    fn terminate(&mut self, id: Id) {
        let Some((at, scope)) = self.element(id).and_then(|it| it.node.zip(it.parent)) else {
            return;
        };
        self.depart_quietly(id, at);
        self.clear(scope, Then::Complete);
    }

    fn cancel_transaction(&mut self, id: Id) {
        let Some((at, scope)) = self.element(id).and_then(|it| it.node.zip(it.parent)) else {
            return;
        };
        self.depart_quietly(id, at);
        // From here on nothing can interrupt the compensation.
        self.withdraw(scope);
        self.clear(scope, Then::CancelTransaction);
    }

    /// A link continues elsewhere in the same scope.
    fn jump(&mut self, id: Id, link: &str) {
        let Some((at, scope)) = self.element(id).and_then(|it| it.node.zip(it.parent)) else {
            return;
        };
        let target: Option<NodeRef> = self.process.link_target(at, link);
        self.depart_quietly(id, at);
        if let Some(target) = target {
            self.send(target, scope, None, Some(Json::null()));
        }
        self.settle(scope);
    }
}
