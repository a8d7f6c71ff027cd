//! The OpenAPI document is committed, complete, and up to date with the code.

use std::collections::BTreeSet;
use std::path::Path;

use expect_test::expect_file;
use serde_json::Value;

fn document() -> Value {
    serde_json::from_str(&meantime_server::document_text()).expect("JSON")
}

fn operations(document: &Value) -> Vec<(String, &Value)> {
    let paths = document["paths"].as_object().expect("paths");
    let operations = paths.iter().flat_map(|(path, item)| {
        let methods = item.as_object().expect("a path item").iter();
        methods.map(move |(method, operation)| (format!("{method} {path}"), operation))
    });
    operations.collect()
}

#[test]
fn the_committed_document_is_what_the_code_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/openapi.json");
    expect_file![path].assert_eq(&meantime_server::document_text());
}

#[test]
fn every_operation_is_named_once_and_says_who_may_use_it_and_how_it_refuses() {
    let document = document();
    let mut names = BTreeSet::new();
    for (place, operation) in operations(&document) {
        let name = operation["operationId"].as_str().unwrap_or_default();
        assert!(names.insert(name.to_owned()), "{place}: another operation is named {name:?}");
        // A verb and a resource in camelCase; `explain` applies to any resource.
        let is_camel = name.starts_with(|c: char| c.is_ascii_lowercase())
            && name.chars().all(|c| c.is_ascii_alphanumeric());
        let has_resource = name.contains(|c: char| c.is_ascii_uppercase());
        assert!(is_camel && (has_resource || name == "explain"), "{place}: {name:?}");
        assert!(operation["x-required-permission"].is_string(), "{place} needs no permission");
        assert!(operation["summary"].is_string(), "{place} says nothing");
        let refused = &operation["responses"]["default"]["content"]["application/problem+json"];
        assert!(refused.is_object(), "{place} never refuses");
    }
    assert!(names.len() >= 50, "{} operations", names.len());
}

#[test]
fn every_reference_leads_somewhere() {
    let document = document();
    let mut open = vec![&document];
    while let Some(value) = open.pop() {
        match value {
            Value::Object(members) => {
                if let Some(target) = members.get("$ref").and_then(Value::as_str) {
                    let pointer = target.trim_start_matches('#');
                    assert!(document.pointer(pointer).is_some(), "{target} leads nowhere");
                }
                open.extend(members.values());
            }
            Value::Array(items) => open.extend(items),
            _ => {}
        }
    }
}
