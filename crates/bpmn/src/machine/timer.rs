//! Timers: computes the due time once, when the timer is armed (T4, B1).

use meantime_core::time::{Cron, Cycle, Rule, Span, TimeError, Zone, occurrences};
use meantime_core::{Effect, Failure, Recurrence, Timestamp};

use super::json;
use super::state::{ArmedWait, ElementInstanceId, TimerCycle, WaitKind};
use super::turn::Machine;
use crate::incident_code::IncidentCode;
use crate::model::{TimerDefinition, TimerKind};

impl Machine<'_> {
    /// When a timer is due, and the rest of its cycle. None for a cycle that never fires.
    pub(super) fn plan_timer(
        &mut self,
        id: ElementInstanceId,
        timer: &TimerDefinition,
    ) -> Result<Option<(Timestamp, Option<TimerCycle>)>, Failure> {
        let value = self.evaluate(&timer.text, id)?;
        let text = json::text(&value).ok_or_else(|| {
            let because = self.null_reason();
            let text = format!("the timer's time `{}` is {value}{because}", timer.text);
            IncidentCode::NotATime.failure(text)
        })?;
        let failed = |error: TimeError| {
            Failure::new(error.code(), format!("the timer's time {text:?}: {error}"))
        };
        match timer.kind {
            TimerKind::Date => {
                let due_at = Timestamp::parse(&text).map_err(failed)?;
                Ok(Some((due_at, None)))
            }
            TimerKind::Duration => {
                let span = Span::parse_delay(&text).map_err(failed)?;
                let due_at = span.add_to(self.cx.now, &timer.zone).map_err(failed)?;
                Ok(Some((due_at, None)))
            }
            TimerKind::Cycle => {
                let (rule, count) = series(&text, self.cx.now, &timer.zone).map_err(failed)?;
                Ok(first_occurrence(rule, count))
            }
        }
    }

    /// Arms the next occurrence of a cycle: the first one in the future, so that missed occurrences
    /// become one late fire and the phase of the cycle is kept (B10).
    pub(super) fn arm_next(&mut self, id: ElementInstanceId, fired: &ArmedWait) {
        let WaitKind::Timer { planned, series: Some(series) } = &fired.kind else { return };
        if series.left == Some(0) {
            return;
        }
        // A timer that an operator fired early used up its planned occurrence, so the next one is
        // after both.
        let after = self.cx.now.max(*planned);
        let Some(next) = occurrences(&series.rule, after).next() else { return };
        let element = self.event_element_path(id, fired.on);
        let key = self.push(Effect::StartTimer { element, due_at: next.at });
        let left = series.left.map(|left| left - 1);
        let series = Some(TimerCycle { rule: series.rule.clone(), left });
        let kind = WaitKind::Timer { planned: next.at, series };
        let wait = ArmedWait { key, on: fired.on, kind, name: String::new() };
        if let Some(element) = self.element_mut(id) {
            element.waits.push(wait);
        }
    }
}

/// The recurrence rule of a cycle without its count, and the count.
fn series(text: &str, now: Timestamp, zone: &Zone) -> Result<(Rule, Option<u64>), TimeError> {
    if !text.starts_with('R') {
        return Ok((Rule::cron(Cron::parse(text)?, zone.clone(), now), None));
    }
    Ok(Cycle::parse(text)?.series(now, zone.clone()))
}

fn first_occurrence(rule: Rule, count: Option<u64>) -> Option<(Timestamp, Option<TimerCycle>)> {
    if count == Some(0) {
        return None;
    }
    let due_at = occurrences(&rule, Timestamp::MIN).next()?.at;
    let left = count.map(|count| count - 1);
    Some((due_at, Some(TimerCycle { rule, left })))
}

/// A timer start of the process as a trigger of the definition (B8).
pub(crate) fn recurrence(
    kind: TimerKind,
    text: &str,
    zone: &Zone,
) -> Result<Recurrence, TimeError> {
    let zone = zone.name().to_owned();
    Ok(match kind {
        TimerKind::Date => Recurrence::At(Timestamp::parse(text)?),
        TimerKind::Duration => {
            Span::parse_delay(text)?;
            Recurrence::After(text.to_owned(), zone)
        }
        TimerKind::Cycle if text.starts_with('R') => {
            Cycle::parse(text)?;
            Recurrence::Cycle(text.to_owned(), zone)
        }
        TimerKind::Cycle => {
            Cron::parse(text)?;
            Recurrence::Cron(text.to_owned(), zone)
        }
    })
}
