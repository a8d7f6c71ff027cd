//! What happened in a simulation, in order.

use std::fmt::Write as _;

use meantime_core::Timestamp;
use meantime_kernel::history::{CancelCause, Record};
use meantime_kernel::store::TimerKind;
use serde::Serialize;

use crate::report::SimulationReport;

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TraceEvent {
    /// When.
    pub at: Timestamp,
    /// The instance: the name of its definition, with a number if there are several.
    pub instance: String,
    /// The type, as in the history of an instance.
    #[serde(rename = "type")]
    pub kind: String,
    /// A task type, signal, message, step or child.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The element of the definition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub element: Option<String>,
    /// When a timer is due, or the next attempt begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub due_at: Option<Timestamp>,
    /// The code of a failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The same as a sentence.
    pub text: String,
}

/// What is known of a timer or task by its key.
pub(crate) trait Known {
    /// The element and name of an effect that an earlier record named.
    fn effect(&self, key: meantime_core::EffectKey) -> Option<(String, String)>;
}

impl TraceEvent {
    /// An event with nothing but its type and its sentence.
    pub(crate) fn plain(kind: &str, text: String) -> Self {
        Self {
            at: Timestamp::default(),
            instance: String::new(),
            kind: kind.to_owned(),
            name: None,
            element: None,
            due_at: None,
            code: None,
            text,
        }
    }

    fn of_timer(record: &Record, known: &dyn Known) -> Option<Self> {
        let event = Self::plain;
        let element_of = |key: &meantime_core::EffectKey| known.effect(*key).unwrap_or_default().0;
        let some = |element: String| Some(element).filter(|it| !it.is_empty());
        Some(match record {
            Record::TimerArmed { kind, element, due_at, .. } => Self {
                element: some(element.clone()),
                due_at: Some(*due_at),
                ..event("timerArmed", format!("{} armed for {due_at}", timer(*kind, element)))
            },
            Record::TimerFired { key, kind, due_at, .. } => {
                let element = element_of(key);
                let text = format!("{} fired", timer(*kind, &element));
                Self { element: some(element), due_at: Some(*due_at), ..event("timerFired", text) }
            }
            // An instance that ends cancels all its timers; that it ended says so.
            Record::TimerCancelled { key, kind, cause, .. } if *cause != CancelCause::Ended => {
                let element = element_of(key);
                let text = format!("{} cancelled", timer(*kind, &element));
                Self { element: some(element), ..event("timerCancelled", text) }
            }
            _ => return None,
        })
    }

    /// The event of a record; none for records that repeat what another one says.
    pub(crate) fn of(record: &Record, known: &dyn Known) -> Option<Self> {
        let event = Self::plain;
        let labelled = |key: &meantime_core::EffectKey| known.effect(*key).unwrap_or_default();
        Some(match record {
            Record::Started { .. } => event("started", "started".to_owned()),
            Record::Event { name, key, note, taken, message, .. } => {
                let label = key.as_ref().map(labelled).filter(|(_, name)| !name.is_empty());
                let subject = label.clone().map(|(_, name)| name).or_else(|| note.clone());
                let mut text = sentence(name, subject.as_deref());
                let failed = name.ends_with("Failed");
                if failed {
                    let code = note.as_deref().unwrap_or_default();
                    let _ = write!(text, ": {code} {}", message.as_deref().unwrap_or_default());
                }
                if !taken {
                    text.push_str(" (not taken)");
                }
                Self {
                    name: subject,
                    element: label.map(|(element, _)| element).filter(|it| !it.is_empty()),
                    code: note.clone().filter(|_| failed),
                    ..event(name, text.trim_end().to_owned())
                }
            }
            Record::TimerArmed { .. }
            | Record::TimerFired { .. }
            | Record::TimerCancelled { .. } => return Self::of_timer(record, known),
            Record::TaskScheduled { key, name } => {
                let (element, _) = labelled(key);
                let text = format!("task {name} scheduled");
                let element = Some(element).filter(|it| !it.is_empty());
                Self { name: Some(name.clone()), element, ..event("taskScheduled", text) }
            }
            Record::TaskCancelled { key, cause } => {
                if *cause == CancelCause::Ended {
                    return None;
                }
                let (_, name) = labelled(key);
                let text = format!("task {name} cancelled");
                Self { name: Some(name), ..event("taskCancelled", text) }
            }
            Record::AttemptFailed { key, attempt, code, retry_at, .. } => {
                let (_, name) = labelled(key);
                let text = format!(
                    "attempt {attempt} of task {name} failed with {code}; the next one at {retry_at}"
                );
                let (name, code) = (Some(name), Some(code.clone()));
                Self { name, code, due_at: Some(*retry_at), ..event("attemptFailed", text) }
            }
            Record::ChildStarted { definition, .. } => {
                let text = format!("child {definition} started");
                Self { name: Some(definition.clone()), ..event("childStarted", text) }
            }
            Record::IncidentRaised { failure, .. } => {
                let text = format!("incident {}: {}", failure.code, failure.message);
                Self { code: Some(failure.code.clone()), ..event("incidentRaised", text) }
            }
            Record::IncidentClosed { .. } => event("incidentClosed", "incident closed".to_owned()),
            Record::Note { kind, data } => {
                let text = format!("{kind} {}", data.as_str());
                Self { name: Some(kind.clone()), ..event("note", text) }
            }
            Record::Published { name } => {
                let text = format!("message {name} published");
                Self { name: Some(name.clone()), ..event("published", text) }
            }
            Record::Closing => event("closing", "closing: the outcome is fixed".to_owned()),
            Record::Ended { phase, code } => {
                let text = match code {
                    Some(code) => format!("{phase} with {code}"),
                    None => phase.clone(),
                };
                Self { code: code.clone(), name: Some(phase.clone()), ..event("ended", text) }
            }
            // Operators, detached tasks, lease expiries and compaction: the log is enough.
            _ => return None,
        })
    }
}

