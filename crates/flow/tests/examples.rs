//! The examples of the repository compile without a single problem.

use std::fs;
use std::path::Path;

use meantime_core::{Limits, Notation, Source};
use meantime_flow::Flow;

#[test]
fn every_example_compiles_without_problems() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/flows");
    let entries = fs::read_dir(directory).expect("the examples are there");
    let mut count = 0;
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !name.ends_with(".flow.js") {
            continue;
        }
        let text = fs::read_to_string(&path).expect("an example can be read").into();
        let source = Source { name: name.clone(), text, files: Vec::new() };
        let compiled = Flow.compile(&source, &Limits::default());
        assert!(compiled.diagnostics.is_empty(), "{name}: {:#?}", compiled.diagnostics);
        assert_eq!(compiled.definitions.len(), 1, "{name}");
        count += 1;
    }
    assert!(count >= 6, "only {count} examples");
}
