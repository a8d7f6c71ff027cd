//! K3: the key of an effect is its turn and its ordinal, so that an old record can never answer a
//! new activation (T5).

use meantime_core::{Effect, EffectKey};
use meantime_kernel::history::Record;
use meantime_kernel::store::TimerKind;

use super::committed_turn::CommittedTurn;
use super::violation::Findings;

pub(super) fn check(step: &CommittedTurn<'_>, findings: &mut Findings<'_>) {
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
