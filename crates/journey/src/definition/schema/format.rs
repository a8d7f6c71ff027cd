//! `format`, validated by the library: each format reads a text once.

use std::fmt;

/// Longer texts do not match the formats that compile or map the text: checking them would take too
/// long.
const MAX_COSTLY_BYTES: usize = 4_096;

/// A known format.
pub(super) struct Format {
    name: String,
    validator: jsonschema::Validator,
    is_costly: bool,
}

impl Format {
    /// A format of the draft; none for unknown names.
    pub(super) fn new(name: &str) -> Option<Self> {
        if !FORMAT_NAMES.contains(&name) {
            return None;
        }
        let schema = serde_json::json!({ "format": name });
        let options = jsonschema::draft202012::options().should_validate_formats(true);
        let validator = options.build(&schema).ok()?;
        let is_costly = matches!(name, "regex" | "idn-email" | "idn-hostname" | "iri");
        Some(Self { name: name.to_owned(), validator, is_costly })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The operations that validating a text costs.
    pub(super) fn ops(text: &str) -> u64 {
        (text.len() as u64 / 4).saturating_add(4)
    }

    pub(super) fn holds(&self, text: &str) -> bool {
        if self.is_costly && text.len() > MAX_COSTLY_BYTES {
            return false;
        }
        self.validator.is_valid(&serde_json::Value::String(text.to_owned()))
    }
}

impl fmt::Debug for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// The formats of the draft; other names are annotations.
const FORMAT_NAMES: &[&str] = &[
    "date",
    "date-time",
    "duration",
    "email",
    "hostname",
    "idn-email",
    "idn-hostname",
    "ipv4",
    "ipv6",
    "iri",
    "iri-reference",
    "json-pointer",
    "regex",
    "relative-json-pointer",
    "time",
    "uri",
    "uri-reference",
    "uri-template",
    "uuid",
];
