//! Walks through a definition: its scopes, and the transitions between states.

use std::collections::BTreeSet;

use crate::definition::{Journey, Scope, State, StateBody, StateRef};

/// The kind of a scope, and its name in messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ScopeOwner {
    Main,
    Branch(String),
    Subjourney(String),
    Compensation,
}

impl ScopeOwner {
    pub(super) fn name(&self) -> String {
        match self {
            Self::Main => "spec".to_owned(),
            Self::Branch(name) => format!("the branch `{name}`"),
            Self::Subjourney(name) => format!("the subjourney `{name}`"),
            Self::Compensation => "the compensation".to_owned(),
        }
    }
}

/// Every scope of a definition, branches included, in source order of their owners.
pub(super) fn scopes(journey: &Journey) -> Vec<(ScopeOwner, &Scope)> {
    let mut found = Vec::new();
    add(&mut found, ScopeOwner::Main, &journey.main);
    for (name, subjourney) in &journey.subjourneys {
        add(&mut found, ScopeOwner::Subjourney(name.clone()), &subjourney.scope);
    }
    if let Some(compensation) = &journey.compensation {
        add(&mut found, ScopeOwner::Compensation, &compensation.scope);
    }
    found
}

fn add<'j>(found: &mut Vec<(ScopeOwner, &'j Scope)>, owner: ScopeOwner, scope: &'j Scope) {
    found.push((owner, scope));
    for state in scope.states.values() {
        if let StateBody::Parallel(parallel) = &state.body {
            for branch in &parallel.branches {
                add(found, ScopeOwner::Branch(branch.name.clone()), &branch.scope);
            }
        }
    }
}

/// The states that can follow a state within its scope.
pub(super) fn successors(state: &State) -> Vec<&StateRef> {
    let mut targets: Vec<&StateRef> = state.next.iter().collect();
    match &state.body {
        StateBody::Choice(choice) => {
            targets.extend(choice.ways.iter().map(|way| &way.next));
            targets.extend(&choice.default);
        }
        StateBody::Step(step) => targets.extend(step.timeout.iter().map(|timeout| &timeout.next)),
        _ => {}
    }
    targets
}

/// Whether a state can end its scope.
pub(super) fn is_terminal(state: &State) -> bool {
    match &state.body {
        StateBody::Succeed(_) | StateBody::Fail(_) => true,
        StateBody::Parallel(_) => state.next.is_none(),
        // If no option matches, the run fails.
        StateBody::Choice(choice) => choice.default.is_none(),
        _ => false,
    }
}

/// Ids of the states that can be reached from one.
pub(super) fn reachable<'j>(scope: &'j Scope, from: &'j str) -> BTreeSet<&'j str> {
    let mut seen = BTreeSet::new();
    let mut open = vec![from];
    while let Some(id) = open.pop() {
        let Some(state) = scope.states.get(id) else { continue };
        if seen.insert(state.id.as_str()) {
            open.extend(successors(state).into_iter().map(|target| target.id.as_str()));
        }
    }
    seen
}
