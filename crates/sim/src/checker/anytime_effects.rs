//! Effects begin once, and what a turn cancels is closed.

use meantime_core::{Effect, EffectKey};
use meantime_kernel::history::Record;
use meantime_kernel::open::Key;
use meantime_kernel::store::TimerKind;

use super::committed_turn::CommittedTurn;
use super::violation::Findings;

/// K3: the key of an effect is its turn and its ordinal, so that an old record can never answer a
/// new activation (T5).
pub(super) fn effect_keys_are_new(step: &CommittedTurn<'_>, findings: &mut Findings<'_>) {
    for record in step.records() {
        let (key, is_it): (&EffectKey, fn(&Effect) -> bool) = match record {
            Record::TimerArmed { key, kind: TimerKind::Element, .. } => {
                (key, |effect| matches!(effect, Effect::StartTimer { .. }))
            }
            Record::TimerArmed { key, kind: TimerKind::TaskDeadline, .. }
            | Record::TaskScheduled { key, .. } => {
                (key, |effect| matches!(effect, Effect::ScheduleTask(_)))
            }
            Record::ChildStarted { key, .. } => {
                (key, |effect| matches!(effect, Effect::StartChild(_)))
            }
            _ => continue,
        };
        if key.instance != step.after.id || key.turn_no != step.after.turn_no {
            let text = format!("effect {key} was begun by turn {}", step.after.turn_no);
            findings.add_for(step.after.id, text);
        }
        let ordinal = usize::try_from(key.ordinal).unwrap_or(usize::MAX);
        let wanted = step.turn.and_then(|turn| turn.effects.get(ordinal));
        if !wanted.is_some_and(is_it) {
            findings.add_for(step.after.id, format!("effect {key} is not what the turn wanted"));
        }
    }
}

/// Everything that a turn cancels is removed in that turn, and all waits are removed when an
/// instance ends (T9, B9).
pub(super) fn cancelled_waits_are_closed(step: &CommittedTurn<'_>, findings: &mut Findings<'_>) {
    let open = &step.after.open;
    for effect in step.turn.into_iter().flat_map(|turn| &turn.effects) {
        let (key, is_open) = match effect {
            Effect::CancelTimer { key } => (key, open.timers.contains_key(&Key::from(*key))),
            Effect::CancelTask { key } => {
                let key_of = Key::from(*key);
                (key, open.tasks.contains_key(&key_of) || open.timers.contains_key(&key_of))
            }
            Effect::Unsubscribe { key } => (key, open.subscriptions.contains_key(&Key::from(*key))),
            _ => continue,
        };
        if is_open {
            findings.add_for(step.after.id, format!("{key} was cancelled and is still open"));
        }
    }
    if step.after.phase.is_ended() {
        let left = open.timers.len() + open.tasks.len() + open.subscriptions.len();
        if left > 0 || open.children > 0 {
            findings.add_for(step.after.id, format!("it is over and has open: {open:?}"));
        }
    }
}
