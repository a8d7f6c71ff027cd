//! A compiled schema, and the result of checking a document.

use std::fmt;

use meantime_core::Json;
use meantime_value::json;

use super::compile;
use super::evaluate::Evaluation;
use super::keyword::Node;

/// A compiled schema, which can check any number of documents.
pub(crate) struct Schema {
    /// All subschemas; the first is the schema itself.
    nodes: Vec<Node>,
    properties: Vec<String>,
}

/// One way in which a value does not match.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub(crate) struct Mismatch {
    /// The position in the value: a JSON pointer, empty for the whole value.
    pub(crate) pointer: String,
    /// What is wrong.
    pub(crate) message: String,
}

impl Mismatch {
    /// The mismatches as a document.
    pub(crate) fn list(mismatches: &[Self]) -> Json {
        let documents: Vec<Json> = mismatches
            .iter()
            .map(|it| {
                let (pointer, message) = (Json::text(&it.pointer), Json::text(&it.message));
                Json::object([("pointer", &pointer), ("message", &message)])
            })
            .collect();
        Json::list(&documents)
    }
}

/// The result of a check and its cost.
#[derive(Debug)]
pub(crate) struct SchemaCheck {
    /// Empty if the value matches.
    pub(crate) mismatches: Vec<Mismatch>,
    pub(crate) ops: u64,
}

/// How many mismatches are reported.
pub(super) const MAX_MISMATCHES: usize = 20;

/// Operations of one check.
pub(super) const MAX_OPS: u64 = 1_000_000;

impl Schema {
    /// Compiles a schema; an error describes what is wrong with it.
    pub(crate) fn compile(document: &serde_json::Value) -> Result<Self, String> {
        if let Err(error) = jsonschema::draft202012::meta::validate(document) {
            return Err(error.to_string());
        }
        let nodes = compile::compile(document)?;
        let declared = document.get("properties").and_then(serde_json::Value::as_object);
        let properties = declared.into_iter().flat_map(|it| it.keys().cloned()).collect();
        Ok(Self { nodes, properties })
    }

    /// Checks a document with a budget of operations, at most [`MAX_OPS`].
    pub(crate) fn check(&self, value: &Json, ops: u64) -> SchemaCheck {
        let whole = |message: String| vec![Mismatch { pointer: String::new(), message }];
        let value = match json::read_document(value) {
            Ok(value) => value,
            Err(error) => {
                return SchemaCheck {
                    mismatches: whole(format!("it cannot be read: {error}")),
                    ops: 1,
                };
            }
        };
        let allowed = ops.min(MAX_OPS);
        let mut evaluation = Evaluation::new(&self.nodes, allowed);
        let result = evaluation.check_document(&value);
        let used = allowed.saturating_sub(evaluation.ops());
        let mismatches = match result {
            Ok(()) => evaluation.into_mismatches(),
            Err(overrun) => whole(overrun.to_string()),
        };
        SchemaCheck { mismatches, ops: used.max(1) }
    }

    /// Names of the properties it declares at its top level.
    pub(crate) fn properties(&self) -> impl Iterator<Item = &str> {
        self.properties.iter().map(String::as_str)
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Schema({} nodes)", self.nodes.len())
    }
}
