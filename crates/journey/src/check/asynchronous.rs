//! Rule 31: the request of an asynchronous start ends before its run does. Its headers and
//! credentials are never stored, so no later state may need them.

use std::collections::{BTreeMap, BTreeSet};

use super::graph::successors;
use crate::code::Code;
use crate::definition::{Journey, Scope, StartMode, State, StateBody, Task};
use crate::report::Report;

pub(super) fn check(journey: &Journey, report: &mut Report) {
    if journey.start_mode == StartMode::Sync {
        return;
    }
    if !journey.http.start.passthrough.is_empty() {
        let message = "an asynchronous start passes no headers through: its request is over when \
                       the calls are made";
        report.error(Code::Lifecycle, journey.kind_span, message).help(
            "use `startMode: sync`, or let a step pass the headers of its own request through; what \
             a header says can be kept with `headersToContext` if it is no secret",
        );
    }
    let (seen, lasting, late) = (BTreeSet::new(), BTreeMap::new(), Vec::new());
    let mut walk = StartWalk { journey, seen, lasting, late };
    walk.scope(&journey.main, false);
    for state in walk.late {
        let message = format!(
            "`{}` checks a credential when the request of an asynchronous start may be over",
            state.id
        );
        report.error(Code::Lifecycle, state.span, message).help(
            "check it before anything that takes time, use `startMode: sync`, or put a wait before \
             it, whose submission brings a credential of its own",
        );
    }
}

/// Walks over the states that a start can reach before the first submission.
struct StartWalk<'j> {
    journey: &'j Journey,
    /// Visited states, by address: ids are unique only within a scope.
    seen: BTreeSet<(*const State, bool)>,
    /// Whether a scope contains something that takes time.
    lasting: BTreeMap<*const Scope, bool>,
    late: Vec<&'j State>,
}

impl<'j> StartWalk<'j> {
    /// Walks through a scope from its start. `late`: something before it took time, so the request
    /// may have ended.
    fn scope(&mut self, scope: &'j Scope, late: bool) {
        let mut open = vec![(scope.start.id.as_str(), late)];
        while let Some((id, late)) = open.pop() {
            let Some(state) = scope.states.get(id) else { continue };
            if !self.seen.insert((std::ptr::from_ref(state), late)) {
                continue;
            }
            match &state.body {
                // A submission brings its own request.
                StateBody::Step(_) => continue,
                // Reported once: each state is visited at most once with `late`.
                StateBody::Task(task) if matches!(**task, Task::Auth(_)) && late => {
                    self.late.push(state);
                }
                StateBody::Parallel(parallel) => {
                    for branch in &parallel.branches {
                        self.scope(&branch.scope, late);
                    }
                }
                StateBody::Call(call) => {
                    if let Some(called) = self.journey.subjourneys.get(&call.subjourney.id) {
                        self.scope(&called.scope, late);
                    }
                }
                _ => {}
            }
            let late = late || self.takes_time(state);
            open.extend(successors(state).into_iter().map(|next| (next.id.as_str(), late)));
        }
    }

    fn takes_time(&mut self, state: &'j State) -> bool {
        match &state.body {
            StateBody::Step(_) | StateBody::Timer(_) => true,
            StateBody::Task(task) => match &**task {
                Task::Auth(_) => false,
                Task::Http(call) => call.result_var.is_some(),
                Task::Schedule(_) | Task::Cache(_) | Task::Worker(_) => true,
            },
            StateBody::Parallel(parallel) => {
                parallel.branches.iter().any(|branch| self.may_wait(&branch.scope))
            }
            StateBody::Call(call) => {
                let called = self.journey.subjourneys.get(&call.subjourney.id);
                called.is_some_and(|it| self.may_wait(&it.scope))
            }
            StateBody::Choice(_)
            | StateBody::Transform(_)
            | StateBody::Succeed(_)
            | StateBody::Fail(_) => false,
        }
    }

    fn may_wait(&mut self, scope: &'j Scope) -> bool {
        let key = std::ptr::from_ref(scope);
        if let Some(known) = self.lasting.get(&key) {
            return *known;
        }
        self.lasting.insert(key, false);
        let lasts = scope.states.values().any(|state| self.takes_time(state));
        self.lasting.insert(key, lasts);
        lasts
    }
}
