//! K5: no timer fires before its due time, while frozen, or without having been armed (T8, I3).

use meantime_kernel::history::Record;
use meantime_kernel::open::Key;

use super::committed_turn::CommittedTurn;
use super::violation::Findings;

pub(super) fn check(step: &CommittedTurn<'_>, findings: &mut Findings<'_>) {
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
