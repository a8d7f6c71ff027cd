//! K10, per turn: a turn begins with the stored state, and the state that it returned is stored.

use meantime_kernel::store::Phase;

use super::committed_turn::CommittedTurn;
use super::violation::Findings;

pub(super) fn check(step: &CommittedTurn<'_>, findings: &mut Findings<'_>) {
    let was_started = step.before.filter(|row| row.phase != Phase::Starting);
    let Some(turn) = step.turn else {
        if let Some(before) = was_started
            && !step.after.phase.is_ended()
            && before.state != step.after.state
        {
            findings.add_for(step.after.id, "the state changed without a turn".to_owned());
        }
        return;
    };
    if was_started.is_some_and(|before| before.state != turn.before) {
        let text = format!("turn {} began with a state that was not stored", turn.turn_no);
        findings.add_for(step.after.id, text);
    }
    if !step.after.phase.is_ended() && step.after.state != turn.after {
        findings.add_for(step.after.id, format!("turn {} left another state", turn.turn_no));
    }
}
