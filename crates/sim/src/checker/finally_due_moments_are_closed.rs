//! K5, O2: every timer has exactly one closing record, or is still armed.

use std::collections::BTreeMap;

use meantime_kernel::history::Record;
use meantime_kernel::open::Key;

use super::run_record::RunRecord;
use super::violation::Findings;

pub(super) fn check(run: &RunRecord, findings: &mut Findings<'_>) {
    for (id, history) in &run.rows.histories {
        let Some(row) = run.rows.instances.get(id) else { continue };
        let mut closings: BTreeMap<Key, u32> = BTreeMap::new();
        let mut is_whole = !run.has_purged;
        for record in history.iter().flat_map(|row| &row.records) {
            match record {
                Record::TimerArmed { key, .. } => {
                    closings.entry(Key::from(*key)).or_default();
                }
                Record::TimerFired { key, .. } | Record::TimerCancelled { key, .. } => {
                    *closings.entry(Key::from(*key)).or_default() += 1;
                }
                Record::Compacted { .. } => is_whole = false,
                _ => {}
            }
        }
        for (key, count) in closings.into_iter().filter(|_| is_whole) {
            let expected = u32::from(!row.open.timers.contains_key(&key));
            if count != expected {
                let text = format!("timer {} has {count} closing records", key.of(*id));
                findings.add_for(*id, text);
            }
        }
    }
}
