//! What every turn keeps of the timers of its instance.

use meantime_core::Timestamp;
use meantime_kernel::history::Record;
use meantime_kernel::open::Key;

use super::committed_turn::CommittedTurn;
use super::violation::Findings;

/// K5: no timer fires before its due time, while frozen, or without having been armed (T8, I3).
pub(super) fn timers_fire_when_due(step: &CommittedTurn<'_>, findings: &mut Findings<'_>) {
    for record in step.records() {
        let Record::TimerFired { key, due_at, .. } = record else { continue };
        if *due_at > step.now {
            let text = format!("timer {key} was due at {due_at} and fired at {}", step.now);
            findings.add_for(step.after.id, text);
        }
        let armed = step.before.and_then(|row| row.open.timers.get(&Key::from(*key)));
        let armed_now = step
            .records()
            .any(|record| matches!(record, Record::TimerArmed { key: armed, .. } if armed == key));
        let edited = step.records().any(
            |record| matches!(record, Record::TimerEdited { key: edited, .. } if edited == key),
        );
        match armed {
            None if !armed_now => {
                findings.add_for(step.after.id, format!("timer {key} fired and was not armed"));
            }
            Some(timer) if timer.frozen && !edited => {
                findings.add_for(step.after.id, format!("timer {key} fired while frozen"));
            }
            Some(timer) if timer.due_at != *due_at && !edited => {
                let text = format!("timer {key} was due at {} and not {due_at}", timer.due_at);
                findings.add_for(step.after.id, text);
            }
            _ => {}
        }
    }
}

/// A duration becomes an instant once: only an operator moves a timer or a deadline (T4, D1, I4).
pub(super) fn due_instants_stay(step: &CommittedTurn<'_>, findings: &mut Findings<'_>) {
    let Some(before) = step.before else { return };
    for (key, timer) in &before.open.timers {
        let Some(after) = step.after.open.timers.get(key) else { continue };
        let edits = edits_of(step, *key);
        let expected = edits.last().copied().unwrap_or(timer.due_at);
        if after.due_at != expected {
            let text = format!(
                "timer {} was due at {} and is due at {}",
                key.of(before.id),
                timer.due_at,
                after.due_at
            );
            findings.add_for(before.id, text);
        }
        if after.frozen != timer.frozen && edits.is_empty() {
            findings.add_for(before.id, format!("nobody froze or released {}", key.of(before.id)));
        }
    }
    let (was, is) = (before.deadline_at, step.after.deadline_at);
    let is_over = step.after.phase.is_ended() || is.is_none();
    if was != is && before.turn_no > 0 && !is_over && edits_of(step, Key::DEADLINE).is_empty() {
        findings.add_for(before.id, format!("the deadline was {was:?} and is {is:?}"));
    }
}

/// The instants to which operators moved a timer in this step.
fn edits_of(step: &CommittedTurn<'_>, of: Key) -> Vec<Timestamp> {
    let edits = step.records().filter_map(|record| match record {
        Record::TimerEdited { key, to, .. } if Key::from(*key) == of => Some(*to),
        _ => None,
    });
    edits.collect()
}
