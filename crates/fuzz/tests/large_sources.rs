//! A source of fifteen megabytes is rejected with a code before much memory is used for it, in
//! every notation and in every shape that stays below the limit on bytes.

use meantime_bpmn::Bpmn;
use meantime_core::{Limits, Notation, Source};
use meantime_flow::Flow;
use meantime_journey::JourneyNotation;

const SOURCE_BYTES: usize = 15 << 20;

/// A text in which `part` is repeated up to the size.
fn repeat_to_size(before: &str, part: &str, after: &str) -> String {
    format!("{before}{}{after}", part.repeat(SOURCE_BYTES / part.len()))
}

fn diagnostic_codes(notation: &dyn Notation, text: &str) -> Vec<String> {
    let source = Source { name: "large".to_owned(), text: text.into(), files: Vec::new() };
    let compiled = notation.compile(&source, &Limits::default());
    assert!(compiled.definitions.is_empty(), "nothing of it deploys");
    assert!(compiled.diagnostics.len() <= 200, "and it is told in a few lines");
    compiled.diagnostics.into_iter().map(|it| it.code).collect()
}

#[test]
fn journeys() {
    let head = "apiVersion: v1\nkind: Journey\nmetadata: {name: x, version: 1.0.0}\nspec:\n  \
                start: done\n  states:\n    done: {type: succeed}\n";
    let list = "[1, 2, 3, 4, 5, 6, 7, 8, 9], ".repeat(100);
    let expression = format!(
        "    t%: {{type: transform, transform: {{mapper: {{lang: dataweave, expr: \"[{list}1]\"}}, \
         target: {{kind: var}}, resultVar: a}}, next: done}}\n"
    );
    let mut states = head.to_owned();
    while states.len() < SOURCE_BYTES {
        states.push_str(&expression.replace('%', &states.len().to_string()));
    }
    for (text, code) in [
        (repeat_to_size(head, "\n", ""), "J004"),
        (repeat_to_size(head, "\t- a\n", ""), "J004"),
        (repeat_to_size(&format!("{head}  x: ["), "1,", "1]\n"), "J004"),
        (states, "J062"),
    ] {
        let found = diagnostic_codes(&JourneyNotation::default(), &text);
        assert!(found.iter().any(|it| it == code), "{code}: {found:?}");
    }
}

#[test]
fn processes() {
    let head = "<definitions xmlns=\"http://www.omg.org/spec/BPMN/20100524/MODEL\"><process id=\"p\" \
                isExecutable=\"true\"><startEvent id=\"s\"/>";
    let end = "</process></definitions>";
    let script = "<scriptTask id=\"t%\" scriptFormat=\"feel\"><script>[1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, \
                  3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, \
                  4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9]</script></scriptTask>";
    let mut scripts = head.to_owned();
    while scripts.len() < SOURCE_BYTES {
        scripts.push_str(&script.replace('%', &scripts.len().to_string()));
    }
    scripts.push_str(end);
    for text in [repeat_to_size(head, "<a/>", end), scripts] {
        let found = diagnostic_codes(&Bpmn, &text);
        assert!(found.iter().any(|it| it == "B002"), "{found:?}");
    }
}

#[test]
fn scripts() {
    for text in [
        repeat_to_size("workflow main() { let a = [", "1,", "1]; return a }"),
        repeat_to_size("workflow main() {", "f(1);\n", "}"),
        repeat_to_size("", "let a = 1\n", ""),
    ] {
        let found = diagnostic_codes(&Flow, &text);
        assert!(found.iter().any(|it| it == "F004"), "{found:?}");
    }
}
