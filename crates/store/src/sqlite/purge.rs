//! Deletes expired data: the statements, and rows with their own expiry.
//!
//! `sweep` finds the instances, on a read-only connection. Here they are deleted in the writer's
//! transaction, a bounded number of rows at a time. Tables whose rows have their own expiry are
//! listed in [`EXPIRING`].

use meantime_core::{Keep, Retention, Timestamp};
use meantime_kernel::store::{Error, Purged};
use rusqlite::params;

use super::db::Db;
use super::instance_count;
use crate::row::Columns;
use crate::row::instance::counted;
use crate::row::instance_count::Counts;

const LAST_HISTORY: &str = "SELECT last_history FROM instance \
     WHERE id_order = ?1 AND ended_at IS NOT NULL";
const DELETE_HISTORY: &str = "DELETE FROM history WHERE seq = ?1 RETURNING previous";
const CUT_HISTORY: &str = "UPDATE instance SET last_history = ?2 WHERE id_order = ?1";
const DELETE_TASKS: &str = "DELETE FROM task WHERE id_order = ?1 AND state = 'done'";
const DELETE_TAGS: &str = "DELETE FROM instance_tag WHERE id_order = ?1";
const HAS_OCCURRENCES: &str = "SELECT 1 FROM occurrence WHERE id_order = ?1";
const DELETE_OCCURRENCES: &str = "DELETE FROM occurrence WHERE (id_order, scheduled_at, is_start) \
     IN \
     (SELECT id_order, scheduled_at, is_start FROM occurrence WHERE id_order = ?1 LIMIT ?2)";
const DELETE_INSTANCE: &str =
    "DELETE FROM instance WHERE id_order = ?1 RETURNING definition_id, phase";

/// A table whose rows have their own expiry.
struct Expiring {
    /// Deletes at most ?2 rows whose time is at or before ?1.
    delete: &'static str,
    /// The earliest time in the table.
    first: &'static str,
    /// How long they are kept after that time.
    keep: fn(&Retention) -> Keep,
    /// The counter of deleted rows.
    count: fn(&mut Purged) -> &mut usize,
}

/// Their time is the expiry itself.
const NOW: fn(&Retention) -> Keep = |_| Keep::millis(0);

const EXPIRING: [Expiring; 5] = [
    Expiring {
        delete: "DELETE FROM task WHERE (id_order, turn_no, ordinal) IN (SELECT id_order, turn_no, \
             ordinal \
             FROM task INDEXED BY task_done WHERE state = 'done' AND available_at <= ?1 \
             ORDER BY available_at LIMIT ?2)",
        first: "SELECT min(available_at) FROM task INDEXED BY task_done WHERE state = 'done'",
        keep: |retention| retention.detached_tasks,
        count: |purged| &mut purged.tasks,
    },
    Expiring {
        delete: "DELETE FROM occurrence WHERE (id_order, scheduled_at, is_start) IN (SELECT \
             id_order, \
             scheduled_at, \
             is_start FROM occurrence INDEXED BY occurrence_decided WHERE decided_at <= ?1 \
             ORDER BY decided_at LIMIT ?2)",
        first: "SELECT min(decided_at) FROM occurrence",
        keep: |retention| retention.occurrences,
        count: |purged| &mut purged.occurrences,
    },
    Expiring {
        delete: "DELETE FROM message WHERE (kind, key, name, seq) IN (SELECT kind, key, name, seq \
             FROM message INDEXED BY message_expiry WHERE expires_at <= ?1 \
             ORDER BY expires_at LIMIT ?2)",
        first: "SELECT min(expires_at) FROM message INDEXED BY message_expiry \
             WHERE expires_at IS NOT NULL",
        keep: NOW,
        count: |purged| &mut purged.messages,
    },
    Expiring {
        delete: "DELETE FROM message_id WHERE id IN (SELECT id FROM message_id \
             INDEXED BY message_id_expiry WHERE expires_at <= ?1 ORDER BY expires_at LIMIT ?2)",
        first: "SELECT min(expires_at) FROM message_id",
        keep: NOW,
        count: |purged| &mut purged.message_ids,
    },
    Expiring {
        delete: "DELETE FROM answer WHERE key IN (SELECT key FROM answer \
             INDEXED BY answer_expiry WHERE expires_at <= ?1 ORDER BY expires_at LIMIT ?2)",
        first: "SELECT min(expires_at) FROM answer",
        keep: NOW,
        count: |purged| &mut purged.answers,
    },
];

