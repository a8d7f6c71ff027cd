//! What the reader accepts, the positions that it reports, and what it refuses.

use std::fmt::Write as _;

use expect_test::{Expect, expect};

use super::{Content, Node, read};

fn check(text: &str, expected: &Expect) {
    let documents = read(text);
    let mut out = String::new();
    for root in &documents.roots {
        show(root, "", &mut out);
    }
    for problem in &documents.problems {
        let (line, column) = (problem.span.start.line, problem.span.start.column);
        let _ = writeln!(out, "! {line}:{column} {}", problem.message);
    }
    expected.assert_eq(&out);
}

fn show(node: &Node, path: &str, out: &mut String) {
    let (line, column) = (node.span.start.line, node.span.start.column);
    match &node.content {
        Content::Map(entries) => {
            for entry in entries {
                show(&entry.value, &format!("{path}/{}", entry.key), out);
            }
        }
        Content::List(items) => {
            for (index, item) in items.iter().enumerate() {
                show(item, &format!("{path}/{index}"), out);
            }
        }
        Content::Text(text) => {
            let (first, at) = (text.location.start, &text.value);
            let (from, to) = (first.line, first.column);
            let _ = writeln!(out, "{line}:{column} {path} {at:?} from {from}:{to}");
        }
        other => {
            let _ = writeln!(out, "{line}:{column} {path} {other:?}");
        }
    }
}

#[test]
fn scalars_are_what_json_says() {
    check(
        "a: yes\nb: 0x1F\nc: 1_000\nd: 1.50\ne: ~\nf:\ng: 'true'\nh: -0.5e3\ni: 012\nj: on\n",
        &expect![[r#"
            1:4 /a "yes" from 1:4
            2:4 /b "0x1F" from 2:4
            3:4 /c "1_000" from 3:4
            4:4 /d Number("1.50")
            5:4 /e Null
            6:2 /f Null
            7:4 /g "true" from 7:5
            8:4 /h Number("-0.5e3")
            9:4 /i "012" from 9:4
            10:4 /j "on" from 10:4
        "#]],
    );
}

#[test]
fn texts_know_where_their_lines_are() {
    check(
        "a:\n  script: |\n\n    one\n     two\n  folded: >\n    x\n    y\n",
        &expect![[r#"
            4:5 /a/script "\none\n two\n" from 3:5
            7:5 /a/folded "x y\n" from 7:5
        "#]],
    );
}

#[test]
fn aliases_are_refused_and_never_expanded() {
    check(
        "a: &x [1, 2]\nb: *x\nc: *nothing\nd: !!str 5\ne: 1\ne: 2\n",
        &expect![[r#"
            1:8 /a/0 Number("1")
            1:11 /a/1 Number("2")
            2:4 /b Null
            3:4 /c Null
            4:10 /d Number("5")
            5:4 /e Number("1")
            6:4 /e Number("2")
            ! 1:7 an anchor: journeys have none
            ! 2:4 an alias: journeys have none
            ! 3:4 an alias: journeys have none
            ! 4:10 a tag: journeys have none
            ! 6:1 the key `e` occurs twice
        "#]],
    );
}

#[test]
fn nesting_is_bounded() {
    let documents = read(&format!("a: {}{}", "[".repeat(10_000), "]".repeat(10_000)));
    assert_eq!(documents.problems.len(), 1);
    assert!(documents.roots.is_empty());
}
