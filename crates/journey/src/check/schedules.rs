//! Rules 21 and 27: scheduled runs start at the top level and reach no step.
//!
//! The check visits every state that can be reached from `start`, including branches of parallels
//! and called subjourneys (S9).

use std::collections::BTreeSet;

use super::graph::{reachable, scopes};
use crate::code::Code;
use crate::definition::{Journey, Scope, StateBody, Task};
use crate::report::Report;

pub(super) fn check(journey: &Journey, report: &mut Report) {
    for (_, scope) in scopes(journey) {
        for state in scope.states.values() {
            let StateBody::Task(task) = &state.body else { continue };
            let Task::Schedule(schedule) = &**task else { continue };
            let start = &schedule.start;
            if journey.main.broken.contains(&start.id) {
                continue;
            }
            if !journey.main.states.contains_key(&start.id) {
                let message = format!("`{}` is not a state of `spec.states`", start.id);
                report
                    .error(Code::ScheduleStart, start.span, message)
                    .help("scheduled runs start at the top level, wherever they are scheduled");
                continue;
            }
            let mut steps = BTreeSet::new();
            find_steps(journey, &journey.main, &start.id, &mut BTreeSet::new(), &mut steps);
            if !steps.is_empty() {
                let named: Vec<String> = steps.iter().map(|id| format!("`{id}`")).collect();
                let message =
                    format!("runs scheduled from `{}` reach {}", start.id, named.join(", "));
                report
                    .error(Code::SchedulePath, start.span, message)
                    .help("a scheduled run has no client that submits: its path cannot have a `wait` or `webhook`");
            }
        }
    }
}

/// Collects the steps that can be reached from a state.
fn find_steps<'j>(
    journey: &'j Journey,
    scope: &'j Scope,
    from: &'j str,
    called: &mut BTreeSet<&'j str>,
    steps: &mut BTreeSet<&'j str>,
) {
    for id in reachable(scope, from) {
        let Some(state) = scope.states.get(id) else { continue };
        match &state.body {
            StateBody::Step(_) => {
                steps.insert(id);
            }
            StateBody::Parallel(parallel) => {
                for branch in &parallel.branches {
                    let start = &branch.scope.start.id;
                    find_steps(journey, &branch.scope, start, called, steps);
                }
            }
            StateBody::Call(call) => {
                let name = call.subjourney.id.as_str();
                if let Some(subjourney) = journey.subjourneys.get(name)
                    && called.insert(name)
                {
                    let start = &subjourney.scope.start.id;
                    find_steps(journey, &subjourney.scope, start, called, steps);
                }
            }
            _ => {}
        }
    }
}
