//! Sequence flows and their conditions.

use std::sync::Arc;

use super::builder::Builder;
use super::tree::{XmlElement, attribute, child, text};
use crate::expression::Expression;
use crate::model::{FlowRef, NodeRef, SequenceFlow};
use crate::problem::Code;

impl<'a> Builder<'a> {
    /// All flows, once all nodes are known.
    pub(super) fn read_flows(&mut self) {
        for element in std::mem::take(&mut self.flow_elements) {
            self.read_flow(element);
        }
    }

    fn read_flow(&mut self, element: XmlElement<'a>) {
        self.check_attributes_and_extensions(element);
        let source = self.flow_end(element, "sourceRef");
        let target = self.flow_end(element, "targetRef");
        let condition = self.condition_in(element, "conditionExpression");
        let (Some(source), Some(target)) = (source, target) else { return };
        let at = FlowRef(self.flows.len());
        let id: Arc<str> = match attribute(element, "id") {
            Some(id) => id.into(),
            None => {
                // A flow without an id is named by its two ends and its number among the flows
                // between them.
                let ends = (&self.nodes[source.0].id, &self.nodes[target.0].id);
                let number = self.between.get(&(source, target)).copied().unwrap_or_default();
                format!("{}->{}#{number}", ends.0, ends.1).into()
            }
        };
        let taken = self.node_ids.contains_key(&id);
        if self.flow_ids.insert(Arc::clone(&id), at).is_some() || taken {
            self.error(Code::DuplicateId, element, "the id is used twice");
        }
        *self.between.entry((source, target)).or_default() += 1;
        self.flows.push(SequenceFlow { id, source, target, condition });
        self.nodes[source.0].outgoing.push(at);
        self.nodes[target.0].incoming.push(at);
    }

    fn flow_end(&mut self, element: XmlElement<'a>, reference: &str) -> Option<NodeRef> {
        let id = self.required(element, reference)?;
        let found = self.node_ids.get(id).copied();
        if found.is_none() && !self.refused.contains(id) {
            let what = format!("{reference}: there is no flow node `{id}` in this process");
            self.error(Code::UnknownReference, element, &what);
        }
        found
    }

    /// A condition inside an element. Empty ones, which modelers leave behind, are ignored.
    pub(super) fn condition_in(
        &mut self,
        element: XmlElement<'a>,
        wanted: &str,
    ) -> Option<Expression> {
        let found = child(element, wanted)?;
        let is_empty = text(found).is_empty()
            && super::tree::vendor_attribute(found, super::tree::Vendor::Camunda, "resource")
                .is_none();
        (!is_empty).then(|| self.condition(found))
    }

    /// A condition must be an expression: plain text is never true or false.
    fn condition(&mut self, element: XmlElement<'a>) -> Expression {
        let language = self.language_of(element);
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
            Some("true") => Expression::boolean(true),
            Some("false") => Expression::boolean(false),
            None => expression,
            Some(literal) => {
                let what =
                    format!("`{}` is text, not a condition", super::builder::excerpt(literal));
                let help = "begin with = for FEEL, or write ${…}";
                self.error_with_help(Code::BadExpression, element, &what, help);
                Expression::null()
            }
        }
    }
}
