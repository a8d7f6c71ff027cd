//! K3 and K4: every effect is answered once, and no late worker overwrites (P2, I5).

use std::collections::BTreeMap;

use meantime_core::{EffectKey, Event, TaskId, TaskOutcome};
use meantime_kernel::command::{Command, Reply, Report};

use super::chronicle::{Call, Chronicle, TurnSeen};
use super::serial::serial;
use super::violation::Findings;

pub(super) fn check(chronicle: &Chronicle, found: &mut Findings<'_>) {
    answers(chronicle, found);
    let mut reports: BTreeMap<TaskId, Vec<&Call>> = BTreeMap::new();
    for call in &chronicle.calls {
        if let Command::Report { task, .. } = &call.command {
            reports.entry(*task).or_default().push(call);
        }
    }
    let claims = claims(chronicle);
    for (task, calls) in &reports {
        let ended = calls.iter().filter(|call| call.done().is_some() && is_final(call)).count();
        if ended > 1 {
            found.about(task.0.instance, format!("task {task} was acknowledged {ended} times"));
        }
        for call in calls.iter().filter(|call| call.done().is_some()) {
            let Command::Report { token: Some(token), .. } = &call.command else { continue };
            let later = claims.get(task).into_iter().flatten();
            let mut later =
                later.filter(|(number, at)| *number > token.claims && *at < call.asked_at);
            if later.next().is_some() {
                let text = format!("task {task} took call {} with a stale token", call.number);
                found.about(task.0.instance, text);
            }
        }
    }
    outputs(chronicle, &reports, found);
}

/// Each effect is answered at most once.
fn answers(chronicle: &Chronicle, found: &mut Findings<'_>) {
    let mut seen: BTreeMap<(EffectKey, &str), u32> = BTreeMap::new();
    for event in chronicle.turns.values().flatten().flat_map(TurnSeen::taken) {
        let (key, kind) = match event {
            Event::TaskDone { key, .. } => (key, "task"),
            Event::TimerFired { key, .. } => (key, "timer"),
            Event::Signal { key, .. } | Event::Message { key, .. } => (key, "subscription"),
            Event::ChildDone { key, .. } => (key, "child"),
            Event::EffectDone { key, .. } => (key, "effect"),
            _ => continue,
        };
        *seen.entry((*key, kind)).or_default() += 1;
    }
    for ((key, kind), count) in seen.into_iter().filter(|(_, count)| *count > 1) {
        found.about(key.instance, format!("{kind} {key} was answered {count} times"));
    }
}

/// Claims that workers heard of: how often the task had been claimed, and when.
fn claims(chronicle: &Chronicle) -> BTreeMap<TaskId, Vec<(u32, u64)>> {
    let mut claims: BTreeMap<TaskId, Vec<(u32, u64)>> = BTreeMap::new();
    for call in &chronicle.calls {
        let (Some(Reply::Tasks(tasks)), Some((at, _))) = (call.done(), &call.answer) else {
            continue;
        };
        for task in tasks {
            claims.entry(task.id).or_default().push((task.token.claims, *at));
        }
    }
    claims
}

/// What a task is said to have given is what somebody reported.
fn outputs(
    chronicle: &Chronicle,
    reports: &BTreeMap<TaskId, Vec<&Call>>,
    found: &mut Findings<'_>,
) {
    for event in chronicle.turns.values().flatten().flat_map(TurnSeen::taken) {
        let Event::TaskDone { key, outcome: TaskOutcome::Completed(output) } = event else {
            continue;
        };
        let Some(number) = serial(output) else { continue };
        let said = reports.get(&TaskId(*key)).into_iter().flatten().any(|call| {
            matches!(&call.command, Command::Report { report: Report::Completed(it), .. }
                if serial(it) == Some(number))
                && !call.is_refused()
        });
        if !said {
            found.about(key.instance, format!("nobody reported {number} for task {key}"));
        }
    }
}

fn is_final(call: &Call) -> bool {
    match &call.command {
        Command::Report { report: Report::Completed(_), .. } => true,
        Command::Report { report: Report::Failed { retryable, thrown, .. }, .. } => {
            !retryable || thrown.is_some()
        }
        _ => false,
    }
}
