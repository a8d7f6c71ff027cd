//! Escalations propagate outwards like errors, but need not be caught.

use meantime_core::{Effect, Failure, Json};

use super::error::Catcher;
use super::json;
use super::state::{Continuation, ElementInstanceId};
use super::turn::Machine;
use crate::model::{EventTrigger, NodeKind, NodeRef};

/// Prefix of escalation codes between instances; error codes have none.
pub(super) const ESCALATION_PREFIX: &str = "escalation:";

impl Machine<'_> {
    /// Throws an escalation; the throwing element continues unless it was interrupted.
    pub(super) fn escalate(&mut self, id: ElementInstanceId, code: &str, payload: Json) {
        let interrupted = self.escalate_from_child(id, code, payload);
        if !interrupted {
            self.complete(id, Json::null());
        }
    }

    /// Whether the thrower was interrupted.
    pub(super) fn escalate_from_child(
        &mut self,
        id: ElementInstanceId,
        code: &str,
        payload: Json,
    ) -> bool {
        let matches = |trigger: &EventTrigger| match trigger {
            EventTrigger::Escalation { code: Some(caught), .. } if caught == code => Some(true),
            EventTrigger::Escalation { code: None, .. } => Some(false),
            _ => None,
        };
        match self.find_catcher(id, &matches) {
            Some(Catcher::BoundaryEvent(host, node)) => {
                let payload = self.escalation_payload(node, code, payload);
                let NodeKind::Boundary(boundary) = &self.process.node(node).kind else {
                    return false;
                };
                if boundary.interrupting {
                    self.interrupt(host, Some(Continuation::Boundary { node, payload }));
                } else if let Some(scope) = self.parent_of(host) {
                    self.send_token(node, scope, None, Some(payload));
                }
                boundary.interrupting
            }
            Some(Catcher::EventSubProcess(scope, start)) => {
                let payload = self.escalation_payload(start, code, payload);
                let NodeKind::Start(event) = &self.process.node(start).kind else { return false };
                self.trigger_event_sub_process(scope, start, payload);
                event.interrupting
            }
            None => {
                self.escalate_to_parent(code, payload);
                false
            }
        }
    }

    /// Sends it to the parent instance if an ancestor catches it; otherwise it is only recorded in
    /// history.
    fn escalate_to_parent(&mut self, code: &str, payload: Json) {
        let (exact, any) = (format!("{ESCALATION_PREFIX}{code}"), format!("{ESCALATION_PREFIX}*"));
        if self.cx.catches.iter().any(|caught| *caught == exact || *caught == any) {
            let data = Some(payload).filter(|payload| !payload.is_null());
            let raised = Failure { data, ..Failure::new(exact, "an escalation") };
            self.push(Effect::NotifyParent { raised });
        } else {
            let data = json::of_text(code);
            self.push(Effect::Record { kind: "uncaught escalation".to_owned(), data });
        }
    }

    fn escalation_payload(&self, node: NodeRef, code: &str, payload: Json) -> Json {
        let trigger = self.process.node(node).trigger();
        let Some(EventTrigger::Escalation { code_variable: Some(name), .. }) = trigger else {
            return payload;
        };
        let mut values = json::payload_variables(&payload);
        values.insert(name.clone(), json::of_text(code));
        json::object(&values)
    }
}
