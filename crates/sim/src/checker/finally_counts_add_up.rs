//! K14: every accepted instance exists, live or ended, or was removed after it had ended.

use super::run_record::RunRecord;
use super::violation::Findings;

pub(super) fn check(run: &RunRecord, findings: &mut Findings<'_>) {
    let rows = &run.rows.instances;
    if !run.has_turns {
        return;
    }
    for id in &run.accepted {
        if rows.contains_key(id) == run.purged.contains(id) {
            findings.add_for(*id, "it was accepted and is nowhere".to_owned());
        }
    }
    for id in rows.keys().filter(|id| !run.accepted.contains(id)) {
        findings.add_for(*id, "it is there and was never accepted".to_owned());
    }
}
