//! P15: whoever has something to do gets its turn; no wake-up is lost.

use super::chronicle::Chronicle;
use super::violation::Findings;

pub(super) fn check(chronicle: &Chronicle, found: &mut Findings<'_>) {
    for id in &chronicle.rows.ready {
        let phase = chronicle.rows.instances.get(id).map_or("gone", |row| row.phase.name());
        found.about(*id, format!("it is ready, {phase}, and nobody turns it"));
    }
}
