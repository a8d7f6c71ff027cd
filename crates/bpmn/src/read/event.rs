//! Start, end, intermediate and boundary events.

use super::builder::Builder;
use super::tree::{Vendor, XmlElement, attribute, children, extension, name, vendor_attribute};
use crate::expression::Expression;
use crate::model::{
    BoundaryEvent, EventTrigger, MessageSubscription, NodeKind, NodeRef, StartEvent, ThrownEvent,
    TimerKind,
};
use crate::problem::Code;

impl<'a> Builder<'a> {
    pub(super) fn read_start(&mut self, element: XmlElement<'a>, parent: Option<NodeRef>) {
        self.check_attributes_and_extensions(element);
        self.refuse_parallel_multiple(element);
        let interrupting = self.flag(element, "isInterrupting", true);
        let trigger = self
            .event_definition(element)
            .map(|it| self.event_trigger(element, it).unwrap_or_else(Self::placeholder_trigger));
        let mapping = self.mapping(element);
        self.check_repetition(element, trigger.as_ref(), interrupting && parent.is_some());
        let start = StartEvent { trigger, interrupting };
        let at = self.add(element, NodeKind::Start(start), parent);
        self.nodes[at.0].mapping = mapping;
        self.body_mut(parent).starts.push(at);
    }

    pub(super) fn read_end(&mut self, element: XmlElement<'a>, parent: Option<NodeRef>) {
        self.check_attributes_and_extensions(element);
        let throw = self.thrown_event(element);
        if let ThrownEvent::Link(_) = throw {
            self.error(Code::Misplaced, element, "a link is thrown in the middle of a flow");
        }
        let mapping = self.mapping(element);
        let at = self.add(element, NodeKind::End(throw), parent);
        self.nodes[at.0].mapping = mapping;
    }

    pub(super) fn read_throw(&mut self, element: XmlElement<'a>, parent: Option<NodeRef>) {
        self.check_attributes_and_extensions(element);
        let throw = self.thrown_event(element);
        if matches!(throw, ThrownEvent::Terminate | ThrownEvent::Error(_) | ThrownEvent::Cancel) {
            self.error(Code::Misplaced, element, "only an end event can throw this");
        }
        let mapping = self.mapping(element);
        let at = self.add(element, NodeKind::Throw(throw), parent);
        self.nodes[at.0].mapping = mapping;
    }

    pub(super) fn read_catch(&mut self, element: XmlElement<'a>, parent: Option<NodeRef>) {
        self.check_attributes_and_extensions(element);
        self.refuse_parallel_multiple(element);
        let Some(definition) = self.event_definition(element) else {
            self.error(Code::Missing, element, "an intermediate catch event needs what it catches");
            return;
        };
        let trigger =
            self.event_trigger(element, definition).unwrap_or_else(Self::placeholder_trigger);
        self.check_repetition(element, Some(&trigger), true);
        if matches!(
            trigger,
            EventTrigger::Error { .. }
                | EventTrigger::Escalation { .. }
                | EventTrigger::Compensation
                | EventTrigger::Cancel
        ) {
            let what = format!("{} is caught by a boundary event", trigger.with_article());
            self.error(Code::Misplaced, element, &what);
            return;
        }
        let mapping = self.mapping(element);
        let at = self.add(element, NodeKind::Catch(trigger), parent);
        self.nodes[at.0].mapping = mapping;
    }

    pub(super) fn read_boundary(&mut self, element: XmlElement<'a>, parent: Option<NodeRef>) {
        self.check_attributes_and_extensions(element);
        self.refuse_parallel_multiple(element);
        let interrupting = self.flag(element, "cancelActivity", true);
        self.required(element, "attachedToRef");
        let Some(definition) = self.event_definition(element) else {
            self.error(Code::Missing, element, "a boundary event needs what it catches");
            return;
        };
        let trigger = self.event_trigger(element, definition);
        self.check_repetition(element, trigger.as_ref(), interrupting);
        let Some(trigger) = trigger else { return };
        if let EventTrigger::Link(_) = trigger {
            self.error(Code::Misplaced, element, "a link cannot be attached to an activity");
        }
        if !interrupting && matches!(trigger, EventTrigger::Error { .. } | EventTrigger::Cancel) {
            let what = format!("{} always interrupts", trigger.with_article());
            self.error_with_help(Code::BadValue, element, &what, "remove cancelActivity=\"false\"");
        }
        let mapping = self.mapping(element);
        // The host is set when all nodes are known.
        let boundary = BoundaryEvent { host: NodeRef(0), interrupting, trigger };
        let at = self.add(element, NodeKind::Boundary(boundary), parent);
        self.nodes[at.0].mapping = mapping;
    }

