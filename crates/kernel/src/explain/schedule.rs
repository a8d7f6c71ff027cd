//! Explains when a schedule runs next, and the outcomes of its occurrences.

use meantime_core::time::Rule;
use meantime_core::{OccurrenceOutcome, Outcome};

use crate::schedule::ScheduleView;
use crate::store::{InstanceRow, OccurrenceRow};

/// Why an occurrence of a schedule ran, or did not.
pub fn explain_occurrence(row: &OccurrenceRow) -> String {
    let it = &row.occurrence;
    let occurrences = if it.count == 1 {
        format!("the occurrence of {}", it.scheduled_at)
    } else {
        format!("the {} occurrences from {} to {}", it.count, it.scheduled_at, it.last_at)
    };
    let late = row.decided_at.saturating_since(it.last_at);
    let when = match late {
        0 => "on time".to_owned(),
        late if late > 0 => format!("{late} ms late, at {}", row.decided_at),
        _ => format!("early, manually, at {}", row.decided_at),
    };
    match it.outcome {
        OccurrenceOutcome::Started => {
            let run = row.instance.map_or_else(String::new, |id| format!(" as {id}"));
            format!("{occurrences} was started {when}{run}")
        }
        OccurrenceOutcome::Skipped => format!("{occurrences} was skipped: {}", it.reason),
        OccurrenceOutcome::Missed if it.count == 1 => {
            format!("{occurrences} was missed: {}", it.reason)
        }
        OccurrenceOutcome::Missed => format!("{occurrences} were missed: {}", it.reason),
        OccurrenceOutcome::Failed => format!("{occurrences} could not be started: {}", it.reason),
    }
}

/// What a schedule starts, when it does so next, or why it does not.
pub fn explain_schedule(
    row: &InstanceRow,
    view: &ScheduleView,
    last: Option<&OccurrenceRow>,
) -> String {
    let spec = &view.spec;
    let rule = match &spec.rule {
        Rule::Once { at } => format!("once, at {at}"),
        Rule::Every { anchor, interval, zone, .. } => {
            format!("every {interval} from {anchor} on, in {zone}")
        }
        Rule::Cron { cron, zone, .. } => format!("by the cron expression \"{cron}\", in {zone}"),
    };
    let subject = spec.subject.as_ref().map_or_else(String::new, |it| format!(" for {it:?}"));
    let what = format!("{:?} version {}{subject} {rule}", spec.definition, spec.version);
    let over = view.runs_executed;
    let runs = match spec.max_runs {
        Some(most) => format!("; {over} of {most} runs have ended"),
        None => format!("; {over} runs have ended"),
    };
    let running = match view.running {
        0 => String::new(),
        running => format!(", {running} in progress"),
    };
    let last = last.map_or_else(String::new, |last| format!("; {}", explain_occurrence(last)));
    format!("the schedule starts {what}{}{runs}{running}{last}", next(row, view))
}

fn next(row: &InstanceRow, view: &ScheduleView) -> String {
    let ended = row.ended_at.map_or_else(String::new, |at| format!(" since {at}"));
    if row.phase.is_ended() {
        return match &row.meta.outcome {
            Some(Outcome::Cancelled { reason, .. }) if reason.is_empty() => {
                format!("; it is deleted{ended}")
            }
            Some(Outcome::Cancelled { reason, .. }) => format!("; it is deleted{ended}: {reason}"),
            _ => format!("; it is complete{ended}"),
        };
    }
    if view.paused {
        return "; it is paused, and starts nothing until it is resumed".to_owned();
    }
    match view.armed {
        Some(armed) if armed.frozen => {
            format!("; its next run was due at {} and is frozen", armed.due_at)
        }
        Some(armed) if armed.due_at != armed.scheduled_at => {
            format!("; its next run was moved from {} to {}", armed.scheduled_at, armed.due_at)
        }
        Some(armed) => format!("; its next run is due at {}", armed.due_at),
        None => "; no further run is due".to_owned(),
    }
}
