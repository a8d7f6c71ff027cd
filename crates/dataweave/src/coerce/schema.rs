//! Options of a conversion.

use meantime_value::{Object, Text, Value};

/// Options of a conversion: `{format: "…", locale: "…"}`.
#[derive(Debug, Default)]
pub(crate) struct Schema<'s> {
    metadata: Option<&'s Object>,
}

impl<'s> Schema<'s> {
    pub(super) fn new(metadata: &'s Object) -> Self {
        Self { metadata: Some(metadata) }
    }

    pub(super) fn text(&self, name: &str) -> Option<Text> {
        match self.metadata?.get(name)?.bare() {
            Value::Text(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string().into()),
            _ => None,
        }
    }
}