    /// A placeholder for a trigger with problems, so that references to its event resolve.
    fn placeholder_trigger() -> EventTrigger {
        EventTrigger::Conditional(Expression::null())
    }

    fn refuse_parallel_multiple(&mut self, element: XmlElement<'a>) {
        if self.flag(element, "parallelMultiple", false) {
            let what = "an event that waits for several things at once is not executed";
            self.error(Code::UnsupportedAttribute, element, what);
        }
    }

    /// A cycle needs an event that can fire more than once (B3).
    fn check_repetition(
        &mut self,
        element: XmlElement<'a>,
        trigger: Option<&EventTrigger>,
        once: bool,
    ) {
        let is_cycle =
            matches!(trigger, Some(EventTrigger::Timer(it)) if it.kind == TimerKind::Cycle);
        if once && is_cycle {
            let help = match name(element) {
                "intermediateCatchEvent" => "use timeDuration or timeDate",
                _ => "use timeDuration or timeDate, or make the event non-interrupting",
            };
            let what = "a cycle cannot repeat here, because this event happens once";
            self.error_with_help(Code::CycleNotHere, element, what, help);
        }
    }

    /// The one event definition of an event, inside it or by reference.
    fn event_definition(&mut self, element: XmlElement<'a>) -> Option<XmlElement<'a>> {
        let mut found = Vec::new();
        for part in children(element) {
            match name(part) {
                "eventDefinitionRef" => {
                    let id = part.text().unwrap_or_default().trim();
                    match self.globals.elements.get(id) {
                        Some(global) => found.push(*global),
                        None => {
                            let what = format!("there is no event definition `{id}`");
                            self.error(Code::UnknownReference, part, &what);
                        }
                    }
                }
                kind if kind.ends_with("EventDefinition") => found.push(part),
                "dataInputAssociation" | "dataOutputAssociation" => self.check_data(part),
                "extensionElements" | "documentation" | "incoming" | "outgoing" | "property"
                | "auditing" | "monitoring" | "category" | "categoryValueRef" | "dataInput"
                | "dataOutput" | "inputSet" | "outputSet" => {}
                _ => self.error(Code::UnsupportedElement, part, "this is not executed in an event"),
            }
        }
        if let [_, second, ..] = found.as_slice() {
            let what = "an event with several definitions is not executed";
            self.error_with_help(
                Code::UnsupportedElement,
                *second,
                what,
                "use one event for each, after an event-based gateway if one of them is enough",
            );
        }
        found.first().copied()
    }

    /// The trigger of a catching event.
    fn event_trigger(
        &mut self,
        event: XmlElement<'a>,
        definition: XmlElement<'a>,
    ) -> Option<EventTrigger> {
        Some(match name(definition) {
            "timerEventDefinition" => EventTrigger::Timer(self.timer(definition)?),
            "messageEventDefinition" => {
                EventTrigger::Message(self.message_subscription(event, definition)?)
            }
            "signalEventDefinition" => EventTrigger::Signal(self.signal(definition)?),
            "errorEventDefinition" => {
                let code = self.caught_code(definition, "errorRef", "error", "errorCode");
                let named = |wanted| {
                    vendor_attribute(definition, Vendor::Camunda, wanted).map(str::to_owned)
                };
                let code_variable = named("errorCodeVariable");
                let message_variable = named("errorMessageVariable");
                EventTrigger::Error { code: code?, code_variable, message_variable }
            }
            "escalationEventDefinition" => {
                let code =
                    self.caught_code(definition, "escalationRef", "escalation", "escalationCode")?;
                let named = vendor_attribute(definition, Vendor::Camunda, "escalationCodeVariable");
                EventTrigger::Escalation { code, code_variable: named.map(str::to_owned) }
            }
            "conditionalEventDefinition" => {
                let Some(condition) = self.condition_in(definition, "condition") else {
                    self.error(Code::Missing, definition, "the condition is missing");
                    return None;
                };
                EventTrigger::Conditional(condition)
            }
            "linkEventDefinition" => EventTrigger::Link(self.link_name(event, definition)?),
            "compensateEventDefinition" => EventTrigger::Compensation,
            "cancelEventDefinition" => EventTrigger::Cancel,
            _ => {
                self.error(Code::UnsupportedElement, definition, "this event is not executed");
                return None;
            }
        })
    }

    /// The effect of a throwing event.
    fn thrown_event(&mut self, event: XmlElement<'a>) -> ThrownEvent {
        let Some(definition) = self.event_definition(event) else { return ThrownEvent::None };
        let thrown = match name(definition) {
            "terminateEventDefinition" => Some(ThrownEvent::Terminate),
            "messageEventDefinition" => {
                // Camunda 7 writes the implementation on the definition itself.
                let work = self.worker_job(event, definition);
                work.map(|work| ThrownEvent::Message(Box::new(work)))
            }
            "signalEventDefinition" => self.signal(definition).map(ThrownEvent::Signal),
            "errorEventDefinition" => self
                .thrown_code(definition, "errorRef", "error", "errorCode")
                .map(ThrownEvent::Error),
            "escalationEventDefinition" => self
                .thrown_code(definition, "escalationRef", "escalation", "escalationCode")
                .map(ThrownEvent::Escalation),
            "linkEventDefinition" => self.link_name(event, definition).map(ThrownEvent::Link),
            "compensateEventDefinition" => {
                if !self.flag(definition, "waitForCompletion", true) {
                    let what = "compensation is always waited for";
                    self.error(Code::UnsupportedAttribute, definition, what);
                }
                // The activity is set when all nodes are known.
                Some(ThrownEvent::Compensation(None))
            }
            "cancelEventDefinition" => Some(ThrownEvent::Cancel),
            _ => {
                self.error(Code::UnsupportedElement, definition, "this event is not executed");
                None
            }
        };
        thrown.unwrap_or(ThrownEvent::None)
    }

    /// The message of a catching event or receive task, with its correlation key.
    pub(super) fn message_subscription(
        &mut self,
        owner: XmlElement<'a>,
        from: XmlElement<'a>,
    ) -> Option<MessageSubscription> {
        let Some(id) = attribute(from, "messageRef") else {
            self.error_with_help(
                Code::Missing,
                from,
                "the message is missing",
                "choose a message in the modeler (messageRef)",
            );
            return None;
        };
        let id = super::tree::local_part(from, id);
        let Some(message) = self.globals.get(id, "message") else {
            let what = format!("there is no message `{id}`");
            self.error(Code::UnknownReference, from, &what);
            return None;
        };
        let named = attribute(message, "name").map(str::to_owned);
        let Some(named) = named else {
            let what = format!("the message `{id}` has no name");
            self.error_with_help(Code::Missing, owner, &what, "name it in the modeler");
            return None;
        };
        let name = self.expression(from, &named);
        let subscription = extension(message, Vendor::Zeebe, "subscription");
        let key = subscription.and_then(|it| attribute(it, "correlationKey"));
        let key = key.or_else(|| vendor_attribute(message, Vendor::Meantime, "correlationKey"));
        let key = key.map(str::to_owned).map(|key| self.expression(from, &key));
        Some(MessageSubscription { name, key })
    }

    fn signal(&mut self, definition: XmlElement<'a>) -> Option<Expression> {
        let id = attribute(definition, "signalRef");
        let id = id.map(|it| super::tree::local_part(definition, it).to_owned());
        let signal = id.as_ref().and_then(|id| self.globals.get(id, "signal"));
        let named = signal.and_then(|it| attribute(it, "name")).map(str::to_owned);
        if named.is_none() {
            let help = "choose a signal with a name in the modeler (signalRef)";
            self.error_with_help(Code::Missing, definition, "the signal is missing", help);
        }
        named.map(|named| self.expression(definition, &named))
    }

    /// A code to catch; `Some(None)` catches every code.
    #[expect(clippy::option_option, reason = "a missing code is fine, an unknown one is not")]
    fn caught_code(
        &mut self,
        definition: XmlElement<'a>,
        reference: &str,
        kind: &str,
        wanted: &str,
    ) -> Option<Option<String>> {
        let Some(id) = attribute(definition, reference) else { return Some(None) };
        let id = super::tree::local_part(definition, id);
        let Some(global) = self.globals.get(id, kind) else {
            let what = format!("there is no {kind} `{id}`");
            self.error(Code::UnknownReference, definition, &what);
            return None;
        };
        Some(attribute(global, wanted).map(str::to_owned))
    }

    /// A code to throw, which is required.
    fn thrown_code(
        &mut self,
        definition: XmlElement<'a>,
        reference: &str,
        kind: &str,
        wanted: &str,
    ) -> Option<Expression> {
        match self.caught_code(definition, reference, kind, wanted)? {
            Some(code) => Some(self.expression(definition, &code)),
            None => {
                let what = format!("the {kind} to throw needs a code");
                let help = format!("choose an {kind} with a code in the modeler ({reference})");
                self.error_with_help(Code::Missing, definition, &what, &help);
                None
            }
        }
    }

    fn link_name(&mut self, event: XmlElement<'a>, definition: XmlElement<'a>) -> Option<String> {
        let named = attribute(definition, "name").or_else(|| attribute(event, "name"));
        if named.is_none() {
            self.error(Code::Missing, definition, "the link has no name");
        }
        named.map(str::to_owned)
    }
}