#[cfg(test)]
pub(super) fn all() -> Vec<&'static str> {
    let own =
        [LAST_HISTORY, DELETE_HISTORY, CUT_HISTORY, DELETE_TASKS, DELETE_TAGS, DELETE_INSTANCE];
    let expiring = EXPIRING.iter().flat_map(|table| [table.delete, table.first]);
    own.into_iter().chain(expiring).collect()
}

/// Deletes instances in order until the limit is reached, then expired rows. Returns how many of
/// the instances were deleted completely.
pub(super) fn purge(
    db: &Db<'_>,
    doomed: &[i64],
    retention: &Retention,
    now: Timestamp,
    limit: usize,
) -> Result<(usize, Purged), Error> {
    let mut purged = Purged::default();
    let mut gone = 0;
    let mut counts = Counts::default();
    for id_order in doomed {
        if purged.rows() >= limit || !remove(db, *id_order, limit, &mut purged, &mut counts)? {
            break;
        }
        gone += 1;
    }
    instance_count::add(db, &counts)?;
    for table in &EXPIRING {
        let room = i64::try_from(limit.saturating_sub(purged.rows())).unwrap_or(i64::MAX);
        if room > 0
            && let Some(over) = (table.keep)(retention).over_before(now)
        {
            *(table.count)(&mut purged) += db.run(table.delete, params![over.as_millis(), room])?;
        }
    }
    Ok((gone, purged))
}

/// Deletes an instance with everything that belongs to it; returns whether it was deleted
/// completely. A long history is deleted in parts, newest first, so that the instance row always
/// names the rest of the list.
fn remove(
    db: &Db<'_>,
    id_order: i64,
    limit: usize,
    purged: &mut Purged,
    counts: &mut Counts,
) -> Result<bool, Error> {
    let Some(mut last) = db.first(LAST_HISTORY, [id_order], |row| row.integer(0))? else {
        return Ok(true);
    };
    while last != 0
        && let Some(previous) = db.first(DELETE_HISTORY, [last], |row| row.integer(0))?
    {
        purged.attachments += 1;
        last = previous;
        if purged.rows() >= limit && last != 0 {
            db.run(CUT_HISTORY, params![id_order, last])?;
            return Ok(false);
        }
    }
    if db.first(HAS_OCCURRENCES, [id_order], |_| Ok(()))?.is_some() {
        // A schedule may have more ledger rows than one transaction should delete.
        let room = limit.saturating_sub(purged.rows()).max(1);
        let occurrences = i64::try_from(room).unwrap_or(i64::MAX);
        let gone = db.run(DELETE_OCCURRENCES, params![id_order, occurrences])?;
        purged.occurrences += gone;
        if gone == room {
            db.run(CUT_HISTORY, params![id_order, 0])?;
            return Ok(false);
        }
    }
    purged.tasks += db.run(DELETE_TASKS, [id_order])?;
    purged.attachments += db.run(DELETE_TAGS, [id_order])?;
    let deleted = db.all(DELETE_INSTANCE, [id_order], |row| {
        let (definition, phase) = counted(row, 0, 1)?;
        counts.add(definition, phase, -1);
        Ok(())
    })?;
    purged.instances += deleted.len();
    Ok(true)
}

/// When the next row expires.
pub(super) fn next(db: &Db<'_>, retention: &Retention) -> Result<Option<Timestamp>, Error> {
    let mut next: Option<Timestamp> = None;
    for table in &EXPIRING {
        let first = earliest(db, table)?;
        let at = first.and_then(|first| (table.keep)(retention).until(first));
        next = next.into_iter().chain(at).min();
    }
    Ok(next)
}

fn earliest(db: &Db<'_>, table: &Expiring) -> Result<Option<Timestamp>, Error> {
    Ok(db.first(table.first, [], |row| row.instant_if(0, "expiring"))?.flatten())
}
