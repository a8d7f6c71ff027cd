//! K2: turn numbers of an instance have no gaps, and no number is used twice (P1).

use meantime_kernel::store::Fence;

use super::committed_turn::CommittedTurn;
use super::violation::Findings;

pub(super) fn check(step: &CommittedTurn<'_>, findings: &mut Findings<'_>) {
    let after = step.after.turn_no;
    let before = step.before.map_or(0, |row| row.turn_no);
    if after != before && after != before + 1 {
        findings.add_for(step.after.id, format!("turn {after} follows turn {before}"));
    }
    if let Fence::Turn { expected, .. } = step.guard
        && *expected != before
    {
        let text = format!("a turn that expected {expected} was committed on {before}");
        findings.add_for(step.after.id, text);
    }
    if matches!(step.guard, Fence::Insert(_)) && step.before.is_some() {
        findings.add_for(step.after.id, "an instance was made twice".to_owned());
    }
    if let Some(turn) = step.turn
        && turn.turn_no != after
    {
        findings.add_for(step.after.id, format!("turn {} was stored as {after}", turn.turn_no));
    }
}
