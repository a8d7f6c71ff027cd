//! Every entry that appears in or disappears from the open list was requested by a turn and has its
//! record (O2).

use meantime_core::{Effect, Event};
use meantime_kernel::history::Record;
use meantime_kernel::open::{Key, Open};

use super::committed_turn::CommittedTurn;
use super::run_record::ObservedTurn;
use super::violation::Findings;

pub(super) fn check(step: &CommittedTurn<'_>, findings: &mut Findings<'_>) {
    let nothing = Open::default();
    let before = step.before.map_or(&nothing, |row| &row.open);
    let after = &step.after.open;
    for key in before.timers.keys().filter(|key| !after.timers.contains_key(key)) {
        let is_closed = |record: &Record| match record {
            Record::TimerFired { key: it, .. } | Record::TimerCancelled { key: it, .. } => {
                Key::from(*it) == *key
            }
            _ => false,
        };
        let closings = step.records().filter(|record| is_closed(record)).count();
        if closings != 1 {
            let text = format!("timer {} has {closings} closing records", key.of(step.after.id));
            findings.add_for(step.after.id, text);
        }
    }
    for key in before.tasks.keys().filter(|key| !after.tasks.contains_key(key)) {
        let endings = task_endings(step, *key);
        // If the turn of a task's end could not be computed, an incident holds the event, and the
        // record is written when it is retried.
        let is_held = step.turn.is_none()
            && step.records().any(|record| matches!(record, Record::IncidentRaised { .. }));
        if endings != 1 && !(endings == 0 && is_held) {
            let text = format!("task {} ended {endings} times at once", key.of(step.after.id));
            findings.add_for(step.after.id, text);
        }
    }
    for (ordinal, effect) in step.turn.into_iter().flat_map(|turn| turn.effects.iter().enumerate())
    {
        let key = Key(step.after.turn_no, u32::try_from(ordinal).unwrap_or(u32::MAX));
        if step.after.phase.is_ended() || is_closed_again(step, key) {
            continue;
        }
        let is_there = match effect {
            Effect::StartTimer { due_at, .. } => {
                after.timers.get(&key).is_some_and(|timer| timer.due_at == *due_at)
            }
            Effect::ScheduleTask(_) => after.tasks.contains_key(&key),
            Effect::Subscribe { .. } => after.subscriptions.contains_key(&key),
            _ => true,
        };
        if !is_there {
            let text = format!("{} {} was not begun", effect.name(), key.of(step.after.id));
            findings.add_for(step.after.id, text);
        }
    }
}

fn task_endings(step: &CommittedTurn<'_>, key: Key) -> usize {
    let records = step.records().filter(|record| match record {
        Record::TaskCancelled { key: it, .. } | Record::DetachedTaskEnded { key: it, .. } => {
            Key::from(*it) == key
        }
        _ => false,
    });
    let events = step.turn.into_iter().flat_map(ObservedTurn::events).filter(
        |(event, _)| matches!(event, Event::TaskDone { key: it, .. } if Key::from(*it) == key),
    );
    records.count() + events.count()
}

/// Whether the same turn cancelled the effect that it began, or ended the instance.
fn is_closed_again(step: &CommittedTurn<'_>, key: Key) -> bool {
    let effects = step.turn.into_iter().flat_map(|turn| &turn.effects);
    let cancelled = effects.filter(|effect| match effect {
        Effect::CancelTimer { key: it }
        | Effect::CancelTask { key: it }
        | Effect::Unsubscribe { key: it } => Key::from(*it) == key,
        _ => false,
    });
    cancelled.count() > 0 || step.records().any(|record| matches!(record, Record::Closing))
}
