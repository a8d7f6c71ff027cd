//! Rule 2: every start and every target names a state of its own scope.

use super::graph::{ScopeOwner, scopes, successors};
use crate::code::Code;
use crate::definition::{Journey, Scope, StateRef};
use crate::report::Report;

pub(super) fn check(journey: &Journey, report: &mut Report) {
    for (owner, scope) in scopes(journey) {
        check_target(&scope.start, "start", &owner, scope, journey, report);
        for state in scope.states.values() {
            for target in successors(state) {
                check_target(target, &state.id, &owner, scope, journey, report);
            }
        }
    }
}

fn check_target(
    target: &StateRef,
    from: &str,
    owner: &ScopeOwner,
    scope: &Scope,
    journey: &Journey,
    report: &mut Report,
) {
    let id = &target.id;
    if scope.states.contains_key(id) || scope.broken.contains(id) {
        return;
    }
    let message = format!("`{from}` refers to `{id}`, which is not a state of {}", owner.name());
    report.error(Code::Target, target.span, message);
    let elsewhere = scopes(journey).into_iter().find(|(_, scope)| scope.states.contains_key(id));
    match elsewhere {
        Some((other, _)) => {
            report.help(format!("`{id}` is a state of {}: scopes are separate", other.name()));
        }
        None => {
            let known: Vec<&str> = scope.states.keys().map(String::as_str).collect();
            report.help(format!("states there: {}", known.join(", ")));
        }
    }
}
