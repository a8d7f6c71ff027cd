//! A source of fifteen megabytes is refused by name before much is made of it, in every notation
//! and in every shape that stays below the limit on bytes.

use meantime_bpmn::Bpmn;
use meantime_core::{Limits, Notation, Source};
use meantime_flow::Flow;
use meantime_journey::JourneyNotation;

const SIZE: usize = 15 << 20;

/// A text with a part repeated up to the size.
fn filled(before: &str, part: &str, after: &str) -> String {
    format!("{before}{}{after}", part.repeat(SIZE / part.len()))
}

fn codes(notation: &dyn Notation, text: &str) -> Vec<String> {
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
    while states.len() < SIZE {
        states.push_str(&expression.replace('%', &states.len().to_string()));
    }
    for (text, code) in [
        (filled(head, "\n", ""), "J004"),
        (filled(head, "\t- a\n", ""), "J004"),
        (filled(&format!("{head}  x: ["), "1,", "1]\n"), "J004"),
        (states, "J062"),
    ] {
        let found = codes(&JourneyNotation::default(), &text);
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
    while scripts.len() < SIZE {
        scripts.push_str(&script.replace('%', &scripts.len().to_string()));
    }
    scripts.push_str(end);
    for text in [filled(head, "<a/>", end), scripts] {
        let found = codes(&Bpmn, &text);
        assert!(found.iter().any(|it| it == "B002"), "{found:?}");
    }
}

#[test]
fn scripts() {
    for text in [
        filled("workflow main() { let a = [", "1,", "1]; return a }"),
        filled("workflow main() {", "f(1);\n", "}"),
        filled("", "let a = 1\n", ""),
    ] {
        let found = codes(&Flow, &text);
        assert!(found.iter().any(|it| it == "F004"), "{found:?}");
    }
}
