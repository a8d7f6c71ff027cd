//! Rejects by name attributes and extensions that are not executed (I9).

use super::builder::Builder;
use super::tree::{Vendor, XmlElement, children, extensions, name, vendor, vendor_attributes};
use super::vocabulary::{self, ExtensionSupport};
use crate::problem::Code;

impl<'a> Builder<'a> {
    /// Checks the attributes and extensions of an element and of its event definitions.
    pub(super) fn check_attributes_and_extensions(&mut self, element: XmlElement<'a>) {
        let allowed = vocabulary::attributes(name(element));
        for attribute in element.attributes().filter(|it| it.namespace().is_none()) {
            let word = attribute.name();
            if !matches!(word, "id" | "name") && !allowed.contains(&word) {
                let what = format!("the attribute `{word}` is not executed");
                self.error(Code::UnsupportedAttribute, element, &what);
            }
        }
        self.check_vendor_extensions(element);
        for definition in children(element).filter(|it| name(*it).ends_with("EventDefinition")) {
            self.check_vendor_extensions(definition);
        }
    }

    fn check_vendor_extensions(&mut self, element: XmlElement<'a>) {
        for (vendor, attribute) in vendor_attributes(element) {
            let word = attribute.name();
            let called = format!("{}:{word}", vendor.prefix());
            self.apply_support(element, vocabulary::attribute(vendor, word), &called);
        }
        for extension in extensions(element) {
            let vendor: Vendor = vendor(extension);
            let word = name(extension);
            let called = format!("{}:{word}", vendor.prefix());
            self.apply_support(extension, vocabulary::element(vendor, word), &called);
        }
    }

    fn apply_support(&mut self, element: XmlElement<'a>, treatment: ExtensionSupport, word: &str) {
        match treatment {
            ExtensionSupport::Supported | ExtensionSupport::Ignored => {}
            ExtensionSupport::IgnoredWithNote(what) => {
                self.note(element, &format!("{word}: {what}"));
            }
            ExtensionSupport::Rejected(code, what) => {
                self.error(code, element, &format!("{word}: {what}"));
            }
        }
    }

    /// Checks the children of an element that has its own reader.
    pub(super) fn check_children(&mut self, element: XmlElement<'a>, read: &[&str]) {
        for part in children(element) {
            match name(part) {
                "dataInputAssociation" | "dataOutputAssociation" => self.check_data(part),
                known if vocabulary::COMMON_CHILDREN.contains(&known) || read.contains(&known) => {}
                _ => self.error(Code::UnsupportedElement, part, "this is not executed here"),
            }
        }
    }
}
