//! JSON Schema, draft 2020-12, compiled once. The one place that knows the library.
//!
//! Nothing is fetched: a reference that leaves the schema does not compile.

use std::fmt;

use meantime_core::Json;

/// A schema that can be asked any number of times.
pub(crate) struct Schema {
    document: serde_json::Value,
    validator: jsonschema::Validator,
}

/// One way in which a value does not match.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub(crate) struct Mismatch {
    /// Where in the value: a JSON pointer, empty for the whole.
    pub(crate) pointer: String,
    /// What is wrong there.
    pub(crate) message: String,
}

/// How many mismatches are told.
const MAX_MISMATCHES: usize = 20;

impl Schema {
    /// Compiles a schema.
    pub(crate) fn compile(document: serde_json::Value) -> Result<Self, String> {
        let built =
            jsonschema::draft202012::options().should_validate_formats(true).build(&document);
        match built {
            Ok(validator) => Ok(Self { document, validator }),
            Err(error) => Err(error.to_string()),
        }
    }

    /// What is wrong with a document; nothing when it matches.
    pub(crate) fn mismatches(&self, value: &Json) -> Vec<Mismatch> {
        let Ok(value) = value.read::<serde_json::Value>() else { return Vec::new() };
        if self.validator.is_valid(&value) {
            return Vec::new();
        }
        let mismatch = |error: jsonschema::ValidationError<'_>| Mismatch {
            pointer: error.instance_path().to_string(),
            message: error.to_string(),
        };
        // In an order of our own: the library's maps have one that differs from run to run (I6).
        let mut mismatches: Vec<Mismatch> =
            self.validator.iter_errors(&value).map(mismatch).collect();
        mismatches.sort();
        mismatches.truncate(MAX_MISMATCHES);
        mismatches
    }

    /// Names of the properties it declares at its top level.
    pub(crate) fn properties(&self) -> impl Iterator<Item = &str> {
        let declared = self.document.get("properties").and_then(serde_json::Value::as_object);
        declared.into_iter().flat_map(|it| it.keys().map(String::as_str))
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Schema({})", self.document)
    }
}
