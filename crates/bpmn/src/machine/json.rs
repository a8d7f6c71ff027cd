//! Composes JSON documents and splits them. Values inside are copied as text, never reformatted.

use std::collections::BTreeMap;

use meantime_core::Json;

/// An object with these entries; a later entry of the same name replaces an earlier one.
pub(super) fn object<'a>(entries: impl IntoIterator<Item = (&'a String, &'a Json)>) -> Json {
    let entries: BTreeMap<&String, &Json> = entries.into_iter().collect();
    Json::object(entries.into_iter().map(|(name, value)| (name.as_str(), value)))
}

/// The entries of an object; none for another document.
pub(crate) fn object_entries(json: &Json) -> Option<BTreeMap<String, Json>> {
    json.as_str().starts_with('{').then(|| json.read().ok()).flatten()
}

/// The result of a worker, child or message as variables: the entries of an object, nothing for
/// null, or one value as `result`.
pub(super) fn payload_variables(json: &Json) -> BTreeMap<String, Json> {
    if json.is_null() {
        return BTreeMap::new();
    }
    object_entries(json).unwrap_or_else(|| BTreeMap::from([("result".to_owned(), json.clone())]))
}

/// The items of a list; none for another document.
pub(super) fn items(json: &Json) -> Option<Vec<Json>> {
    json.as_str().starts_with('[').then(|| json.read().ok()).flatten()
}

/// The content of a text; none for another document.
pub(super) fn text(json: &Json) -> Option<String> {
    json.as_str().starts_with('"').then(|| json.read().ok()).flatten()
}

/// A text as a document.
pub(super) fn of_text(text: &str) -> Json {
    Json::text(text)
}

/// A list as a document.
pub(super) fn list(items: &[Json]) -> Json {
    Json::list(items)
}

/// A text, number or boolean as plain text, for use in names.
pub(super) fn scalar_text(json: &Json) -> Option<String> {
    match json.as_str() {
        "null" => None,
        other if other.starts_with(['{', '[']) => None,
        other if other.starts_with('"') => text(json),
        other => Some(other.to_owned()),
    }
}

/// Sets a property inside a document; missing objects on the path are created.
pub(super) fn set_path(base: Option<&Json>, path: &[String], value: Json) -> Json {
    let Some((first, rest)) = path.split_first() else { return value };
    let mut entries = base.and_then(object_entries).unwrap_or_default();
    let inner = set_path(entries.get(first), rest, value);
    entries.insert(first.clone(), inner);
    object(&entries)
}
