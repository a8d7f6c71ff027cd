//! Rules 42 and 60: calls name subjourneys, which do not call themselves; guards only look.

use std::collections::{BTreeMap, BTreeSet};

use super::graph::{Owner, scopes};
use crate::code::Code;
use crate::definition::{Body, Destination, Journey, Scope, Target, Task};
use crate::report::Report;
use crate::yaml::Span;

pub(super) fn check(journey: &Journey, report: &mut Report) {
    for (_, scope) in scopes(journey) {
        for state in scope.states.values() {
            if let Body::Call(call) = &state.body
                && !journey.subjourneys.contains_key(&call.subjourney.id)
            {
                let message = format!("there is no subjourney `{}`", call.subjourney.id);
                report
                    .error(Code::Subjourney, call.subjourney.span, message)
                    .help("define it in `spec.subjourneys`");
            }
        }
    }
    recursion(journey, report);
    guard(journey, report);
}

/// Subjourneys that a subjourney calls, its branches included, with the place of each call.
fn calls(scope: &Scope) -> Vec<(&str, Span)> {
    let mut found = Vec::new();
    for state in scope.states.values() {
        match &state.body {
            Body::Call(call) => found.push((call.subjourney.id.as_str(), call.subjourney.span)),
            Body::Parallel(parallel) => {
                found.extend(parallel.branches.iter().flat_map(|branch| calls(&branch.scope)));
            }
            _ => {}
        }
    }
    found
}

fn recursion(journey: &Journey, report: &mut Report) {
    let graph: BTreeMap<&str, Vec<(&str, Span)>> = journey
        .subjourneys
        .iter()
        .map(|(name, subjourney)| (name.as_str(), calls(&subjourney.scope)))
        .collect();
    for (name, direct) in &graph {
        for (called, span) in direct {
            if leads_to(&graph, called, name) {
                let message = format!("the subjourney `{name}` calls itself through `{called}`");
                report.error(Code::Subjourney, *span, message).help("use a loop within one scope");
            }
        }
    }
}

fn leads_to(graph: &BTreeMap<&str, Vec<(&str, Span)>>, from: &str, to: &str) -> bool {
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

/// A guard runs on a copy and answers at once: it may not wait or leave a trace.
fn guard(journey: &Journey, report: &mut Report) {
    let Some(Target { id: name, span }) = &journey.guard else { return };
    if !journey.subjourneys.contains_key(name) {
        let message = format!("`spec.access.read.guardRef` names no subjourney: `{name}`");
        report.error(Code::Access, *span, message).help("define it in `spec.subjourneys`");
        return;
    }
    for (owner, scope) in scopes(journey) {
        if owner != Owner::Subjourney(name.clone()) {
            continue;
        }
        for state in scope.states.values() {
            let problem = match &state.body {
                Body::Step(step) => {
                    Some(format!("waits in the {} `{}`", step.kind.name(), state.id))
                }
                Body::Timer(_) => Some(format!("sleeps in the timer `{}`", state.id)),
                Body::Task(task) => match &**task {
                    Task::Schedule(_) => Some(format!("makes a schedule in `{}`", state.id)),
                    Task::Worker(_) => Some(format!("needs a worker in `{}`", state.id)),
                    _ => None,
                },
                Body::Transform(transform)
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
