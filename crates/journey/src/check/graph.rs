//! Walking through a definition: its scopes, and the ways between states.

use std::collections::BTreeSet;

use crate::definition::{Body, Journey, Scope, State, Target};

/// What kind of scope it is, and its name for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Owner {
    Main,
    Branch(String),
    Subjourney(String),
    Compensation,
}

impl Owner {
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
pub(super) fn scopes(journey: &Journey) -> Vec<(Owner, &Scope)> {
    let mut found = Vec::new();
    add(&mut found, Owner::Main, &journey.main);
    for (name, subjourney) in &journey.subjourneys {
        add(&mut found, Owner::Subjourney(name.clone()), &subjourney.scope);
    }
    if let Some(compensation) = &journey.compensation {
        add(&mut found, Owner::Compensation, &compensation.scope);
    }
    found
}

fn add<'j>(found: &mut Vec<(Owner, &'j Scope)>, owner: Owner, scope: &'j Scope) {
    found.push((owner, scope));
    for state in scope.states.values() {
        if let Body::Parallel(parallel) = &state.body {
            for branch in &parallel.branches {
                add(found, Owner::Branch(branch.name.clone()), &branch.scope);
            }
        }
    }
}

/// Where a state can go on within its scope.
pub(super) fn successors(state: &State) -> Vec<&Target> {
    let mut targets: Vec<&Target> = state.next.iter().collect();
    match &state.body {
        Body::Choice(choice) => {
            targets.extend(choice.ways.iter().map(|way| &way.next));
            targets.extend(&choice.default);
        }
        Body::Step(step) => targets.extend(step.timeout.iter().map(|timeout| &timeout.next)),
        _ => {}
    }
    targets
}

/// Whether a state can end its scope.
pub(super) fn is_terminal(state: &State) -> bool {
    match &state.body {
        Body::Succeed(_) | Body::Fail(_) => true,
        Body::Parallel(_) => state.next.is_none(),
        // Nothing matches: the run fails.
        Body::Choice(choice) => choice.default.is_none(),
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
