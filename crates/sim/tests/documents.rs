//! The flow scripts in the documents compile.

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
