//! Rule 7: unreachable states, paths that cannot end, loops that never wait.

use std::collections::BTreeSet;

use super::graph::{is_terminal, reachable, scopes, successors};
use crate::code::Code;
use crate::definition::{Journey, Scope, State, StateBody};
use crate::report::Report;

pub(super) fn check(journey: &Journey, report: &mut Report) {
    let scheduled = schedule_starts(journey);
    for (owner, scope) in scopes(journey) {
        let mut reached = reachable(scope, &scope.start.id);
        if owner == super::graph::ScopeOwner::Main {
            for start in &scheduled {
                reached.extend(reachable(scope, start));
            }
        }
        for state in scope.states.values() {
            if !reached.contains(state.id.as_str()) {
                let message = format!("nothing leads to `{}`", state.id);
                report.warn(Code::Flow, state.span, message);
            } else if !can_end(scope, &state.id) {
                let message = format!("no path from `{}` reaches an end", state.id);
                if journey.is_durable() || journey.timeout.is_some() {
                    report.warn(Code::Flow, state.span, message);
                } else {
                    report
                        .error(Code::Flow, state.span, message)
                        .help("add a path to `succeed` or `fail`, or set a deadline with `spec.execution`");
                }
            }
        }
        check_busy_loops(scope, report);
    }
}

fn schedule_starts(journey: &Journey) -> BTreeSet<&str> {
    let mut starts = BTreeSet::new();
    for (_, scope) in scopes(journey) {
        for state in scope.states.values() {
            if let StateBody::Task(task) = &state.body
                && let crate::definition::Task::Schedule(schedule) = &**task
            {
                starts.insert(schedule.start.id.as_str());
            }
        }
    }
    starts
}

fn can_end(scope: &Scope, from: &str) -> bool {
    reachable(scope, from).iter().filter_map(|id| scope.states.get(*id)).any(is_terminal)
}

/// Reports loops through states that never wait.
fn check_busy_loops(scope: &Scope, report: &mut Report) {
    let mut told = BTreeSet::new();
    for state in scope.states.values().filter(|state| !waits_or_acts(state)) {
        if told.contains(state.id.as_str()) {
            continue;
        }
        let round = busy_reachable(scope, state);
        if round.contains(state.id.as_str()) {
            let message = format!("a loop through `{}` waits for nothing", state.id);
            report
                .warn(Code::BusyLoop, state.span, message)
                .help("put a timer into it, or make sure that it ends");
            told.extend(round);
        }
    }
}

/// Whether a state takes time: it waits, sleeps, or runs a task.
fn waits_or_acts(state: &State) -> bool {
    !matches!(state.body, StateBody::Choice(_) | StateBody::Transform(_))
}

fn busy_reachable<'j>(scope: &'j Scope, from: &'j State) -> BTreeSet<&'j str> {
    let mut seen = BTreeSet::new();
    let mut open: Vec<&str> = target_ids(from);
    while let Some(id) = open.pop() {
        let Some(state) = scope.states.get(id).filter(|state| !waits_or_acts(state)) else {
            continue;
        };
        if seen.insert(state.id.as_str()) {
            open.extend(target_ids(state));
        }
    }
    seen
}

fn target_ids(state: &State) -> Vec<&str> {
    successors(state).into_iter().map(|target| target.id.as_str()).collect()
}
