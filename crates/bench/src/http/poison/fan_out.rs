//! Children, tasks and timers by the thousand; definitions that start themselves.

use serde_json::json;

use super::process;
use super::script::{MEDIA_TYPE, beginning};
use super::seeded_choice::SeededChoice;
use super::variant::PoisonDefinition;

pub(super) fn draft(choice: &mut SeededChoice, name: &str) -> PoisonDefinition {
    if choice.between(0, 4) == 0 {
        let times = choice.magnitude(2, 100);
        let (text, words) = process::calling_itself(choice, name, times);
        let title = format!("a process that calls itself {times} times at once, {words}");
        return PoisonDefinition { title, media_type: process::MEDIA_TYPE, text, input: json!({}) };
    }
    let (width, many) = (choice.magnitude(2, 1_000), choice.magnitude(500, 9_000));
    let fork = format!("Workflow.run(\"{name}\", {{ level: i }})");
    let (title, body) = match choice.between(0, 6) {
        0 | 1 => (
            format!("a flow that starts itself {width} times and stays"),
            format!("{}\nawait Task.delay(\"P1D\")", each(width, &fork)),
        ),
        2 => (format!("a flow that starts itself {width} times and ends"), each(width, &fork)),
        3 => (
            format!("a flow that starts itself {width} times and waits"),
            all(width, &fork, "Task.settle"),
        ),
        4 => (
            format!("{many} tasks that nobody does"),
            all(many, "Task.run(\"nobody\", i)", "Task.all"),
        ),
        5 => (
            format!("{many} timers, then as many again, for ever"),
            format!("while (true) {{\n{}\n}}", all(many, "Task.delay(1)", "Task.all")),
        ),
        _ => (
            format!("{many} waits for signals and timers"),
            all(many, "Task.race([Signal.next(\"s\" + i), Task.delay(\"P1D\")])", "Task.all"),
        ),
    };
    let (begin, words) = beginning(choice);
    PoisonDefinition {
        title: format!("{title}, {words}"),
        media_type: MEDIA_TYPE,
        text: format!("{begin}{body}\n"),
        input: json!({}),
    }
}

fn each(count: usize, call: &str) -> String {
    format!("for (let i = 0; i < {count}; i++) {{ {call} }}")
}

fn all(count: usize, call: &str, combinator: &str) -> String {
    let pushed = each(count, &format!("all.push({call})"));
    format!("const all = []\n{pushed}\nawait {combinator}(all)")
}
