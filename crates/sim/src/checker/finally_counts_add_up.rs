//! K14: what was accepted is there: over, alive, or removed because it was over.

use super::chronicle::Chronicle;
use super::violation::Findings;

pub(super) fn check(chronicle: &Chronicle, found: &mut Findings<'_>) {
    let rows = &chronicle.rows.instances;
    if !chronicle.listened {
        return;
    }
    for id in &chronicle.accepted {
        if rows.contains_key(id) == chronicle.purged.contains(id) {
            found.about(*id, "it was accepted and is nowhere".to_owned());
        }
    }
    for id in rows.keys().filter(|id| !chronicle.accepted.contains(id)) {
        found.about(*id, "it is there and was never accepted".to_owned());
    }
}
