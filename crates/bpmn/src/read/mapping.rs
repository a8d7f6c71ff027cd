//! Input and output mappings of both Camunda vocabularies.

use super::builder::Builder;
use super::tree::{
    Vendor, XmlElement, attribute, extension, extensions, name, text, vendor, vendor_attribute,
    vendor_children,
};
use crate::expression::{Expression, Language};
use crate::model::{Input, Mapping, Output, VariablePath};
use crate::problem::Code;

impl<'a> Builder<'a> {
    pub(super) fn mapping(&mut self, element: XmlElement<'a>) -> Mapping {
        let mut mapping = Mapping::default();
        if let Some(zeebe) = extension(element, Vendor::Zeebe, "ioMapping") {
            for part in vendor_children(zeebe, "input") {
                let found = self.zeebe_pair(part);
                mapping.inputs.extend(found.map(|(target, source)| Input { target, source }));
            }
            for part in vendor_children(zeebe, "output") {
                let found = self.zeebe_pair(part);
                mapping.outputs.extend(found.map(|(target, source)| Output { target, source }));
            }
        }
        if let Some(camunda) = extension(element, Vendor::Camunda, "inputOutput") {
            for part in vendor_children(camunda, "inputParameter") {
                let found = self.camunda_pair(part);
                mapping.inputs.extend(found.map(|(target, source)| Input { target, source }));
            }
            for part in vendor_children(camunda, "outputParameter") {
                let found = self.camunda_pair(part);
                mapping.outputs.extend(found.map(|(target, source)| Output { target, source }));
            }
        }
        self.signal_payload(element, &mut mapping);
        mapping
    }

    /// Camunda 7 writes the payload of a thrown signal as `camunda:in` of its event definition.
    fn signal_payload(&mut self, element: XmlElement<'a>, mapping: &mut Mapping) {
        let Some(signal) = super::tree::child(element, "signalEventDefinition") else { return };
        let ins = extensions(signal).filter(|it| vendor(*it) == Vendor::Camunda);
        for part in ins.filter(|it| name(*it) == "in").collect::<Vec<_>>() {
            let source = match (attribute(part, "source"), attribute(part, "sourceExpression")) {
                (Some(named), _) => Expression::variable(named),
                (None, Some(text)) => self.expression(part, text),
                (None, None) => {
                    self.error(Code::UnsupportedElement, part, "only single variables are sent");
                    continue;
                }
            };
            let target = attribute(part, "target").and_then(VariablePath::parse);
            mapping.inputs.extend(target.map(|target| Input { target, source }));
        }
    }

    fn zeebe_pair(&mut self, part: XmlElement<'a>) -> Option<(VariablePath, Expression)> {
        let source = attribute(part, "source").unwrap_or_default();
        let target = self.required(part, "target")?;
        let Some(target) = VariablePath::parse(target) else {
            self.error(Code::BadValue, part, "the target is not a variable");
            return None;
        };
        Some((target, self.expression(part, source)))
    }

    fn camunda_pair(&mut self, part: XmlElement<'a>) -> Option<(VariablePath, Expression)> {
        let variable = self.required(part, "name")?.to_owned();
        let source = self.camunda_value(part);
        Some((VariablePath { variable, path: Vec::new() }, source))
    }

    /// Text, a list, a map or a script.
    fn camunda_value(&mut self, part: XmlElement<'a>) -> Expression {
        let Some(inner) = part.children().find(roxmltree::Node::is_element) else {
            let written = text(part);
            return self.expression(part, &written);
        };
        match name(inner) {
            "list" => {
                let items: Vec<XmlElement<'a>> =
                    inner.children().filter(roxmltree::Node::is_element).collect();
                Expression::List(items.into_iter().map(|it| self.camunda_item(it)).collect())
            }
            "map" => {
                let entries: Vec<XmlElement<'a>> = vendor_children(inner, "entry").collect();
                let pair = |it: XmlElement<'a>| {
                    let key = it.attribute("key").unwrap_or_default().to_owned();
                    (key, self.camunda_value(it))
                };
                Expression::Map(entries.into_iter().map(pair).collect())
            }
            "script" => self.camunda_script(inner),
            other => {
                let what = format!("`{other}` is not executed here");
                self.error(Code::UnsupportedElement, inner, &what);
                Expression::null()
            }
        }
    }

    fn camunda_item(&mut self, item: XmlElement<'a>) -> Expression {
        match name(item) {
            "value" => {
                let written = text(item);
                self.expression(item, &written)
            }
            "script" => self.camunda_script(item),
            _ => self.camunda_value(item),
        }
    }

    fn camunda_script(&mut self, script: XmlElement<'a>) -> Expression {
        let format = attribute(script, "scriptFormat").unwrap_or_default();
        let resource = attribute(script, "resource")
            .or_else(|| vendor_attribute(script, Vendor::Camunda, "resource"));
        let (Some(language), None) = (Language::from_name(format), resource) else {
            let what = format!("a script in `{format}` does not run here");
            let help = "use javascript, flow, dataweave or feel, written in the model itself";
            self.error_with_help(Code::ScriptFormat, script, &what, help);
            return Expression::null();
        };
        let source = text(script);
        if !self.count_code_bytes(script, &source) {
            return Expression::null();
        }
        match Expression::script(&source, language) {
            Ok(code) => code,
            Err(problem) => {
                self.error(Code::BadExpression, script, &problem.message);
                Expression::null()
            }
        }
    }
}
