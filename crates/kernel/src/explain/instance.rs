//! Explains what an instance waits for.
//!
//! The waits come from the view of the notation, like `waitingFor` of the HTTP API, so that both
//! agree. Their times come from the timers that the kernel has armed.

use meantime_core::{Outcome, TaskId, Timestamp, View, Waiting, WaitingKind};

use super::task::standing;
use crate::open::Key;
use crate::store::{IncidentRow, InstanceRow, Phase, TaskRow};

/// How many waits are named before the rest is only counted.
const NAMED: usize = 20;

/// The state of an instance, and what it waits for. `tasks` are the tasks of the instance.
pub fn explain_instance(
    row: &InstanceRow,
    view: &View,
    tasks: &[TaskRow],
    incidents: &[IncidentRow],
    now: Timestamp,
) -> String {
    if let Some(damage) = &row.meta.damaged {
        return format!("the instance is damaged and does not run: {damage}; it can be cancelled");
    }
    if row.phase.is_ended() {
        return ended(row);
    }
    let incident = incidents.split_first().map_or_else(String::new, |(first, others)| {
        let (code, message) = (&first.failure.code, &first.failure.message);
        let element = at(&first.element, "");
        let others = match others.len() {
            0 => String::new(),
            others => format!(" (and {others} more incidents)"),
        };
        format!("needs an operator{element}: {code}: {message}{others}; it ")
    });
    let suspended = row.meta.suspended.as_ref().map_or_else(String::new, |suspension| {
        let (since, actor) = (suspension.since, &suspension.audit.actor);
        let reason = match suspension.audit.reason.as_str() {
            "" => String::new(),
            reason => format!(" ({reason})"),
        };
        format!("was suspended at {since} by {actor}{reason}, and takes no turns; it ")
    });
    let closing = if row.phase == Phase::Closing { "is closing and " } else { "" };
    let waits = waits(row, view, tasks, !incidents.is_empty(), now);
    format!("the instance {suspended}{incident}{closing}{waits}{}", deadline(row))
}

fn ended(row: &InstanceRow) -> String {
    let at = row.ended_at.map_or_else(String::new, |at| format!(" at {at}"));
    let fate = match &row.meta.outcome {
        Some(Outcome::Completed { .. }) => "completed".to_owned(),
        Some(Outcome::Failed { failure, .. }) => {
            format!("failed with {}: {}", failure.code, failure.message)
        }
        Some(Outcome::Cancelled { reason, .. }) => format!("was cancelled: {reason}"),
        None => "ended".to_owned(),
    };
    format!("the instance {fate}{at}")
}

fn waits(
    row: &InstanceRow,
    view: &View,
    tasks: &[TaskRow],
    has_incident: bool,
    now: Timestamp,
) -> String {
    match row.phase {
        Phase::Starting => return "waits for its first turn".to_owned(),
        Phase::Yielding => return "waits for its next slice of work".to_owned(),
        _ => {}
    }
    let mut named: Vec<String> =
        view.waiting.iter().take(NAMED).map(|it| name(it, row, tasks, now)).collect();
    if view.waiting.len() > NAMED {
        named.push(format!("and {} more", view.waiting.len() - NAMED));
    }
    if named.is_empty() && row.open.children > 0 {
        let count = row.open.children;
        named.push(format!("{count} {} to end", if count == 1 { "child" } else { "children" }));
    }
    if named.is_empty() {
        let what = if has_incident { "nothing else" } else { "nothing" };
        return format!("waits for {what}");
    }
    format!("waits for {}", named.join(", and for "))
}

/// One wait as text.
fn name(it: &Waiting, row: &InstanceRow, tasks: &[TaskRow], now: Timestamp) -> String {
    let what = match it.kind {
        WaitingKind::Task => "the task",
        WaitingKind::UserTask => "the task of a person",
        WaitingKind::Timer => "the timer",
        WaitingKind::Signal => "the signal",
        WaitingKind::Message => "the message",
        WaitingKind::Step => "input for the step",
        WaitingKind::Child => "the child",
        WaitingKind::Condition => "the condition",
    };
    let named = format!("{what} {:?}{}", it.name, at(&it.element, &it.name));
    let timer = it.key.and_then(|key| row.open.timers.get(&Key::from(key)));
    let is_timed = matches!(it.kind, WaitingKind::Timer | WaitingKind::Step);
    if let Some(timer) = timer.filter(|_| is_timed) {
        let due = timer.due_at;
        let end = row.open.deadline().filter(|_| row.open.ends_before(timer));
        return match (it.kind, timer.frozen, end) {
            (WaitingKind::Step, true, _) => format!("{named}, whose timeout at {due} is frozen"),
            (_, true, _) => format!("{named}, which was due at {due} and is frozen"),
            (WaitingKind::Step, _, Some(_)) => named,
            (WaitingKind::Step, _, None) => format!("{named}, which times out at {due}"),
            (_, _, Some(_)) => format!("{named}, which would be due at {due}"),
            (_, _, None) => format!("{named}, due at {due}"),
        };
    }
    let task = it.key.and_then(|key| tasks.iter().find(|task| task.id == TaskId(key)));
    match task {
        Some(task) => format!("{named}, which {}", standing(task, now)),
        None => named,
    }
}

/// The element, unless it says no more than the name.
fn at(element: &str, name: &str) -> String {
    if element.is_empty() || element == name { String::new() } else { format!(" at {element:?}") }
}

fn deadline(row: &InstanceRow) -> String {
    match row.open.timers.get(&Key::DEADLINE) {
        Some(timer) if timer.frozen => format!("; its deadline, {}, is frozen", timer.due_at),
        Some(timer) => format!("; it must end by {}", timer.due_at),
        None => String::new(),
    }
}
