//! Seeds: the texts of the test corpora in the repository.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Every fenced block of a kind in the documents of a directory, sorted by file.
pub(crate) fn read_fenced_blocks(directory: &str, kind: &str) -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(directory);
    let entries = std::fs::read_dir(root).into_iter().flatten();
    let mut paths: Vec<PathBuf> = entries.filter_map(|it| Some(it.ok()?.path())).collect();
    paths.sort();
    let texts = paths.iter().filter_map(|path| std::fs::read_to_string(path).ok());
    texts.flat_map(|text| fenced_blocks(&text, kind)).collect()
}

/// The lines of a file of the repository.
pub(crate) fn read_lines(file: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(file);
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// The hostile expressions of a language, without the expected codes at their end.
pub(crate) fn read_hostile(language: &str) -> Vec<String> {
    let lines = read_lines(&format!("crates/{language}/tests/budget/hostile.txt"));
    let lines = lines.iter().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| line.split_once(' ').map(|(_, text)| text.to_owned())).collect()
}

fn fenced_blocks(text: &str, kind: &str) -> Vec<String> {
    let (mut found, mut open) = (Vec::new(), None::<String>);
    let mut is_wanted = false;
    for line in text.lines() {
        match (&mut open, line.starts_with("```")) {
            (Some(_), true) => found.extend(open.take().filter(|_| is_wanted)),
            (None, true) => {
                let kinds = line.trim_start_matches('`');
                is_wanted = kinds.split_whitespace().next() == Some(kind);
                open = Some(String::new());
            }
            (Some(block), false) => {
                block.push_str(line);
                block.push('\n');
            }
            (None, false) => {}
        }
    }
    found
}

/// A complete journey: the corpus leaves out the lines that every file repeats.
pub(crate) fn full_journey_source(text: &str) -> String {
    if text.contains("apiVersion") {
        return text.to_owned();
    }
    let body = text.lines().skip(1).map(|line| format!("  {line}\n"));
    let head = "apiVersion: v1\nkind: Journey\nmetadata: {name: x, version: 1.0.0}\nspec:\n";
    std::iter::once(head.to_owned()).chain(body).collect()
}

/// A complete flow script: statements alone become the body of a workflow.
pub(crate) fn full_flow_source(text: &str) -> String {
    if text.contains("workflow ") {
        return text.to_owned();
    }
    format!("workflow main(input) {{\n{text}\n}}\n")
}

/// A complete model: arrows become sequence flows.
pub(crate) fn full_bpmn_source(text: &str) -> String {
    let mut body = String::new();
    for line in text.lines() {
        if line.trim_start().starts_with('<') || !line.contains("->") {
            body.push_str(line);
            body.push('\n');
            continue;
        }
        let path = line.split(" : ").next().unwrap_or(line);
        let nodes: Vec<&str> = path.split("->").map(str::trim).collect();
        for (source, target) in nodes.iter().zip(nodes.iter().skip(1)) {
            let ends = format!("sourceRef=\"{source}\" targetRef=\"{target}\"");
            let _ = writeln!(body, "<sequenceFlow id=\"{source}.{target}\" {ends}/>");
        }
    }
    if body.contains("definitions") {
        return body;
    }
    let body = if body.contains("<process") {
        body
    } else {
        format!("<process id=\"main\" isExecutable=\"true\">\n{body}</process>")
    };
    format!(
        "<definitions xmlns=\"http://www.omg.org/spec/BPMN/20100524/MODEL\" \
         xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" \
         xmlns:zeebe=\"http://camunda.org/schema/zeebe/1.0\" \
         xmlns:camunda=\"http://camunda.org/schema/1.0/bpmn\" \
         xmlns:meantime=\"urn:meantime:bpmn\">\n{body}\n</definitions>"
    )
}
