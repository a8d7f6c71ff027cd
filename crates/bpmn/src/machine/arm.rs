//! Arms events: all expressions are evaluated before anything is armed (B1).

use meantime_core::{Channel, Effect, Failure, Timestamp};

use super::json;
use super::state::{ArmedWait, ElementInstanceId, LocalEffectKey, TimerCycle, WaitKind};
use super::turn::Machine;
use crate::incident_code::IncidentCode;
use crate::model::{EventTrigger, MessageSubscription, NodeKind, NodeRef, Task};

/// A wait whose expressions are evaluated and that is not armed yet.
enum PlannedWait {
    Timer { due_at: Timestamp, series: Option<TimerCycle> },
    Message { name: String, correlation: String },
    Signal { name: String },
    Condition,
}

impl Machine<'_> {
    /// Arms events for an element: all of them, or none when one fails.
    pub(super) fn arm(&mut self, id: ElementInstanceId, events: &[NodeRef]) -> Result<(), Failure> {
        let mut plans = Vec::new();
        for event in events {
            if let Some(plan) = self.plan_wait(id, *event)? {
                plans.push((*event, plan));
            }
        }
        for (event, plan) in plans {
            self.arm_planned(id, event, plan);
        }
        Ok(())
    }

    fn plan_wait(
        &mut self,
        id: ElementInstanceId,
        event: NodeRef,
    ) -> Result<Option<PlannedWait>, Failure> {
        let node = self.process.node(event);
        if let NodeKind::Task(Task::Receive(message)) = &node.kind {
            return self.plan_message(id, message).map(Some);
        }
        Ok(match node.trigger() {
            Some(EventTrigger::Timer(timer)) => {
                let armed = self.plan_timer(id, timer)?;
                armed.map(|(due_at, series)| PlannedWait::Timer { due_at, series })
            }
            Some(EventTrigger::Message(message)) => Some(self.plan_message(id, message)?),
            Some(EventTrigger::Signal(name)) => {
                Some(PlannedWait::Signal { name: self.evaluate_name(name, id, "the signal")? })
            }
            Some(EventTrigger::Conditional(_)) => Some(PlannedWait::Condition),
            // Errors, escalations, cancellations and compensation need no wait: the throw searches
            // its catcher.
            Some(
                EventTrigger::Error { .. }
                | EventTrigger::Escalation { .. }
                | EventTrigger::Compensation
                | EventTrigger::Cancel
                | EventTrigger::Link(_),
            )
            | None => None,
        })
    }

    /// Evaluates name and correlation key once; they do not change while the wait is armed.
    fn plan_message(
        &mut self,
        id: ElementInstanceId,
        message: &MessageSubscription,
    ) -> Result<PlannedWait, Failure> {
        let name = self.evaluate_name(&message.name, id, "the message")?;
        let correlation = match &message.key {
            Some(key) => {
                let value = self.evaluate(key, id)?;
                json::scalar_text(&value).ok_or_else(|| {
                    let because = self.null_reason();
                    let text = format!("the correlation key `{key}` is {value}{because}");
                    IncidentCode::NotACorrelationKey.failure(text)
                })?
            }
            None => self.cx.key.unwrap_or_default().to_owned(),
        };
        Ok(PlannedWait::Message { name, correlation })
    }

    fn arm_planned(&mut self, id: ElementInstanceId, on: NodeRef, plan: PlannedWait) {
        let element = self.event_element_path(id, on);
        let (key, kind, name) = match plan {
            PlannedWait::Timer { due_at, series } => {
                let key = self.push(Effect::StartTimer { element, due_at });
                (key, WaitKind::Timer { planned: due_at, series }, String::new())
            }
            PlannedWait::Message { name, correlation } => {
                let channel = Channel::Message { name: name.clone(), key: correlation.clone() };
                let key = self.push(Effect::Subscribe { element, channel });
                (key, WaitKind::Message { correlation }, name)
            }
            PlannedWait::Signal { name } => {
                let channel = Channel::Broadcast { name: name.clone() };
                let key = self.push(Effect::Subscribe { element, channel });
                (key, WaitKind::Signal, name)
            }
            PlannedWait::Condition => {
                self.changed = true;
                (LocalEffectKey::NONE, WaitKind::Condition { held: false }, String::new())
            }
        };
        if let Some(element) = self.element_mut(id) {
            element.waits.push(ArmedWait { key, on, kind, name });
        }
    }

    /// The path of an event that is armed for an element: the element's own event, one on its
    /// boundary, or one inside it.
    pub(super) fn event_element_path(&self, id: ElementInstanceId, on: NodeRef) -> String {
        let event = self.process.node(on);
        let own = self.element(id).and_then(|it| it.node) == Some(on);
        if own {
            return self.element_path(id);
        }
        match &event.kind {
            // The start event is inside the event sub-process, which is inside the scope.
            NodeKind::Start(_) => {
                let sub = event.parent.map_or("", |at| &*self.process.node(at).id);
                match self.node_of(id) {
                    None => format!("{sub}/{}", event.id),
                    Some(_) => format!("{}/{sub}/{}", self.element_path(id), event.id),
                }
            }
            _ => format!("{}{}", self.scope_path(id), event.id),
        }
    }

    // What single elements wait for.

    pub(super) fn arm_trigger(
        &mut self,
        id: ElementInstanceId,
        trigger: &EventTrigger,
    ) -> Result<(), Failure> {
        if let EventTrigger::Link(_) = trigger {
            self.complete(id, meantime_core::Json::null());
            return Ok(());
        }
        self.arm_own_trigger(id)
    }

    /// Arms the element's own event.
    pub(super) fn arm_own_trigger(&mut self, id: ElementInstanceId) -> Result<(), Failure> {
        let Some(at) = self.element(id).and_then(|it| it.node) else { return Ok(()) };
        self.arm(id, &[at])
    }

    /// An event-based gateway waits for all of its events at once (B9).
    pub(super) fn arm_gateway_events(&mut self, id: ElementInstanceId) -> Result<(), Failure> {
        let Some(node) = self.node_of(id) else { return Ok(()) };
        let events = node.outgoing.iter().map(|flow| self.process.flow(*flow).target);
        self.arm(id, &events.collect::<Vec<_>>())
    }
}
