//! P3: no timer is left whose due time has passed.

use super::run_record::RunRecord;
use super::violation::Findings;

pub(super) fn check(run: &RunRecord, findings: &mut Findings<'_>) {
    let now = run.rows.now;
    for row in run.rows.timers.values().filter(|row| !row.frozen && row.due_at <= now) {
        let text = format!("timer {} is due since {} and it is {now}", row.id, row.due_at);
        findings.add_for(row.id.0.instance, text);
    }
}