fn timer(kind: TimerKind, element: &str) -> String {
    match kind {
        TimerKind::Deadline => "deadline".to_owned(),
        TimerKind::TaskDeadline => "deadline of a task".to_owned(),
        TimerKind::Element => format!("timer {element}"),
    }
    .trim_end()
    .to_owned()
}

/// `taskCompleted` and `charge` become "task charge completed".
fn sentence(kind: &str, subject: Option<&str>) -> String {
    let mut words: Vec<String> = Vec::new();
    for letter in kind.chars() {
        match words.last_mut() {
            Some(word) if !letter.is_uppercase() => word.push(letter),
            _ => words.push(letter.to_lowercase().collect()),
        }
    }
    let subject = subject.unwrap_or_default();
    let (first, rest) = words.split_first().map_or(("", &[][..]), |(it, rest)| (it.as_str(), rest));
    let rest = rest.join(" ");
    let parts = [first, subject, &rest];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

/// The trace as text: the instant, the time since the start, the instance, what happened.
pub fn to_text(report: &SimulationReport) -> String {
    let mut text = String::new();
    let width = report.trace.iter().map(|event| event.instance.chars().count()).max();
    let width = width.unwrap_or_default();
    let mut last = None;
    for event in &report.trace {
        let since = elapsed(event.at.saturating_since(report.from));
        let at = event.at.to_string();
        let shown = if last == Some(event.at) { "" } else { at.as_str() };
        let since = if shown.is_empty() { "" } else { since.as_str() };
        let _ =
            writeln!(text, "{shown:<24}  {since:>12}  {:<width$}  {}", event.instance, event.text);
        last = Some(event.at);
    }
    text
}

/// A length in words: `+2d 3h`, `+1m 5s`, `+250ms`.
pub(crate) fn elapsed(ms: i64) -> String {
    const UNITS: [(i64, &str); 5] =
        [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1_000, "s"), (1, "ms")];
    let mut left = ms;
    let mut parts = Vec::new();
    for (length, unit) in UNITS {
        if left >= length && parts.len() < 2 {
            parts.push(format!("{}{unit}", left / length));
            left %= length;
        } else if !parts.is_empty() {
            break;
        }
    }
    if parts.is_empty() { "+0".to_owned() } else { format!("+{}", parts.join(" ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_have_two_units_at_most() {
        for (ms, text) in [
            (0, "+0"),
            (250, "+250ms"),
            (2_000, "+2s"),
            (65_000, "+1m 5s"),
            (183_600_000, "+2d 3h"),
            (86_400_000 + 5_000, "+1d"),
        ] {
            assert_eq!(elapsed(ms), text);
        }
    }

    #[test]
    fn types_become_sentences() {
        assert_eq!(sentence("taskCompleted", Some("charge")), "task charge completed");
        assert_eq!(sentence("signal", Some("paid")), "signal paid");
        assert_eq!(sentence("deadlineReached", None), "deadline reached");
    }
}
