//! What a large source takes of the memory of a real server, and what it gives back.

#![cfg(target_os = "linux")]

use serde_json::json;

use crate::binary::Server;
use crate::request::post_text;

/// Just below the limit on sources.
const SOURCE_BYTES: usize = 15 << 20;

/// The most that a server may ever have in memory, in KiB. It holds the body, its text, and the
/// tree of the largest source that is accepted.
const MAX_PEAK_KIB: u64 = 500 << 10;

/// The most that it may keep of a source that it has answered, in KiB. The allocator keeps pages of
/// each thread that has compiled one, so this depends on how many threads took part: up to 180 MiB
/// were seen. A server that keeps a tree has three times as much.
const MAX_KEPT_KIB: u64 = 300 << 10;

/// A text in which `part` is repeated up to the size; `%` becomes another number each time.
fn repeat_to_size(before: &str, part: &str, after: &str) -> String {
    let mut text = before.to_owned();
    while text.len() < SOURCE_BYTES {
        text.push_str(&part.replace('%', &text.len().to_string()));
    }
    text.push_str(after);
    text
}

/// Sources of each notation, in shapes that make large trees.
fn sources() -> Vec<(&'static str, String)> {
    let journey = "apiVersion: v1\nkind: Journey\nmetadata: {name: x, version: 1.0.0}\nspec:\n  \
                   start: done\n  states:\n    done: {type: succeed}\n";
    let state = "    s%: {type: transform, transform: {mapper: {lang: dataweave, expr: \"[1, 2, 3, 4, 5, \
                 6, 7, 8, 9]\"}, target: {kind: var}}, resultVar: a, next: done}\n";
    let process = "<definitions xmlns=\"http://www.omg.org/spec/BPMN/20100524/MODEL\"><process \
                   id=\"p\" isExecutable=\"true\"><startEvent id=\"s\"/>";
    let end = "</process></definitions>";
    vec![
        ("application/yaml", repeat_to_size(journey, state, "")),
        ("application/yaml", repeat_to_size(&format!("{journey}  x: ["), "1,", "1]\n")),
        ("application/bpmn+xml", repeat_to_size(process, "<task id=\"t%\"/>", end)),
        ("application/bpmn+xml", repeat_to_size(process, "<a/>", end)),
        ("text/javascript", repeat_to_size("workflow main() { let a = [", "1,", "1]; return a }")),
        ("text/javascript", repeat_to_size("workflow main() {", "f(%);\n", "}")),
    ]
}

#[test]
fn a_source_of_fifteen_megabytes_takes_and_keeps_little() {
    let directory = tempfile::tempdir().expect("a directory");
    let server = Server::on(directory.path(), &[]);
    let before = server.memory_kib("VmRSS");
    for (number, (kind, source)) in sources().into_iter().enumerate() {
        let path = "/definitions?name=large&dryRun=true";
        let (status, answer) = post_text(&server.url, path, kind, &source).expect("an answer");
        assert_eq!((status, &answer["code"]), (422, &json!("invalid_definition")), "{answer}");
        let peak = server.memory_kib("VmHWM");
        assert!(peak < MAX_PEAK_KIB, "source {number}, {kind}: {peak} KiB at its peak");
        let kept = server.memory_kib("VmRSS").saturating_sub(before);
        assert!(kept < MAX_KEPT_KIB, "source {number}, {kind}: {kept} KiB are kept");
    }
}
