//! What every turn of an instance keeps: its number, its state, its end.

use meantime_kernel::store::{Fence, Phase};

use super::committed_turn::CommittedTurn;
use super::violation::Findings;

/// K2: turn numbers of an instance have no gaps, and no number is used twice (P1).
pub(super) fn turns_are_contiguous(step: &CommittedTurn<'_>, findings: &mut Findings<'_>) {
    let after = step.after.turn_no;
    let before = step.before.map_or(0, |row| row.turn_no);
    if after != before && after != before + 1 {
        findings.add_for(step.after.id, format!("turn {after} follows turn {before}"));
    }
    if let Fence::Turn { expected, .. } = step.fence
        && *expected != before
    {
        let text = format!("a turn that expected {expected} was committed on {before}");
        findings.add_for(step.after.id, text);
    }
    if matches!(step.fence, Fence::Insert(_)) && step.before.is_some() {
        findings.add_for(step.after.id, "an instance was made twice".to_owned());
    }
    if let Some(turn) = step.turn
        && turn.turn_no != after
    {
        findings.add_for(step.after.id, format!("turn {} was stored as {after}", turn.turn_no));
    }
}

/// K8: an ended instance does not change any more (T9).
pub(super) fn terminal_is_absorbing(step: &CommittedTurn<'_>, findings: &mut Findings<'_>) {
    let Some(before) = step.before.filter(|row| row.phase.is_ended()) else { return };
    let (was, is) = (before.phase.name(), step.after.phase.name());
    findings.add_for(before.id, format!("it was {was}, and a turn made it {is}"));
}

/// K10, per turn: a turn begins with the stored state, and the state that it returned is stored.
pub(super) fn state_is_what_was_computed(step: &CommittedTurn<'_>, findings: &mut Findings<'_>) {
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
