//! Rules 39 and 54: step ids are unique in the whole definition, and bindings name existing steps.

use std::collections::BTreeMap;

use super::graph::scopes;
use crate::code::Code;
use crate::definition::{Journey, StateBody};
use crate::report::Report;
use crate::yaml::Span;

pub(super) fn check(journey: &Journey, report: &mut Report) {
    let mut seen: BTreeMap<&str, Span> = BTreeMap::new();
    for (_, scope) in scopes(journey) {
        for state in scope.states.values() {
            if !matches!(state.body, StateBody::Step(_)) {
                continue;
            }
            if state.id == "cancel" {
                let message = "a step cannot have the id `cancel`";
                report
                    .error(Code::StepId, state.span, message)
                    .help("`steps/cancel` cancels the journey");
            }
            if let Some(first) = seen.insert(&state.id, state.span) {
                let message = format!("two steps have the id `{}`", state.id);
                let help =
                    format!("the other is on line {}; steps share one URL", first.start.line);
                report.error(Code::StepId, state.span, message).help(help);
            }
        }
    }
    let http_steps =
        journey.http.steps.iter().filter(|(name, _)| !seen.contains_key(name.as_str()));
    for (name, (_, span)) in http_steps {
        let message = format!("`spec.bindings.http.steps.{name}` names no wait or webhook");
        report.error(Code::StepBindings, *span, message);
    }
}
