//! The members of an answer. Documents of a run are copied as text, not parsed: numbers keep their
//! digits, and any depth is possible.

use std::collections::BTreeMap;

use meantime_core::Json;

/// An object under construction.
#[derive(Debug, Default)]
pub(super) struct AnswerFields(BTreeMap<String, Json>);

impl AnswerFields {
    pub(super) fn put(&mut self, name: &str, value: Json) {
        self.0.insert(name.to_owned(), value);
    }

    pub(super) fn put_text(&mut self, name: &str, text: &str) {
        self.put(name, Json::text(text));
    }

    /// Copies the properties of an object in the context to the top level. Existing members stay,
    /// and reserved names are skipped even if the answer does not use them.
    pub(super) fn merge(&mut self, var: &str, context: &Json, reserved: &[&str]) {
        let properties = member(context, var).and_then(|it| members(&it)).unwrap_or_default();
        for (name, value) in properties {
            if !reserved.contains(&name.as_str()) {
                self.0.entry(name).or_insert(value);
            }
        }
    }

    pub(super) fn into_json(self) -> Json {
        Json::object(self.0.iter().map(|(name, value)| (name.as_str(), value)))
    }
}

/// The members of a document that is an object.
fn members(document: &Json) -> Option<BTreeMap<String, Json>> {
    document.read().ok()
}

/// A member of a document that is an object.
pub(super) fn member(document: &Json, name: &str) -> Option<Json> {
    members(document)?.remove(name)
}
