//! Call activities.

use super::builder::Builder;
use super::tree::{
    Vendor, XmlElement, attribute, extension, extensions, local_part, name, vendor,
    vendor_attribute,
};
use crate::expression::Expression;
use crate::model::{Call, Input, InputPropagation, NodeKind, NodeRef, Output, VariablePath};
use crate::problem::Code;

impl<'a> Builder<'a> {
    pub(super) fn read_call(&mut self, element: XmlElement<'a>, parent: Option<NodeRef>) {
        self.check_attributes_and_extensions(element);
        self.check_children(element, &[]);
        let zeebe = extension(element, Vendor::Zeebe, "calledElement");
        let called = zeebe.and_then(|it| attribute(it, "processId"));
        let called = called
            .or_else(|| attribute(element, "calledElement").map(|it| local_part(element, it)));
        let definition = match called {
            Some(called) => self.expression(element, called),
            None => {
                let help = "set calledElement, or zeebe:calledElement processId";
                self.error_with_help(Code::Missing, element, "what is called is missing", help);
                Expression::null()
            }
        };
        if called.is_some_and(|id| self.globals.elements.get(id).is_some_and(is_global_task)) {
            let what = "global tasks are not executed";
            self.error_with_help(Code::UnsupportedElement, element, what, "call a process");
        }
        let mut call = Call {
            definition,
            version: self.version(element),
            label: None,
            key: None,
            all_in: InputPropagation::AllWithoutMappings,
            all_out: true,
            inputs: Vec::new(),
            outputs: Vec::new(),
        };
        if let Some(zeebe) = zeebe {
            self.check_called_element(zeebe);
            // As in Zeebe, mapped inputs are added to the visible variables.
            let all = self.flag(zeebe, "propagateAllParentVariables", true);
            call.all_in = if all { InputPropagation::All } else { InputPropagation::MappedOnly };
            call.all_out = self.flag(zeebe, "propagateAllChildVariables", true);
            call.label = self.version_tag(zeebe);
        }
        self.camunda_variables(element, &mut call);
        self.add_activity(element, NodeKind::Call(call), parent);
    }

    /// Rejects attributes that would be ignored (I9).
    fn check_called_element(&mut self, zeebe: XmlElement<'a>) {
        for attribute in zeebe.attributes().filter(|it| it.namespace().is_none()) {
            let word = attribute.name();
            if !CALLED_ELEMENT_ATTRIBUTES.contains(&word) {
                let what = format!("zeebe:calledElement: the attribute `{word}` is not executed");
                let help = format!("it has {}", CALLED_ELEMENT_ATTRIBUTES.join(", "));
                self.error_with_help(Code::UnsupportedAttribute, zeebe, &what, &help);
            }
        }
    }

    /// `bindingType="versionTag"`: the latest version that carries the tag is called.
    fn version_tag(&mut self, zeebe: XmlElement<'a>) -> Option<Expression> {
        let tag = attribute(zeebe, "versionTag");
        match attribute(zeebe, "bindingType") {
            None | Some("latest") => None,
            Some("deployment") => {
                self.note(zeebe, "bindingType=\"deployment\": the latest version is called");
                None
            }
            Some("versionTag") => {
                if tag.is_none() {
                    self.error(Code::Missing, zeebe, "versionTag is missing");
                }
                tag.map(|tag| self.expression(zeebe, tag))
            }
            Some(other) => {
                let what = format!("bindingType=\"{other}\" is not executed");
                let help = "use latest, deployment or versionTag";
                self.error_with_help(Code::UnsupportedAttribute, zeebe, &what, help);
                None
            }
        }
    }

    /// A version to call instead of the latest.
    fn version(&mut self, element: XmlElement<'a>) -> Option<Expression> {
        let binding = vendor_attribute(element, Vendor::Camunda, "calledElementBinding");
        match binding {
            None | Some("latest") => vendor_attribute(element, Vendor::Meantime, "version"),
            Some("version") => {
                let version = vendor_attribute(element, Vendor::Camunda, "calledElementVersion");
                if version.is_none() {
                    self.error(Code::Missing, element, "calledElementVersion is missing");
                }
                version
            }
            Some("deployment") => {
                let what = "calledElementBinding=\"deployment\": the latest version is called";
                self.note(element, what);
                None
            }
            Some(other) => {
                let what = format!("calledElementBinding=\"{other}\" is not executed");
                let help = "use latest, or version with calledElementVersion";
                self.error_with_help(Code::UnsupportedAttribute, element, &what, help);
                None
            }
        }
        .map(|version| self.expression(element, version))
    }

    /// `camunda:in` and `camunda:out`: if there is one, only the named variables are passed.
    fn camunda_variables(&mut self, element: XmlElement<'a>, call: &mut Call) {
        let is_mapping = |it: &XmlElement<'a>| {
            vendor(*it) == Vendor::Camunda && matches!(name(*it), "in" | "out")
        };
        let mappings: Vec<XmlElement<'a>> = extensions(element).filter(is_mapping).collect();
        let ins =
            mappings.iter().any(|it| name(*it) == "in" && it.attribute("businessKey").is_none());
        if ins {
            call.all_in = InputPropagation::MappedOnly;
        }
        call.all_out &= !mappings.iter().any(|it| name(*it) == "out");
        for mapping in mappings {
            if let Some(key) = attribute(mapping, "businessKey") {
                // `#{execution.processBusinessKey}` passes the business key of the caller.
                call.key = Some(if key.contains("processBusinessKey") {
                    Expression::business_key()
                } else {
                    self.expression(mapping, key)
                });
                continue;
            }
            if attribute(mapping, "variables") == Some("all") {
                if name(mapping) == "in" {
                    call.all_in = InputPropagation::All;
                } else {
                    call.all_out = true;
                }
                continue;
            }
            self.camunda_variable(mapping, call);
        }
    }

    fn camunda_variable(&mut self, mapping: XmlElement<'a>, call: &mut Call) {
        let source = match (attribute(mapping, "source"), attribute(mapping, "sourceExpression")) {
            (Some(name), _) => Expression::variable(name),
            (None, Some(text)) => self.expression(mapping, text),
            (None, None) => {
                self.error(Code::Missing, mapping, "the attribute `source` is missing");
                return;
            }
        };
        let Some(target) = self.required(mapping, "target").and_then(VariablePath::parse) else {
            return;
        };
        if name(mapping) == "in" {
            call.inputs.push(Input { target, source });
        } else {
            call.outputs.push(Output { target, source });
        }
    }
}

/// The supported attributes of `zeebe:calledElement`.
const CALLED_ELEMENT_ATTRIBUTES: [&str; 5] = [
    "processId",
    "propagateAllChildVariables",
    "propagateAllParentVariables",
    "bindingType",
    "versionTag",
];

fn is_global_task(element: &XmlElement<'_>) -> bool {
    name(*element).starts_with("global")
}
