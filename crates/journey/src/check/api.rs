//! Rule 51: an API answers one request, so it contains no wait, timer or schedule.

use super::graph::scopes;
use crate::code::Code;
use crate::definition::{Journey, State, StateBody, Task};
use crate::report::Report;

pub(super) fn check(journey: &Journey, report: &mut Report) {
    if journey.is_durable() {
        return;
    }
    let states = scopes(journey).into_iter().flat_map(|(_, scope)| scope.states.values());
    let found: Vec<String> =
        states.filter(|state| may_wait(state)).map(|state| format!("`{}`", state.id)).collect();
    if !found.is_empty() {
        let message = format!("an API cannot have {}", found.join(", "));
        report
            .error(Code::ApiStates, journey.kind_span, message)
            .help("use `kind: Journey` for what waits, sleeps or schedules");
    }
}

fn may_wait(state: &State) -> bool {
    match &state.body {
        StateBody::Step(_) | StateBody::Timer(_) => true,
        StateBody::Task(task) => matches!(**task, Task::Schedule(_)),
        _ => false,
    }
}
