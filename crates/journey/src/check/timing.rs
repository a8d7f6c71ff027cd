//! Warnings about times in a definition. None of them prevents deployment.

use meantime_core::time::{Span as Duration, Zone};
use meantime_core::{Diagnostic, Severity, Timestamp};

use super::graph::{ScopeOwner, scopes, successors};
use crate::code::Code;
use crate::definition::{Journey, Scope, StartMode, State, StateBody, Task, TimeSource, Timer};
use crate::report::Report;
use crate::yaml::Span;

/// Warnings that do not depend on the current time.
pub(super) fn check(journey: &Journey, report: &mut Report) {
    check_sync_timer(journey, report);
    let Some(timeout) = &journey.timeout else { return };
    let budget_ms = timeout.max_duration_sec.saturating_mul(1_000);
    let mut sum_ms = 0_i64;
    let mut last = None;
    for (owner, scope) in scopes(journey) {
        // A compensation has its own time limit (D8).
        if owner == ScopeOwner::Compensation {
            continue;
        }
        for state in scope.states.values() {
            warn_after_deadline(state, budget_ms, report);
            if let StateBody::Step(step) = &state.body
                && let Some(wait) = &step.timeout
            {
                let wait_ms = wait.seconds.saturating_mul(1_000);
                if wait_ms >= budget_ms {
                    let message = format!("`onTimeout` of `{}` cannot be reached", state.id);
                    report
                        .warn(Code::DeadTimeout, wait.next.span, message)
                        .help("the deadline of the journey comes first (D3)");
                }
                if owner == ScopeOwner::Main {
                    sum_ms = sum_ms.saturating_add(wait_ms);
                    last = Some(state.span);
                }
            }
        }
    }
    if let Some(span) = last.filter(|_| sum_ms > budget_ms) {
        let (sum, budget) = (sum_ms / 1_000, budget_ms / 1_000);
        let message = format!("steps may wait {sum} s together, the journey {budget} s");
        report.warn(Code::TimeoutsBeyondBudget, span, message);
    }
}

/// D3, T9: the deadline comes first, so such a timer never fires.
fn warn_after_deadline(state: &State, budget_ms: i64, report: &mut Report) {
    if let StateBody::Timer(Timer::Duration(TimeSource::Literal(duration))) = &state.body
        && duration.approx_millis() >= budget_ms
    {
        let message = format!("the timer `{}` is due after the deadline", state.id);
        report
            .warn(Code::TimerAfterDeadline, state.span, message)
            .help("the run ends with `spec.execution.onTimeout` before it fires");
    }
}

/// Rule 19.
fn check_sync_timer(journey: &Journey, report: &mut Report) {
    if !journey.is_durable() || journey.start_mode != StartMode::Sync {
        return;
    }
    if let Some(state) = first_timer(journey, &journey.main) {
        let message = format!("a synchronous start meets the timer `{}` first", state.id);
        report.warn(Code::SyncTimer, state.span, message).help(
            "the start is answered with the running status; `startMode: async` makes that explicit",
        );
    }
}

/// A timer that can be reached before any step.
fn first_timer<'j>(journey: &'j Journey, scope: &'j Scope) -> Option<&'j State> {
    let mut seen = std::collections::BTreeSet::new();
    let mut open = vec![scope.start.id.as_str()];
    while let Some(id) = open.pop() {
        let Some(state) = scope.states.get(id).filter(|state| seen.insert(state.id.as_str()))
        else {
            continue;
        };
        match &state.body {
            StateBody::Timer(_) => return Some(state),
            StateBody::Step(_) => continue,
            StateBody::Parallel(parallel) => {
                let mut branches = parallel.branches.iter();
                let found = branches.find_map(|branch| first_timer(journey, &branch.scope));
                if found.is_some() {
                    return found;
                }
            }
            StateBody::Call(call) => {
                let called = journey.subjourneys.get(&call.subjourney.id);
                if let Some(found) = called.and_then(|it| first_timer(journey, &it.scope)) {
                    return Some(found);
                }
            }
            _ => {}
        }
        open.extend(successors(state).into_iter().map(|target| target.id.as_str()));
    }
    None
}

/// Warnings that depend on the time of the deployment.
pub(crate) fn lint(journey: &Journey, now: Timestamp) -> Vec<Diagnostic> {
    let mut report = Report::default();
    for (_, scope) in scopes(journey) {
        for state in scope.states.values() {
            match &state.body {
                StateBody::Timer(Timer::Until(TimeSource::Literal(at))) => {
                    warn_past_instant(*at, now, "until", state.span, &mut report);
                    let budget = journey.timeout.as_ref().map(|it| it.max_duration_sec);
                    let end = budget.map(|it| now.saturating_add_millis(it.saturating_mul(1_000)));
                    if end.is_some_and(|end| *at >= end) {
                        let message = format!("the timer `{}` is due after the deadline", state.id);
                        report.warn(Code::TimerAfterDeadline, state.span, message);
                    }
                }
                StateBody::Task(task) => {
                    if let Task::Schedule(schedule) = &**task {
                        let at = match &schedule.start_at {
                            Some(TimeSource::Literal(at)) => {
                                warn_past_instant(*at, now, "startAt", state.span, &mut report);
                                Some(*at)
                            }
                            Some(_) => None,
                            None => Some(now),
                        };
                        if let (Some(at), TimeSource::Literal(interval)) = (at, &schedule.interval)
                        {
                            warn_month_end(at, interval, state, &mut report);
                        }
                    }
                }
                _ => {}
            }
        }
    }
    let mut found = report.finish();
    found.retain(|it| it.severity != Severity::Error);
    found
}

fn warn_past_instant(at: Timestamp, now: Timestamp, key: &str, span: Span, report: &mut Report) {
    if at < now {
        report
            .warn(Code::PastInstant, span, format!("`{key}` is {at}, which has passed"))
            .help("it is due at once (T7)");
    }
}

/// Occurrences are counted from the anchor; a day that a month lacks becomes its last day (S1).
fn warn_month_end(at: Timestamp, interval: &Duration, state: &State, report: &mut Report) {
    let utc = Zone::utc();
    let day = |text: &str| text.get(8..10).and_then(|day| day.parse::<u32>().ok());
    let anchor = day(&at.to_string()).unwrap_or(1);
    let occurrences = (1..=12).filter_map(|n| interval.times(n).ok()?.add_to(at, &utc).ok());
    let clamped = occurrences
        .into_iter()
        .find(|scheduled_at| day(&scheduled_at.to_string()).is_some_and(|it| it < anchor));
    let has_months =
        interval.to_string().split('T').next().is_some_and(|it| it.contains(['M', 'Y']));
    if let Some(scheduled_at) = clamped.filter(|_| has_months && anchor > 28) {
        let message = format!("runs from day {anchor}: some months are shorter");
        report
            .warn(Code::MonthEnd, state.span, message)
            .help(format!("there it runs on the last day, for example {scheduled_at}"));
    }
}
