//! Multi-instance and standard loops.

use super::builder::Builder;
use super::tree::{
    Vendor, XmlElement, attribute, child, children, extension, name, text, vendor_attribute,
};
use crate::expression::Expression;
use crate::model::{LoopCharacteristics, MultiInstance, VariablePath};
use crate::problem::Code;

impl<'a> Builder<'a> {
    pub(super) fn loop_characteristics(
        &mut self,
        element: XmlElement<'a>,
    ) -> Option<LoopCharacteristics> {
        let multi = child(element, "multiInstanceLoopCharacteristics");
        if let Some(multi) = multi {
            return Some(LoopCharacteristics::MultiInstance(self.multi_instance(multi)));
        }
        let standard = child(element, "standardLoopCharacteristics")?;
        self.check_attributes_and_extensions(standard);
        let test_before = self.flag(standard, "testBefore", false);
        let condition = self.condition_in(standard, "loopCondition");
        let maximum = attribute(standard, "loopMaximum").map(|it| self.expression(standard, it));
        if condition.is_none() && maximum.is_none() {
            let what = "a loop needs a loopCondition or a loopMaximum, else it never ends";
            self.error(Code::Missing, standard, what);
        }
        Some(LoopCharacteristics::StandardLoop { test_before, condition, maximum })
    }

    fn multi_instance(&mut self, element: XmlElement<'a>) -> MultiInstance {
        self.check_attributes_and_extensions(element);
        if attribute(element, "behavior").is_some_and(|it| it != "All") {
            let what = "`behavior` other than All is not executed";
            self.error(Code::UnsupportedAttribute, element, what);
        }
        let mut multi = MultiInstance {
            sequential: self.flag(element, "isSequential", false),
            cardinality: None,
            collection: None,
            item: None,
            output: None,
            completion: None,
        };
        for part in children(element) {
            match name(part) {
                "loopCardinality" => {
                    let written = text(part);
                    let language = self.language_of(part);
                    multi.cardinality = Some(self.expression_in(part, &written, language));
                }
                "completionCondition" => {
                    multi.completion = self.condition_in(element, "completionCondition");
                }
                "loopDataInputRef" => multi.collection = Some(Expression::variable(&text(part))),
                "inputDataItem" => multi.item = attribute(part, "name").map(str::to_owned),
                "loopDataOutputRef" | "outputDataItem" | "extensionElements" | "documentation" => {}
                _ => self.error(Code::UnsupportedElement, part, "this is not executed here"),
            }
        }
        multi.output = standard_output_mapping(element);
        self.camunda_collection(element, &mut multi);
        self.zeebe_collection(element, &mut multi);
        if multi.cardinality.is_none() && multi.collection.is_none() {
            let help = "set a collection (zeebe:loopCharacteristics inputCollection, \
                        camunda:collection) or a loopCardinality";
            self.error_with_help(Code::Missing, element, "how often is missing", help);
        }
        multi
    }

    fn camunda_collection(&mut self, element: XmlElement<'a>, multi: &mut MultiInstance) {
        if let Some(collection) = vendor_attribute(element, Vendor::Camunda, "collection") {
            multi.collection = Some(if collection.contains('{') {
                self.expression(element, collection)
            } else {
                Expression::variable(collection)
            });
        }
        if let Some(item) = vendor_attribute(element, Vendor::Camunda, "elementVariable") {
            multi.item = Some(item.to_owned());
        }
    }

    fn zeebe_collection(&mut self, element: XmlElement<'a>, multi: &mut MultiInstance) {
        let Some(zeebe) = extension(element, Vendor::Zeebe, "loopCharacteristics") else { return };
        if let Some(collection) = attribute(zeebe, "inputCollection") {
            multi.collection = Some(self.expression(zeebe, collection));
        }
        multi.item = attribute(zeebe, "inputElement").map(str::to_owned);
        let output = attribute(zeebe, "outputCollection").and_then(VariablePath::parse);
        match (output, attribute(zeebe, "outputElement")) {
            (Some(target), Some(item)) => {
                multi.output = Some((target, self.expression(zeebe, item)));
            }
            (Some(_), None) => {
                self.error(Code::Missing, zeebe, "outputCollection needs an outputElement");
            }
            (None, Some(_)) => {
                self.error(Code::Missing, zeebe, "outputElement needs an outputCollection");
            }
            (None, None) => {}
        }
    }
}

/// `loopDataOutputRef` and `outputDataItem`: both name variables.
fn standard_output_mapping(element: XmlElement<'_>) -> Option<(VariablePath, Expression)> {
    let collection = child(element, "loopDataOutputRef").map(text)?;
    let item = child(element, "outputDataItem").and_then(|it| attribute(it, "name"))?;
    Some((VariablePath::parse(&collection)?, Expression::variable(item)))
}
