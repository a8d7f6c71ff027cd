//! Requests that are costly themselves: large sources, long lists.

use std::fmt::Write as _;

use super::super::connection::{get_request, request};
use super::seeded_choice::SeededChoice;
use super::variant::{Kind, PoisonVariant};
use super::{journey, process, script};

/// List requests that must scan many rows to find a page, or find none.
const LISTS: &[&str] = &[
    "/instances?limit=1000",
    "/instances?limit=1000&status=completed",
    "/instances?limit=1000&hasIncident=true",
    "/instances?limit=1000&waitingFor=message",
    "/instances?limit=1000&notation=bpmn",
    "/instances?limit=1000&tag=nobody-has-it",
    "/instances?limit=1000&startedBefore=2001-01-01T00:00:00Z",
    "/journeys?limit=1000",
    "/journeys?limit=1000&phase=RUNNING",
    "/timers?limit=1000",
    "/tasks?limit=1000",
    "/incidents?limit=1000",
];

/// Clients that request long lists.
pub(super) fn lists(choice: &mut SeededChoice, label: String) -> PoisonVariant {
    let paths: Vec<_> = (0..choice.between(1, 4)).map(|_| *choice.one_of(LISTS)).collect();
    PoisonVariant {
        kind: Kind::List,
        label,
        title: paths.join(", "),
        definition: None,
        requests: paths.iter().map(|path| get_request(path)).collect(),
        reads_journey: false,
        clients: *choice.one_of(&[4, 8, 16]),
        at_most: 400,
    }
}

/// Clients that have large sources validated.
pub(super) fn sources(choice: &mut SeededChoice, label: String, name: &str) -> PoisonVariant {
    let bytes = choice.magnitude(1 << 20, 15 << 20);
    let (what, media_type, text) = match choice.between(0, 4) {
        0 => ("a flow of many functions", script::MEDIA_TYPE, functions(bytes)),
        1 => ("a flow of one long expression", script::MEDIA_TYPE, sum(bytes)),
        2 => ("a flow of one long list", script::MEDIA_TYPE, list(bytes)),
        3 => ("a journey of many states", journey::MEDIA_TYPE, states(bytes, name)),
        _ => ("a process of many tasks", process::MEDIA_TYPE, tasks(bytes, name)),
    };
    let path = format!("/definitions?name={name}&dryRun=true");
    PoisonVariant {
        kind: Kind::Source,
        label,
        title: format!("{what}, {} KiB", text.len() >> 10),
        definition: None,
        requests: vec![request(&path, media_type, &text)],
        reads_journey: false,
        clients: choice.between(1, 4),
        at_most: 20,
    }
}

/// Repeats a part until the text has the given length.
fn repeated(bytes: usize, begin: &str, end: &str, part: impl Fn(&mut String, usize)) -> String {
    let mut text = begin.to_owned();
    let mut number = 0;
    while text.len() + end.len() < bytes {
        part(&mut text, number);
        number += 1;
    }
    text + end
}

fn functions(bytes: usize) -> String {
    repeated(bytes, "", "return 1\n", |text, number| {
        // Writing to a `String` cannot fail.
        let _ = writeln!(text, "function f{number}(a, b) {{ return a * {number} + b }}");
    })
}

fn sum(bytes: usize) -> String {
    repeated(bytes, "return 0", "\n", |text, number| {
        let _ = write!(text, " + {number}");
    })
}

fn list(bytes: usize) -> String {
    repeated(bytes, "return [0", "]\n", |text, number| {
        let _ = write!(text, ", {{ n: {number}, m: [{number}] }}");
    })
}

fn states(bytes: usize, name: &str) -> String {
    let begin = format!(
        "apiVersion: v1\nkind: Journey\nmetadata: {{name: {name}, version: 1.0.0}}\nspec:\n  \
         start: s0\n  states:\n    done: {{type: succeed}}\n"
    );
    repeated(bytes, &begin, "", |text, number| {
        let timer = "{type: timer, timer: {duration: PT1S}, next: done}";
        let _ = writeln!(text, "    s{number}: {timer}");
    })
}

fn tasks(bytes: usize, name: &str) -> String {
    let begin = format!(
        "<definitions xmlns=\"http://www.omg.org/spec/BPMN/20100524/MODEL\" \
         targetNamespace=\"bench\"><process id=\"{name}\" isExecutable=\"true\">\
         <startEvent id=\"start\"/>\n"
    );
    repeated(bytes, &begin, "</process></definitions>\n", |text, number| {
        let _ = writeln!(
            text,
            "<task id=\"t{number}\"/>\
             <sequenceFlow id=\"f{number}\" sourceRef=\"start\" targetRef=\"t{number}\"/>"
        );
    })
}
