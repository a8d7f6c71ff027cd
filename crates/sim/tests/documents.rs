//! The flow scripts in the documents compile, and the documented limits are those of the engine.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use meantime_core::{Limits, Notation, Severity, Source};
use meantime_flow::Flow;

#[test]
fn scripts_in_documents_compile() {
    for (document, least) in [("docs/reference/flow.md", 2), ("docs/guide/flows.md", 5)] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(document);
        let text = fs::read_to_string(path).expect("the document is there");
        let scripts = text.split("```js\n").skip(1).filter_map(|rest| rest.split("```").next());
        let mut count = 0;
        for script in scripts {
            let (name, text) = ("document.flow.js".to_owned(), script.into());
            let compiled =
                Flow.compile(&Source { name, text, files: Vec::new() }, &Limits::default());
            let errors = compiled.diagnostics.iter().filter(|it| it.severity == Severity::Error);
            let errors: Vec<_> = errors.collect();
            assert!(errors.is_empty(), "{document}: {errors:#?}\n{script}");
            count += 1;
        }
        assert!(count >= least, "{document} has only {count} scripts");
    }
}

#[test]
fn limits_are_documented_with_their_defaults() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/limits.md");
    let text = fs::read_to_string(path).expect("the document is there");
    let table = text.lines().skip_while(|line| !line.starts_with("| field")).skip(2);
    let rows = table.take_while(|line| line.starts_with('|')).map(|row| {
        let mut cells = row.split('|').skip(1).map(str::trim);
        let name = cells.next().unwrap_or_default().trim_matches('`').to_owned();
        (name, default_of(cells.next().unwrap_or_default()))
    });
    let documented: BTreeMap<String, serde_json::Value> = rows.collect();
    let engine = serde_json::to_value(Limits::default()).expect("limits are numbers");
    let mut engine: BTreeMap<String, serde_json::Value> =
        serde_json::from_value(engine).expect("an object");
    // Limits that are not set are left out.
    for name in ["default_deadline", "deadline_cap"] {
        assert!(engine.insert(name.to_owned(), serde_json::Value::Null).is_none(), "{name}");
    }
    assert_eq!(documented, engine);
}

/// A default such as `16 MiB`, `3,600,000 (one hour)` or `none`.
fn default_of(cell: &str) -> serde_json::Value {
    let mut words = cell.split(' ');
    let digits: String = words.next().unwrap_or_default().replace(',', "");
    let factor = if words.next() == Some("MiB") { 1024 * 1024 } else { 1 };
    digits.parse::<u64>().map_or(serde_json::Value::Null, |number| (number * factor).into())
}
