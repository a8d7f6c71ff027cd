//! K5, O2: every due moment leaves one closing record, or is still to come.

use std::collections::BTreeMap;

use meantime_kernel::history::Record;
use meantime_kernel::open::Key;

use super::chronicle::Chronicle;
use super::violation::Findings;

pub(super) fn check(chronicle: &Chronicle, found: &mut Findings<'_>) {
    for (id, history) in &chronicle.rows.histories {
        let Some(row) = chronicle.rows.instances.get(id) else { continue };
        let mut closings: BTreeMap<Key, u32> = BTreeMap::new();
        let mut is_whole = !chronicle.has_purged;
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
                found.about(*id, text);
            }
        }
    }
}
