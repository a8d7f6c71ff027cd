//! Refuses by name what is written on an element and not executed (I9).

use super::builder::Builder;
use super::tree::{El, Vendor, children, extensions, name, vendor, vendor_attributes};
use super::vocabulary::{self, Treatment};
use crate::problem::Code;

impl<'a> Builder<'a> {
    /// Attributes and extensions of an element and of its event definitions.
    pub(super) fn check_words(&mut self, element: El<'a>) {
        let allowed = vocabulary::attributes(name(element));
        for attribute in element.attributes().filter(|it| it.namespace().is_none()) {
            let word = attribute.name();
            if !matches!(word, "id" | "name") && !allowed.contains(&word) {
                let what = format!("the attribute `{word}` is not executed");
                self.error(Code::UnsupportedAttribute, element, &what);
            }
        }
        self.check_vendor_words(element);
        for definition in children(element).filter(|it| name(*it).ends_with("EventDefinition")) {
            self.check_vendor_words(definition);
        }
    }

    fn check_vendor_words(&mut self, element: El<'a>) {
        for (vendor, attribute) in vendor_attributes(element) {
            let word = attribute.name();
            let called = format!("{}:{word}", vendor.prefix());
            self.treat(element, vocabulary::attribute(vendor, word), &called);
        }
        for extension in extensions(element) {
            let vendor: Vendor = vendor(extension);
            let word = name(extension);
            let called = format!("{}:{word}", vendor.prefix());
            self.treat(extension, vocabulary::element(vendor, word), &called);
        }
    }

    fn treat(&mut self, element: El<'a>, treatment: Treatment, word: &str) {
        match treatment {
            Treatment::Honoured | Treatment::Informative => {}
            Treatment::Noted(what) => self.note(element, &format!("{word}: {what}")),
            Treatment::Refused(code, what) => self.error(code, element, &format!("{word}: {what}")),
        }
    }

    /// Elements inside an element that has its own reader.
    pub(super) fn check_parts(&mut self, element: El<'a>, read: &[&str]) {
        for part in children(element) {
            match name(part) {
                "dataInputAssociation" | "dataOutputAssociation" => self.check_data(part),
                known if vocabulary::INNER.contains(&known) || read.contains(&known) => {}
                _ => self.error(Code::UnsupportedElement, part, "this is not executed here"),
            }
        }
    }
}
