//! Start events that start instances by themselves: timers, messages and signals (B8).
//!
//! Such a start has no variables, so their expressions must be constant at deployment.

use std::collections::BTreeMap;

use meantime_core::{Json, Limits, Trigger as StartTrigger};

use super::json;
use super::timer::recurrence;
use crate::expression::{Environment, Expression, VariableScope};
use crate::model::{EventTrigger, Node, NodeKind, Process};
use crate::problem::{Code, Problems};

/// The triggers of a process, in document order.
pub(crate) fn triggers(
    process: &Process,
    limits: &Limits,
    problems: &mut Problems,
) -> Vec<StartTrigger> {
    let mut found = Vec::new();
    for at in &process.body.starts {
        let node = process.node(*at);
        let NodeKind::Start(start) = &node.kind else { continue };
        let element = node.id.to_string();
        let trigger = match &start.trigger {
            Some(EventTrigger::Message(message)) => {
                constant_text(&message.name, node, limits, problems)
                    .map(|name| StartTrigger::Message { name, element })
            }
            Some(EventTrigger::Signal(name)) => constant_text(name, node, limits, problems)
                .map(|name| StartTrigger::Signal { name, element }),
            Some(EventTrigger::Timer(timer)) => {
                constant_text(&timer.text, node, limits, problems).and_then(|text| {
                    match recurrence(timer.kind, &text, &timer.zone) {
                        Ok(recurrence) => {
                            if let Some(problem) = recurrence.problem(limits) {
                                // An error at deployment: a schedule with this problem would never
                                // start anything, and no incident would tell (S11).
                                let message = format!("`{}`: {text:?}: {problem}", node.id);
                                let help =
                                    "start less often, or lower `limits.schedule_interval_ms`";
                                let at = node.position;
                                problems.error_with_help(Code::BadTimer, at, message, help);
                                return None;
                            }
                            Some(StartTrigger::Timer { element, recurrence })
                        }
                        Err(error) => {
                            let message = format!("`{}`: {text:?}: {error}", node.id);
                            let help = error.hint().unwrap_or_default();
                            problems.error_with_help(Code::BadTimer, node.position, message, help);
                            None
                        }
                    }
                })
            }
            _ => None,
        };
        found.extend(trigger);
    }
    found
}

/// The value of an expression without variables.
fn constant_text(
    expression: &Expression,
    node: &Node,
    limits: &Limits,
    problems: &mut Problems,
) -> Option<String> {
    let environment = Environment { now: None, ops: 100_000, seed: 0, limits };
    let value = expression.evaluate(&NoVariables, &environment).value;
    let text = value.as_ref().ok().and_then(json::scalar_text);
    if text.is_none() {
        let message = format!("`{}`: `{expression}` has no value at the deploy", node.id);
        let help = "the start of a process cannot use variables or the time: there are none yet";
        problems.error_with_help(Code::BadExpression, node.position, message, help);
    }
    text
}

/// No variables at all.
struct NoVariables;

impl VariableScope for NoVariables {
    fn get(&self, _: &str) -> Option<Json> {
        None
    }

    fn all(&self) -> BTreeMap<String, Json> {
        BTreeMap::new()
    }

    fn key(&self) -> Option<&str> {
        None
    }
}
