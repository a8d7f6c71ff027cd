//! TypeScript without its types is what TypeScript itself writes, at the positions of the source.
//!
//! `cargo xtask vectors types` writes the expectations with the compiler of TypeScript. A block of
//! `erased.txt` holds a source and the JavaScript that remains of it; a block of `refused.txt` a
//! source and the positions at which TypeScript reports it.

use std::sync::Arc;

use meantime_core::Severity;

use super::parser::{Language, parse};
use crate::problem::Problems;
use crate::span::SourceMap;

const ERASED: &str = include_str!("../../tests/types/erased.txt");
const REFUSED: &str = include_str!("../../tests/types/refused.txt");

fn blocks(text: &str) -> Vec<(&str, &str)> {
    let blocks = text.trim_end().split("\n=====\n");
    blocks.map(|block| block.split_once("\n-----").expect("a source and its expectation")).collect()
}

/// The tree as text, without positions and empty statements; and the problems.
fn tree(text: &str, language: Language) -> (String, Vec<String>) {
    let mut problems = Problems::default();
    let file = parse(text, language, &mut problems);
    let found = problems.diagnostics(&SourceMap::new(Arc::from(text)));
    let found =
        found.iter().map(|it| format!("{}:{} {}", it.start.line, it.start.column, it.message));
    (without_positions(&format!("{:?} {:?}", file.statements, file.workflows)), found.collect())
}

fn without_positions(tree: &str) -> String {
    let mut out = String::new();
    let mut rest = tree;
    while let Some(at) = ["start: ", "end: ", "paren: ", "at: "]
        .iter()
        .filter_map(|it| Some((rest.find(it)?, it.len())))
        .min()
    {
        let (head, tail) = rest.split_at(at.0 + at.1);
        out.push_str(head);
        rest = tail.trim_start_matches(|c: char| c.is_ascii_digit());
    }
    out.push_str(rest);
    let empty = "Stmt { kind: Empty, span: Span { start: , end:  } }";
    out.replace(&format!("{empty}, "), "").replace(&format!(", {empty}"), "").replace(empty, "")
}

/// What TypeScript adds to a module of types, so that it stays a module.
fn without_marker(script: &str) -> String {
    script.replace("export {};", "")
}

#[test]
fn types_are_erased_as_by_typescript() {
    let (mut wrong, blocks) = (Vec::new(), blocks(ERASED));
    for (source, erased) in &blocks {
        let (found, problems) = tree(source, Language::TypeScript);
        let (wanted, other) = tree(&without_marker(erased.trim_start()), Language::JavaScript);
        if found != wanted || problems != other {
            wrong.push(format!("{source}\n  problems {problems:?}\n  of JavaScript {other:?}\n  {found}\n  {wanted}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {} differ:\n{}", wrong.len(), blocks.len(), wrong.join("\n"));
    assert!(blocks.len() >= 150, "only {} sources", blocks.len());
}

#[test]
fn what_typescript_refuses_is_refused() {
    let mut accepted = Vec::new();
    for (source, positions) in blocks(REFUSED) {
        let (_, problems) = tree(source, Language::TypeScript);
        let first = positions.trim_start().split(':').next().unwrap_or_default();
        if !problems.iter().any(|it| it.starts_with(&format!("{first}:"))) {
            accepted.push(format!("{source}\n  TypeScript {positions}\n  here {problems:?}"));
        }
    }
    assert!(accepted.is_empty(), "accepted:\n{}", accepted.join("\n"));
}

#[test]
fn many_nested_attempts_end_soon() {
    for (open, close) in [
        ("(x = ", ")"),
        ("a ? (b = ", ") : c"),
        ("f<T<", ">>(1)"),
        ("(a: T = ", "): U => 1"),
        ("a ? (x): T => ", " : 1"),
        ("a < (b, ", ")"),
    ] {
        let text = format!("const y = {}1{}", open.repeat(60), close.repeat(60));
        let compiled = crate::compile_script(&Arc::from(text.as_str()), "nested.flow.ts");
        let errors = compiled.diagnostics.iter().filter(|it| it.severity == Severity::Error);
        assert!(errors.count() < 300);
    }
}
