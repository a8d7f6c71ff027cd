//! Every operation of the API, and requests that concern nothing that exists.

use meantime_server::{document_text, unlisted_paths};
use serde_json::Value;

/// Every operation of the document by its name, and every other route by its path: with method and
/// path.
pub(crate) fn operations() -> Vec<(String, String, String)> {
    let document: Value = serde_json::from_str(&document_text()).expect("JSON");
    let paths = document["paths"].as_object().expect("paths").clone();
    let mut all = Vec::new();
    for (path, item) in paths {
        for (method, operation) in item.as_object().expect("a path item") {
            let id = operation["operationId"].as_str().unwrap_or_default().to_owned();
            all.push((id, method.to_uppercase(), path.clone()));
        }
    }
    for path in unlisted_paths() {
        let method = if path.contains('*') { "POST" } else { "GET" };
        all.push((path.clone(), method.to_owned(), path));
    }
    all
}

/// A path in which every id is unknown: a caller with permission gets 404.
pub(crate) fn of_nothing(path: &str) -> String {
    let mut uri = String::new();
    for part in path.split_inclusive('/') {
        let name = part.trim_end_matches('/');
        let value = match name {
            "{version}" => "1",
            "{name}" => "x",
            "{id}" => "in_00000000000000000000000000",
            "{*path}" => "a/path",
            other => other,
        };
        uri.push_str(value);
        uri.push_str(&part[name.len()..]);
    }
    uri
}
