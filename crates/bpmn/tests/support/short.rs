//! Shorthand for models: the lines that every file repeats are added, and arrows become sequence
//! flows.
//!
//! ```text
//! <serviceTask id="work" meantime:type="work"/>
//! start -> work -> done
//! gateway -> done : = amount > 100
//! ```

use std::fmt::Write;

/// The whole document for a text that may be in shorthand.
pub(crate) fn full(text: &str) -> String {
    let text = arrows(text);
    if text.contains("<definitions") || text.contains(":definitions") || text.starts_with("<?xml") {
        return text;
    }
    let body = if text.contains("<process") { text } else { process(&text) };
    format!(
        "<definitions xmlns=\"http://www.omg.org/spec/BPMN/20100524/MODEL\" \
         xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" \
         xmlns:zeebe=\"http://camunda.org/schema/zeebe/1.0\" \
         xmlns:camunda=\"http://camunda.org/schema/1.0/bpmn\" \
         xmlns:meantime=\"urn:meantime:bpmn\">\n{body}\n</definitions>"
    )
}

/// Wraps everything in one process, except for elements that the process refers to.
fn process(text: &str) -> String {
    let is_global = |line: &&str| {
        ["<message ", "<signal ", "<error ", "<escalation "]
            .iter()
            .any(|start| line.trim_start().starts_with(start))
    };
    let (globals, inner): (Vec<&str>, Vec<&str>) = text.lines().partition(is_global);
    let (globals, inner) = (globals.join("\n"), inner.join("\n"));
    format!("{globals}\n<process id=\"main\" isExecutable=\"true\">\n{inner}\n</process>")
}

/// Lines such as `a -> b -> c : = condition`; each flow is named after its ends.
fn arrows(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        if line.trim_start().starts_with('<') || !line.contains("->") {
            out.push_str(line);
            out.push('\n');
            continue;
        }
        let (path, condition) = match line.split_once(" : ") {
            Some((path, condition)) => (path, Some(condition.trim())),
            None => (line, None),
        };
        let nodes: Vec<&str> = path.split("->").map(str::trim).collect();
        for ends in nodes.windows(2) {
            flow(&mut out, ends[0], ends[1], condition);
        }
        out.push('\n');
    }
    out
}

fn flow(out: &mut String, source: &str, target: &str, condition: Option<&str>) {
    let condition = condition.map_or_else(String::new, |it| {
        let escaped = it.replace('&', "&amp;").replace('<', "&lt;");
        format!("<conditionExpression>{escaped}</conditionExpression>")
    });
    let _ = write!(
        out,
        "<sequenceFlow id=\"{source}.{target}\" sourceRef=\"{source}\" targetRef=\"{target}\">\
         {condition}</sequenceFlow>"
    );
}
