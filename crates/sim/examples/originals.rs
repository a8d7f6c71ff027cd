//! Runs the flow scripts of documents that are not part of the repository, unchanged.
//!
//! `cargo xtask conformance flow DOCUMENT…`: every block marked `javascript` is a script. Its waits
//! end in two orders: tasks first, and timers first. Each script must compile and end. A script
//! that uses a timer `timeout_timer` without creating it gets a line that creates it.
#![expect(clippy::print_stdout, reason = "printing is what it is for")]

use std::process::ExitCode;

use meantime_core::{
    ChildOutcome, Cx, Definition, Effect, EffectKey, Event, Fault, InstanceId, Json, Limits,
    Notation, Outcome, Severity, Source, Start, StartCause, Status, TaskOutcome, Timestamp, Turn,
};
use meantime_flow::Flow;

/// The name of the timer that some documents use without creating it.
const TIMER: &str = "timeout_timer";

fn main() -> ExitCode {
    let (mut scripts, mut wrong) = (0, 0);
    for path in std::env::args().skip(1) {
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) => {
                println!("{path}: {error}; nothing of it was checked");
                wrong += 1;
                continue;
            }
        };
        for script in text.split("```javascript\n").skip(1).filter_map(|it| it.split("```").next())
        {
            scripts += 1;
            let outcome = run(script);
            println!("{}\n{}", script.trim_end(), outcome.as_ref().unwrap_or_else(|error| error));
            wrong += usize::from(outcome.is_err());
        }
    }
    println!("{scripts} scripts, {wrong} wrong");
    if wrong == 0 && scripts > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The outcomes of all workflows of a script, in both orders.
fn run(script: &str) -> Result<String, String> {
    let forgets = script.contains(TIMER) && !script.contains(&format!("{TIMER} ="));
    let text =
        if forgets { format!("{TIMER} = Task.delay(30)\n{script}") } else { script.to_owned() };
    let source =
        Source { name: "document.flow.js".to_owned(), text: text.into(), files: Vec::new() };
    let compiled = Flow.compile(&source, &Limits::default());
    let errors = compiled.diagnostics.iter().filter(|it| it.severity == Severity::Error);
    let errors: Vec<String> =
        errors.map(|it| format!("  {} line {}: {}", it.code, it.start.line, it.message)).collect();
    if !errors.is_empty() {
        return Err(errors.join("\n"));
    }
    let mut lines = Vec::new();
    for definition in &compiled.definitions {
        for timers_first in [false, true] {
            let order = if timers_first { "timers first" } else { "work first" };
            let outcome = play(definition, timers_first)
                .map_err(|fault| format!("  {}: {}", fault.code, fault.message))?;
            match outcome {
                Some(Outcome::Completed { output, .. }) => {
                    lines.push(format!("  {order}: {output}"));
                }
                other => return Err(format!("  {order}: {other:?}")),
            }
        }
    }
    Ok(lines.join("\n"))
}

/// Ends one wait after the other; `None` if the script still waits after all of them.
fn play(definition: &Definition, timers_first: bool) -> Result<Option<Outcome>, Fault> {
    let limits = Limits::default();
    let input = Json::parse("{\"reportId\":\"r-1\"}").unwrap_or_default();
    let mut turn = Flow.start(definition, &Start::new(StartCause::Api, input), &cx(1, &limits))?;
    let mut pending = Vec::new();
    for number in 2..1_000 {
        note(&mut pending, &turn, number - 1);
        match turn.status {
            Status::Ended(outcome) | Status::Closing(outcome) => return Ok(Some(outcome)),
            Status::Running | Status::Yield => {}
        }
        let wanted = pending.iter().position(|event| is_timer(event) == timers_first);
        let event = match turn.status {
            Status::Yield => Event::Continue,
            _ if pending.is_empty() => return Ok(None),
            _ => pending.remove(wanted.unwrap_or(0)),
        };
        turn = Flow.advance(definition, &turn.state, &[event], &cx(number, &limits))?;
    }
    Ok(None)
}

fn is_timer(event: &Event) -> bool {
    matches!(event, Event::TimerFired { .. })
}

/// Adds the events that will end the effects of a turn, and removes those of cancelled effects.
fn note(pending: &mut Vec<Event>, turn: &Turn, number: u64) {
    for (effect, ordinal) in turn.effects.iter().zip(0..) {
        let key = instance().effect(number, ordinal);
        let done = || Json::parse("{\"ok\":true}").unwrap_or_default();
        match effect {
            Effect::ScheduleTask(_) => {
                pending.push(Event::TaskDone { key, outcome: TaskOutcome::Completed(done()) });
            }
            Effect::StartTimer { due_at, .. } => {
                pending.push(Event::TimerFired { key, due_at: *due_at });
            }
            Effect::Subscribe { .. } => {
                pending.push(Event::Signal { key, name: String::new(), payload: done() });
            }
            Effect::StartChild(_) => {
                let outcome = ChildOutcome::Completed(done());
                pending.push(Event::ChildDone { key, outcome, context: None });
            }
            Effect::CancelTask { key }
            | Effect::CancelTimer { key }
            | Effect::Unsubscribe { key }
            | Effect::CancelChild { key } => pending.retain(|event| key_of(event) != Some(*key)),
            _ => {}
        }
    }
}

fn key_of(event: &Event) -> Option<EffectKey> {
    match event {
        Event::TaskDone { key, .. }
        | Event::TimerFired { key, .. }
        | Event::Signal { key, .. }
        | Event::ChildDone { key, .. } => Some(*key),
        _ => None,
    }
}

fn instance() -> InstanceId {
    InstanceId::new(1, 1)
}

fn cx(turn_no: u64, limits: &Limits) -> Cx<'_> {
    Cx {
        now: Timestamp::default(),
        turn_no,
        instance: instance(),
        version: 1,
        started_at: Timestamp::default(),
        deadline: None,
        key: None,
        catches: &[],
        limits,
    }
}
