//! Everything that a turn cancels is removed in that turn, and all waits are removed when an
//! instance ends (T9, B9).

use meantime_core::Effect;
use meantime_kernel::open::Key;

use super::committed_turn::CommittedTurn;
use super::violation::Findings;

pub(super) fn check(step: &CommittedTurn<'_>, findings: &mut Findings<'_>) {
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
