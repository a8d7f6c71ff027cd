//! Rules 42 and 60: calls name subjourneys that do not call themselves; guards have no side
//! effects.

use std::collections::{BTreeMap, BTreeSet};

use super::graph::{ScopeOwner, scopes};
use crate::code::Code;
use crate::definition::{Destination, Journey, Scope, StateBody, StateRef, Task};
use crate::report::Report;
use crate::yaml::Span;

pub(super) fn check(journey: &Journey, report: &mut Report) {
    for (_, scope) in scopes(journey) {
        for state in scope.states.values() {
            if let StateBody::Call(call) = &state.body
                && !journey.subjourneys.contains_key(&call.subjourney.id)
            {
                let message = format!("there is no subjourney `{}`", call.subjourney.id);
                report
                    .error(Code::Subjourney, call.subjourney.span, message)
                    .help("define it in `spec.subjourneys`");
            }
        }
    }
    check_recursion(journey, report);
    check_guard(journey, report);
}

/// Subjourneys that a subjourney calls, also from its branches, with the position of each call.
fn called_subjourneys(scope: &Scope) -> Vec<(&str, Span)> {
    let mut found = Vec::new();
    for state in scope.states.values() {
        match &state.body {
            StateBody::Call(call) => {
                found.push((call.subjourney.id.as_str(), call.subjourney.span));
            }
            StateBody::Parallel(parallel) => {
                found.extend(
                    parallel.branches.iter().flat_map(|branch| called_subjourneys(&branch.scope)),
                );
            }
            _ => {}
        }
    }
    found
}

fn check_recursion(journey: &Journey, report: &mut Report) {
    let graph: BTreeMap<&str, Vec<(&str, Span)>> = journey
        .subjourneys
        .iter()
        .map(|(name, subjourney)| (name.as_str(), called_subjourneys(&subjourney.scope)))
        .collect();
    for (name, direct) in &graph {
        for (called, span) in direct {
            if reaches(&graph, called, name) {
                let message = format!("the subjourney `{name}` calls itself through `{called}`");
                report.error(Code::Subjourney, *span, message).help("use a loop within one scope");
            }
        }
    }
}

fn reaches(graph: &BTreeMap<&str, Vec<(&str, Span)>>, from: &str, to: &str) -> bool {
    let mut seen = BTreeSet::new();
    let mut open = vec![from];
    while let Some(name) = open.pop() {
        if name == to {
            return true;
        }
        if seen.insert(name) {
            open.extend(graph.get(name).into_iter().flatten().map(|(called, _)| *called));
        }
    }
    false
}

/// A guard runs on a copy of the context and answers at once: it may not wait or have an effect.
fn check_guard(journey: &Journey, report: &mut Report) {
    let Some(StateRef { id: name, span }) = &journey.guard else { return };
    if !journey.subjourneys.contains_key(name) {
        let message = format!("`spec.access.read.guardRef` names no subjourney: `{name}`");
        report.error(Code::Access, *span, message).help("define it in `spec.subjourneys`");
        return;
    }
    for (owner, scope) in scopes(journey) {
        if owner != ScopeOwner::Subjourney(name.clone()) {
            continue;
        }
        for state in scope.states.values() {
            let problem = match &state.body {
                StateBody::Step(step) => {
                    Some(format!("waits in the {} `{}`", step.kind.name(), state.id))
                }
                StateBody::Timer(_) => Some(format!("sleeps in the timer `{}`", state.id)),
                StateBody::Task(task) => match &**task {
                    Task::Schedule(_) => Some(format!("makes a schedule in `{}`", state.id)),
                    Task::Worker(_) => Some(format!("needs a worker in `{}`", state.id)),
                    _ => None,
                },
                StateBody::Transform(transform)
                    if matches!(transform.destination, Destination::Attributes) =>
                {
                    let message = format!("the guard `{name}` writes attributes in `{}`", state.id);
                    report.error(Code::Transform, state.span, message);
                    None
                }
                _ => None,
            };
            if let Some(problem) = problem {
                let message = format!("the guard `{name}` {problem}");
                report.error(Code::Access, state.span, message).help("a guard answers at once");
            }
        }
    }
}
