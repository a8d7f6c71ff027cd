//! A duration becomes an instant once: only an operator moves a timer or a deadline (T4, D1, I4).

use meantime_core::Timestamp;
use meantime_kernel::history::Record;
use meantime_kernel::open::Key;

use super::committed_turn::CommittedTurn;
use super::violation::Findings;

pub(super) fn check(step: &CommittedTurn<'_>, findings: &mut Findings<'_>) {
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
