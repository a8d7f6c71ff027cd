//! Sequence flows and their conditions.

use std::sync::Arc;

use super::builder::Builder;
use super::tree::{El, attribute, child, text};
use crate::expression::Expression;
use crate::model::{Flow, FlowRef, NodeRef};
use crate::problem::Code;

impl<'a> Builder<'a> {
    /// All flows, once all nodes are known.
    pub(super) fn read_flows(&mut self) {
        for element in std::mem::take(&mut self.flow_elements) {
            self.read_flow(element);
        }
    }

    fn read_flow(&mut self, element: El<'a>) {
        self.check_words(element);
        let source = self.end_of(element, "sourceRef");
        let target = self.end_of(element, "targetRef");
        let condition = child(element, "conditionExpression").map(|it| self.condition(it));
        let (Some(source), Some(target)) = (source, target) else { return };
        let at = FlowRef(self.flows.len());
        let id: Arc<str> = match attribute(element, "id") {
            Some(id) => id.into(),
            None => {
                // Without an id of its own, its ends and its number among them name it.
                let ends = (&self.nodes[source.0].id, &self.nodes[target.0].id);
                let same = |flow: &&Flow| flow.source == source && flow.target == target;
                let number = self.flows.iter().filter(same).count();
                format!("{}->{}#{number}", ends.0, ends.1).into()
            }
        };
        let taken = self.node_ids.contains_key(&id);
        if self.flow_ids.insert(Arc::clone(&id), at).is_some() || taken {
            self.error(Code::DuplicateId, element, "the id is used twice");
        }
        self.flows.push(Flow { id, source, target, condition });
        self.nodes[source.0].outgoing.push(at);
        self.nodes[target.0].incoming.push(at);
    }

    fn end_of(&mut self, element: El<'a>, reference: &str) -> Option<NodeRef> {
        let id = self.required(element, reference)?;
        let found = self.node_ids.get(id).copied();
        if found.is_none() && !self.refused.contains(id) {
            let what = format!("{reference}: there is no flow node `{id}` in this process");
            self.error(Code::UnknownReference, element, &what);
        }
        found
    }

    /// A condition: plain text would never be true or false.
    pub(super) fn condition(&mut self, element: El<'a>) -> Expression {
        let language = attribute(element, "language");
        let written = text(element);
        if let Some(script) =
            super::tree::vendor_attribute(element, super::tree::Vendor::Camunda, "resource")
        {
            let what = format!("the script `{script}` is not part of this file");
            self.error(Code::UnsupportedAttribute, element, &what);
            return Expression::null();
        }
        let expression = self.expression_in(element, &written, language);
        match expression.literal().as_deref() {
            Some("true") => Expression::truth(true),
            Some("false") => Expression::truth(false),
            None => expression,
            Some(literal) => {
                let what =
                    format!("`{}` is text, not a condition", super::builder::shortened(literal));
                let help = "begin with = for FEEL, or write ${…}";
                self.error_with_help(Code::BadExpression, element, &what, help);
                Expression::null()
            }
        }
    }
}
