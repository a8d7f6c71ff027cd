//! P15: every ready instance gets its turn; no wake-up is lost.

use super::run_record::RunRecord;
use super::violation::Findings;

pub(super) fn check(run: &RunRecord, findings: &mut Findings<'_>) {
    for id in &run.rows.ready {
        let phase = run.rows.instances.get(id).map_or("gone", |row| row.phase.name());
        findings.add_for(*id, format!("it is ready, {phase}, and nobody turns it"));
    }
}
