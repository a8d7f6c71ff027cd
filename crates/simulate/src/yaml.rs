//! The only module that uses the YAML library.

use std::collections::BTreeMap;

use meantime_core::Json;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// The problem of a file and its position; line and column count from 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message} (line {line}, column {column})")]
pub struct YamlProblem {
    /// What is wrong.
    pub message: String,
    /// The line.
    pub line: u64,
    /// The column.
    pub column: u64,
}

impl YamlProblem {
    /// A problem of the whole file.
    pub(crate) fn of_file(message: impl Into<String>) -> Self {
        Self { message: message.into(), line: 1, column: 1 }
    }
}

/// Reads a file of stubs or tests: no aliases, limited depth and length.
pub(crate) fn read<T: DeserializeOwned>(text: &str) -> Result<T, YamlProblem> {
    let budget = serde_saphyr::budget! {
        max_depth: 64,
        max_nodes: 100_000,
        max_events: 400_000,
        max_aliases: 0,
        max_anchors: 0,
    };
    let options = serde_saphyr::options! { budget: budget, with_snippet: false };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let (line, column) = error.location().map_or((1, 1), |at| (at.line(), at.column()));
        let text = error.to_string();
        let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or("not valid YAML");
        let first = first.trim().trim_start_matches("error: ");
        let message = first.split(" at line ").next().unwrap_or(first);
        let message = message.trim_end_matches(',').to_owned();
        YamlProblem { message, line: line.max(1), column: column.max(1) }
    })
}

/// Any value as a JSON document.
pub(crate) fn json<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Json, D::Error> {
    Ok(Json::from(&Value::deserialize(deserializer)?))
}

/// The same for a member that may be missing; null is a value.
pub(crate) fn some_json<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Json>, D::Error> {
    json(deserializer).map(Some)
}

/// The same for the items of a list.
pub(crate) fn json_list<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Json>, D::Error> {
    let items = Vec::<Value>::deserialize(deserializer)?;
    Ok(items.iter().map(Json::from).collect())
}

/// The same for the members of an object.
pub(crate) fn json_map<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, Json>, D::Error> {
    let members = BTreeMap::<String, Value>::deserialize(deserializer)?;
    Ok(members.into_iter().map(|(name, value)| (name, Json::from(&value))).collect())
}
