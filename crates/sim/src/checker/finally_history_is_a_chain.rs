//! K2, in the history: rows are in order and linked, from the start to the end of the instance.

use meantime_kernel::history::Record;

use super::run_record::RunRecord;
use super::violation::Findings;

pub(super) fn check(run: &RunRecord, findings: &mut Findings<'_>) {
    if run.has_purged {
        return;
    }
    for (id, history) in &run.rows.histories {
        let Some(row) = run.rows.instances.get(id) else { continue };
        let mut previous = 0;
        let mut turn_no = 0;
        for line in history {
            if line.previous != previous || line.instance != *id || line.turn_no < turn_no {
                findings.add_for(*id, format!("history row {} is out of place", line.seq));
            }
            (previous, turn_no) = (line.seq, line.turn_no);
        }
        if row.last_history != previous || turn_no > row.turn_no {
            findings
                .add_for(*id, format!("history ends at {previous} and not {}", row.last_history));
        }
        let records = || history.iter().flat_map(|line| &line.records);
        let ends = records().filter(|record| matches!(record, Record::Ended { .. })).count();
        let is_last = history
            .last()
            .is_some_and(|line| line.records.iter().any(|it| matches!(it, Record::Ended { .. })));
        if row.phase.is_ended() != (ends == 1 && is_last) || ends > 1 {
            findings.add_for(*id, format!("it is {} with {ends} ends", row.phase.name()));
        }
    }
}
