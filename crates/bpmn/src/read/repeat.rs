//! Multi-instance and standard loops.

use super::builder::Builder;
use super::tree::{
    El, Vendor, attribute, child, children, extension, name, text, vendor_attribute,
};
use crate::expression::Expression;
use crate::model::{Multi, Repeat, Target};
use crate::problem::Code;

impl<'a> Builder<'a> {
    pub(super) fn repeat(&mut self, element: El<'a>) -> Option<Repeat> {
        let multi = child(element, "multiInstanceLoopCharacteristics");
        if let Some(multi) = multi {
            return Some(Repeat::Multi(self.multi(multi)));
        }
        let standard = child(element, "standardLoopCharacteristics")?;
        self.check_words(standard);
        let test_before = self.flag(standard, "testBefore", false);
        let condition = self.condition_in(standard, "loopCondition");
        let maximum = attribute(standard, "loopMaximum").map(|it| self.expression(standard, it));
        if condition.is_none() && maximum.is_none() {
            let what = "a loop needs a loopCondition or a loopMaximum, else it never ends";
            self.error(Code::Missing, standard, what);
        }
        Some(Repeat::Loop { test_before, condition, maximum })
    }

    fn multi(&mut self, element: El<'a>) -> Multi {
        self.check_words(element);
        if attribute(element, "behavior").is_some_and(|it| it != "All") {
            let what = "`behavior` other than All is not executed";
            self.error(Code::UnsupportedAttribute, element, what);
        }
        let mut multi = Multi {
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
        multi.output = standard_output(element);
        self.camunda_collection(element, &mut multi);
        self.zeebe_collection(element, &mut multi);
        if multi.cardinality.is_none() && multi.collection.is_none() {
            let help = "set a collection (zeebe:loopCharacteristics inputCollection, \
                        camunda:collection) or a loopCardinality";
            self.error_with_help(Code::Missing, element, "how often is missing", help);
        }
        multi
    }

    fn camunda_collection(&mut self, element: El<'a>, multi: &mut Multi) {
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

    fn zeebe_collection(&mut self, element: El<'a>, multi: &mut Multi) {
        let Some(zeebe) = extension(element, Vendor::Zeebe, "loopCharacteristics") else { return };
        if let Some(collection) = attribute(zeebe, "inputCollection") {
            multi.collection = Some(self.expression(zeebe, collection));
        }
        multi.item = attribute(zeebe, "inputElement").map(str::to_owned);
        let output = attribute(zeebe, "outputCollection").and_then(Target::parse);
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
fn standard_output(element: El<'_>) -> Option<(Target, Expression)> {
    let collection = child(element, "loopDataOutputRef").map(text)?;
    let item = child(element, "outputDataItem").and_then(|it| attribute(it, "name"))?;
    Some((Target::parse(&collection)?, Expression::variable(item)))
}
