//! Arming events: everything is evaluated before anything is armed (B1).

use meantime_core::{Channel, Effect, Failure, Timestamp};

use super::json;
use super::state::{Id, Key, Series, Wait, WaitKind};
use super::turn::Machine;
use crate::model::{Kind, MessageName, NodeRef, Task, Trigger};
use crate::trouble::Trouble;

/// What will be armed, already evaluated.
enum Plan {
    Timer { due_at: Timestamp, series: Option<Series> },
    Message { name: String, correlation: String },
    Signal { name: String },
    Condition,
}

impl Machine<'_> {
    /// Arms events for an element: all of them, or none when one fails.
    pub(super) fn arm(&mut self, id: Id, events: &[NodeRef]) -> Result<(), Failure> {
        let mut plans = Vec::new();
        for event in events {
            if let Some(plan) = self.plan(id, *event)? {
                plans.push((*event, plan));
            }
        }
        for (event, plan) in plans {
            self.perform_plan(id, event, plan);
        }
        Ok(())
    }

    fn plan(&mut self, id: Id, event: NodeRef) -> Result<Option<Plan>, Failure> {
        let node = self.process.node(event);
        if let Kind::Task(Task::Receive(message)) = &node.kind {
            return self.plan_message(id, message).map(Some);
        }
        Ok(match node.trigger() {
            Some(Trigger::Timer(timer)) => {
                let armed = self.plan_timer(id, timer)?;
                armed.map(|(due_at, series)| Plan::Timer { due_at, series })
            }
            Some(Trigger::Message(message)) => Some(self.plan_message(id, message)?),
            Some(Trigger::Signal(name)) => {
                Some(Plan::Signal { name: self.evaluate_name(name, id, "the signal")? })
            }
            Some(Trigger::Conditional(_)) => Some(Plan::Condition),
            // These find their catcher when they are thrown.
            Some(
                Trigger::Error { .. }
                | Trigger::Escalation { .. }
                | Trigger::Compensation
                | Trigger::Cancel
                | Trigger::Link(_),
            )
            | None => None,
        })
    }

    /// Name and correlation key are fixed here, once.
    fn plan_message(&mut self, id: Id, message: &MessageName) -> Result<Plan, Failure> {
        let name = self.evaluate_name(&message.name, id, "the message")?;
        let correlation = match &message.key {
            Some(key) => {
                let value = self.evaluate(key, id)?;
                json::plain(&value).ok_or_else(|| {
                    let because = self.because();
                    let text = format!("the correlation key `{key}` is {value}{because}");
                    Trouble::NotACorrelationKey.because(text)
                })?
            }
            None => self.cx.key.unwrap_or_default().to_owned(),
        };
        Ok(Plan::Message { name, correlation })
    }

    fn perform_plan(&mut self, id: Id, on: NodeRef, plan: Plan) {
        let element = self.place_of_event(id, on);
        let (key, kind, name) = match plan {
            Plan::Timer { due_at, series } => {
                let key = self.push(Effect::StartTimer { element, due_at });
                (key, WaitKind::Timer { planned: due_at, series }, String::new())
            }
            Plan::Message { name, correlation } => {
                let channel = Channel::Message { name: name.clone(), key: correlation.clone() };
                let key = self.push(Effect::Subscribe { element, channel });
                (key, WaitKind::Message { correlation }, name)
            }
            Plan::Signal { name } => {
                let channel = Channel::Broadcast { name: name.clone() };
                let key = self.push(Effect::Subscribe { element, channel });
                (key, WaitKind::Signal, name)
            }
            Plan::Condition => {
                self.changed = true;
                (Key::NONE, WaitKind::Condition { held: false }, String::new())
            }
        };
        if let Some(element) = self.element_mut(id) {
            element.waits.push(Wait { key, on, kind, name });
        }
    }

    /// The place of an event that is armed for an element: itself, on its border, or inside.
    pub(super) fn place_of_event(&self, id: Id, on: NodeRef) -> String {
        let event = self.process.node(on);
        let own = self.element(id).and_then(|it| it.node) == Some(on);
        if own {
            return self.place_of(id);
        }
        match &event.kind {
            // The start of an event sub-process lies in it, and that in the scope.
            Kind::Start(_) => {
                let sub = event.parent.map_or("", |at| &*self.process.node(at).id);
                match self.node_of(id) {
                    None => format!("{sub}/{}", event.id),
                    Some(_) => format!("{}/{sub}/{}", self.place_of(id), event.id),
                }
            }
            _ => format!("{}{}", self.scope_path(id), event.id),
        }
    }

    // What single elements wait for.

    pub(super) fn wait_for(&mut self, id: Id, trigger: &Trigger) -> Result<(), Failure> {
        if let Trigger::Link(_) = trigger {
            self.complete(id, meantime_core::Json::null());
            return Ok(());
        }
        self.wait_for_own(id)
    }

    /// Arms the element's own event.
    pub(super) fn wait_for_own(&mut self, id: Id) -> Result<(), Failure> {
        let Some(at) = self.element(id).and_then(|it| it.node) else { return Ok(()) };
        self.arm(id, &[at])
    }

    /// An event-based gateway waits for all of its events at once (B9).
    pub(super) fn wait_for_first(&mut self, id: Id) -> Result<(), Failure> {
        let Some(node) = self.node_of(id) else { return Ok(()) };
        let events = node.outgoing.iter().map(|flow| self.process.flow(*flow).target);
        self.arm(id, &events.collect::<Vec<_>>())
    }
}
