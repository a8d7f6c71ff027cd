//! The ledger of schedules: the outcome of every occurrence.

use meantime_core::{Occurrence, OccurrenceOutcome};
use meantime_kernel::store::{Error, OccurrenceRow};

use super::Columns;

const TABLE: &str = "occurrence";

/// The columns that [`read`] reads, in order.
macro_rules! columns {
    () => {
        "id_order, id_random, scheduled_at, last_at, count, outcome, reason, run_id_order, \
             run_id_random, decided_at"
    };
}
pub(crate) use columns;

const OUTCOMES: [OccurrenceOutcome; 4] = [
    OccurrenceOutcome::Started,
    OccurrenceOutcome::Skipped,
    OccurrenceOutcome::Missed,
    OccurrenceOutcome::Failed,
];

/// Reads a row selected with `columns!`.
pub(crate) fn read(row: &impl Columns) -> Result<OccurrenceRow, Error> {
    let outcome = |name: &str| OUTCOMES.into_iter().find(|it| it.name() == name);
    let has_run = row.integer_if(7)?.is_some();
    Ok(OccurrenceRow {
        schedule: row.instance(0, 1)?,
        occurrence: Occurrence {
            scheduled_at: row.instant(2, TABLE)?,
            last_at: row.instant(3, TABLE)?,
            count: row.number(4)?,
            outcome: row.named(5, TABLE, outcome)?,
            reason: row.text(6)?,
        },
        instance: if has_run { Some(row.instance(7, 8)?) } else { None },
        decided_at: row.instant(9, TABLE)?,
    })
}
