//! K3 and K4: every effect is answered once, and a late worker overwrites nothing (P2, I5).

use std::collections::BTreeMap;

use meantime_core::{EffectKey, Event, TaskId, TaskOutcome};
use meantime_kernel::command::{Command, Reply, Report};

use super::run_record::payload_serial;
use super::run_record::{CallRecord, ObservedTurn, RunRecord};
use super::violation::Findings;

pub(super) fn check(run: &RunRecord, findings: &mut Findings<'_>) {
    answers(run, findings);
    let mut reports: BTreeMap<TaskId, Vec<&CallRecord>> = BTreeMap::new();
    for call in &run.calls {
        if let Command::Report { task, .. } = &call.command {
            reports.entry(*task).or_default().push(call);
        }
    }
    let claims = claims(run);
    for (task, calls) in &reports {
        let ended = calls.iter().filter(|call| call.reply().is_some() && is_final(call)).count();
        if ended > 1 {
            findings
                .add_for(task.0.instance, format!("task {task} was acknowledged {ended} times"));
        }
        for call in calls.iter().filter(|call| call.reply().is_some()) {
            let Command::Report { token: Some(token), .. } = &call.command else { continue };
            let later = claims.get(task).into_iter().flatten();
            let mut later =
                later.filter(|(number, at)| *number > token.claims && *at < call.sent_at);
            if later.next().is_some() {
                let text = format!("task {task} took call {} with a stale token", call.number);
                findings.add_for(task.0.instance, text);
            }
        }
    }
    outputs(run, &reports, findings);
}

/// Each effect is answered at most once.
fn answers(run: &RunRecord, findings: &mut Findings<'_>) {
    let mut seen: BTreeMap<(EffectKey, &str), u32> = BTreeMap::new();
    for event in run.turns.values().flatten().flat_map(ObservedTurn::taken) {
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
        findings.add_for(key.instance, format!("{kind} {key} was answered {count} times"));
    }
}

/// The claims that workers were told about: the number of claims of the task, and when.
fn claims(run: &RunRecord) -> BTreeMap<TaskId, Vec<(u32, u64)>> {
    let mut claims: BTreeMap<TaskId, Vec<(u32, u64)>> = BTreeMap::new();
    for call in &run.calls {
        let (Some(Reply::Tasks(tasks)), Some((at, _))) = (call.reply(), &call.answer) else {
            continue;
        };
        for task in tasks {
            claims.entry(task.id).or_default().push((task.token.claims, *at));
        }
    }
    claims
}

/// The output of a task is one that a worker reported.
fn outputs(
    run: &RunRecord,
    reports: &BTreeMap<TaskId, Vec<&CallRecord>>,
    findings: &mut Findings<'_>,
) {
    for event in run.turns.values().flatten().flat_map(ObservedTurn::taken) {
        let Event::TaskDone { key, outcome: TaskOutcome::Completed(output) } = event else {
            continue;
        };
        let Some(number) = payload_serial(output) else { continue };
        let said = reports.get(&TaskId(*key)).into_iter().flatten().any(|call| {
            matches!(&call.command, Command::Report { report: Report::Completed(it), .. }
                if payload_serial(it) == Some(number))
                && !call.is_refused()
        });
        if !said {
            findings.add_for(key.instance, format!("nobody reported {number} for task {key}"));
        }
    }
}

fn is_final(call: &CallRecord) -> bool {
    match &call.command {
        Command::Report { report: Report::Completed(_), .. } => true,
        Command::Report { report: Report::Failed { retryable, thrown, .. }, .. } => {
            !retryable || thrown.is_some()
        }
        _ => false,
    }
}
