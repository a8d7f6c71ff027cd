//! References between elements, resolved when all of them are known.

use std::sync::Arc;

use meantime_core::time::Zone;

use super::builder::Builder;
use super::tree::{XmlElement, attribute, child, name};
use crate::model::{EventTrigger, NodeKind, NodeRef, Process, ThrownEvent};
use crate::problem::Code;

impl<'a> Builder<'a> {
    pub(super) fn finish(mut self, id: &str) -> (Process, Zone) {
        self.read_flows();
        for index in 0..self.nodes.len() {
            let (at, element) = (NodeRef(index), self.elements[index]);
            self.resolve_default(at, element);
            self.attach_boundary(at, element);
            self.resolve_compensation_target(at, element);
        }
        for association in std::mem::take(&mut self.associations) {
            self.resolve_association(association);
        }
        self.find_implicit_starts();
        let Self { nodes, flows, body, node_ids, flow_ids, zone, .. } = self;
        let id: Arc<str> = id.into();
        (Process { id, nodes, flows, body, node_ids, flow_ids }, zone)
    }

    fn resolve_default(&mut self, at: NodeRef, element: XmlElement<'a>) {
        let Some(id) = attribute(element, "default") else { return };
        let found = self.flow_ids.get(id).copied();
        let found = found.filter(|flow| self.nodes[at.0].outgoing.contains(flow));
        if found.is_none() {
            let what = format!("the default flow `{id}` does not leave it");
            self.error(Code::UnknownReference, element, &what);
        }
        self.nodes[at.0].default = found;
    }

    fn attach_boundary(&mut self, at: NodeRef, element: XmlElement<'a>) {
        let Some(host_id) = attribute(element, "attachedToRef") else { return };
        let host = self.node_ids.get(host_id).copied().filter(|host| {
            let host = &self.nodes[host.0];
            host.is_activity() && host.parent == self.nodes[at.0].parent
        });
        let Some(host) = host else {
            if self.refused.contains(host_id) {
                return;
            }
            let what = format!("attachedToRef: there is no activity `{host_id}` in the same scope");
            self.error(Code::UnknownReference, element, &what);
            return;
        };
        if let NodeKind::Boundary(boundary) = &mut self.nodes[at.0].kind {
            boundary.host = host;
        }
        self.nodes[host.0].boundaries.push(at);
    }

    /// `activityRef` of a thrown compensation.
    fn resolve_compensation_target(&mut self, at: NodeRef, element: XmlElement<'a>) {
        let Some(definition) = child(element, "compensateEventDefinition") else { return };
        let Some(id) = attribute(definition, "activityRef") else { return };
        let found = self.node_ids.get(id).copied().filter(|it| self.nodes[it.0].is_activity());
        if found.is_none() {
            let what = format!("activityRef: there is no activity `{id}`");
            self.error(Code::UnknownReference, definition, &what);
        }
        if let NodeKind::End(ThrownEvent::Compensation(activity))
        | NodeKind::Throw(ThrownEvent::Compensation(activity)) = &mut self.nodes[at.0].kind
        {
            *activity = found;
        }
    }

    /// Only an association from a compensation event to an activity is executed.
    fn resolve_association(&mut self, element: XmlElement<'a>) {
        let end = |wanted| attribute(element, wanted).and_then(|id| self.node_ids.get(id).copied());
        let (Some(source), Some(target)) = (end("sourceRef"), end("targetRef")) else { return };
        let NodeKind::Boundary(boundary) = &self.nodes[source.0].kind else { return };
        if !matches!(boundary.trigger, EventTrigger::Compensation) {
            return;
        }
        let host = boundary.host;
        let handler = &self.nodes[target.0];
        if !handler.is_activity() || !handler.for_compensation {
            let what = format!("{} `{}` is not for compensation", name(element), handler.id);
            let help = "mark the activity as compensation (isForCompensation=\"true\")";
            self.error_with_help(Code::Compensation, self.elements[target.0], &what, help);
            return;
        }
        self.nodes[host.0].handler = Some(target);
    }

    /// Nodes without an incoming flow: they start a body that has no start event.
    fn find_implicit_starts(&mut self) {
        for index in 0..self.nodes.len() {
            let node = &self.nodes[index];
            let led_to =
                !node.incoming.is_empty() || node.for_compensation || node.is_event_sub_process();
            let begins = match &node.kind {
                NodeKind::Start(_)
                | NodeKind::End(_)
                | NodeKind::Boundary(_)
                | NodeKind::Catch(EventTrigger::Link(_)) => false,
                _ => !led_to,
            };
            let parent = node.parent;
            if begins {
                self.body_mut(parent).implicit_starts.push(NodeRef(index));
            }
        }
    }
}
