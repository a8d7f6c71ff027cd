//! K8: an ended instance does not change any more (T9).

use super::committed_turn::CommittedTurn;
use super::violation::Findings;

pub(super) fn check(step: &CommittedTurn<'_>, findings: &mut Findings<'_>) {
    let Some(before) = step.before.filter(|row| row.phase.is_ended()) else { return };
    let (was, is) = (before.phase.name(), step.after.phase.name());
    findings.add_for(before.id, format!("it was {was}, and a turn made it {is}"));
}
