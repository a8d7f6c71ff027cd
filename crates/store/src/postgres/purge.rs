//! Deletes expired data: the statements, and rows with their own expiry.
//!
//! `sweep` finds the instances. Here they are deleted in one transaction, a bounded number of rows
//! at a time. Tables whose rows have their own expiry are listed in [`EXPIRING`].

use meantime_core::{Keep, Retention, Timestamp};
use meantime_kernel::store::{Error, Purged};

use super::connection::{Call, Connection, QueryAnswer, QueryError, values};
use super::instance_count;
use crate::row::Columns;
use crate::row::instance::counted;
use crate::row::instance_count::Counts;

const LAST_HISTORY: &str = "SELECT id_order, last_history FROM instance \
     WHERE id_order = ANY ($1::bigint[]) AND ended_at IS NOT NULL ORDER BY id_order FOR UPDATE \
     SKIP LOCKED";
// Newest first, so that the instance row always names the rest of the list.
const DELETE_HISTORY: &str = "WITH RECURSIVE h (seq, previous, position) AS (SELECT n.seq, \
     n.previous, 1::bigint FROM history AS n WHERE n.seq = $1 UNION ALL SELECT n.seq, n.previous, \
     h.position + 1 FROM h CROSS JOIN LATERAL (SELECT seq, previous FROM history \
     WHERE seq = h.previous OFFSET 0) AS n WHERE h.position < $2), gone AS (DELETE FROM history \
     WHERE seq = ANY (ARRAY(SELECT seq FROM h))) \
     SELECT count(*), coalesce((array_agg(previous ORDER BY position DESC))[1], 0) FROM h";
const CUT_HISTORY: &str = "UPDATE instance SET last_history = $2 WHERE id_order = $1";
// Written so that no index of finished tasks fits: the key finds them.
const DELETE_TASKS: &str = "DELETE FROM task WHERE id_order = $1 AND coalesce(state, '') = 'done'";
const DELETE_TAGS: &str = "DELETE FROM instance_tag WHERE id_order = $1";
const DELETE_OCCURRENCES: &str = "DELETE FROM occurrence WHERE ctid = ANY (ARRAY( \
     SELECT ctid FROM occurrence WHERE id_order = $1 LIMIT $2))";
const DELETE_INSTANCE: &str =
    "DELETE FROM instance WHERE id_order = $1 RETURNING definition_id, phase";

/// A table whose rows have their own expiry.
struct Expiring {
    /// Deletes at most $2 rows whose time is at or before $1.
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

// A row that a plan has locked is skipped, so that retention never waits for plans; a later pass
// finds it again.
const EXPIRING: [Expiring; 5] = [
    Expiring {
        delete: "DELETE FROM task WHERE ctid = ANY (ARRAY(SELECT ctid FROM task \
             WHERE state = 'done' AND available_at <= $1 ORDER BY available_at LIMIT $2 \
             FOR UPDATE SKIP LOCKED))",
        first: "SELECT available_at FROM task WHERE state = 'done' ORDER BY available_at LIMIT 1",
        keep: |retention| retention.detached_tasks,
        count: |purged| &mut purged.tasks,
    },
    Expiring {
        delete: "DELETE FROM occurrence WHERE ctid = ANY (ARRAY(SELECT ctid FROM occurrence \
             WHERE decided_at <= $1 ORDER BY decided_at LIMIT $2 FOR UPDATE SKIP LOCKED))",
        first: "SELECT decided_at FROM occurrence ORDER BY decided_at LIMIT 1",
        keep: |retention| retention.occurrences,
        count: |purged| &mut purged.occurrences,
    },
    Expiring {
        delete: "DELETE FROM message WHERE ctid = ANY (ARRAY(SELECT ctid FROM message \
             WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED))",
        first: "SELECT expires_at FROM message WHERE expires_at IS NOT NULL \
             ORDER BY expires_at LIMIT 1",
        keep: NOW,
        count: |purged| &mut purged.messages,
    },
    Expiring {
        delete: "DELETE FROM message_id WHERE ctid = ANY (ARRAY(SELECT ctid FROM message_id \
             WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED))",
        first: "SELECT expires_at FROM message_id ORDER BY expires_at LIMIT 1",
        keep: NOW,
        count: |purged| &mut purged.message_ids,
    },
    Expiring {
        delete: "DELETE FROM answer WHERE ctid = ANY (ARRAY(SELECT ctid FROM answer \
             WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED))",
        first: "SELECT expires_at FROM answer ORDER BY expires_at LIMIT 1",
        keep: NOW,
        count: |purged| &mut purged.answers,
    },
];

#[cfg(test)]
pub(super) fn statements() -> Vec<&'static str> {
    let own = [
        LAST_HISTORY,
        DELETE_HISTORY,
        CUT_HISTORY,
        DELETE_TASKS,
        DELETE_TAGS,
        DELETE_OCCURRENCES,
        DELETE_INSTANCE,
    ];
    let expiring = EXPIRING.iter().flat_map(|table| [table.delete, table.first]);
    own.into_iter().chain(expiring).collect()
}

/// Deletes instances in order until the limit is reached, then expired rows. Returns how many of
/// the instances were deleted completely.
pub(super) async fn purge(
    connection: &Connection,
    doomed: &[i64],
    retention: &Retention,
    now: Timestamp,
    limit: usize,
) -> Result<(usize, Purged), QueryError> {
    let mut purged = Purged::default();
    let mut gone = 0;
    let mut counts = Counts::default();
    for id_order in doomed {
        if purged.rows() >= limit
            || !remove(connection, *id_order, limit, &mut purged, &mut counts).await?
        {
            break;
        }
        gone += 1;
    }
    if let Some(count) = instance_count::add(&counts) {
        connection.run(&[count]).await?;
    }
    for table in &EXPIRING {
        let room = limit.saturating_sub(purged.rows());
        if room > 0
            && let Some(over) = (table.keep)(retention).over_before(now)
        {
            let values = values![over.as_millis(), big(room)];
            *(table.count)(&mut purged) += count(&connection.one(table.delete, values).await?);
        }
    }
    Ok((gone, purged))
}

/// Deletes an instance with everything that belongs to it; returns whether it was deleted
/// completely. A long history is deleted in parts.
async fn remove(
    connection: &Connection,
    id_order: i64,
    limit: usize,
    purged: &mut Purged,
    counts: &mut Counts,
) -> Result<bool, QueryError> {
    let found = connection.one(LAST_HISTORY, values![vec![id_order]]).await?;
    let Some(last) = found.first(|row| row.integer(1))? else { return Ok(true) };
    if last != 0 {
        let room = limit.saturating_sub(purged.rows()).max(1);
        let deleted = connection.one(DELETE_HISTORY, values![last, big(room)]).await?;
        let (rows, left) =
            deleted.first(|row| Ok((row.integer(0)?, row.integer(1)?)))?.unwrap_or_default();
        purged.attachments += usize::try_from(rows).unwrap_or_default();
        if purged.rows() >= limit && left != 0 {
            connection.one(CUT_HISTORY, values![id_order, left]).await?;
            return Ok(false);
        }
    }
    // A schedule may have more ledger rows than one transaction should delete.
    let room = limit.saturating_sub(purged.rows()).max(1);
    let occurrences =
        count(&connection.one(DELETE_OCCURRENCES, values![id_order, big(room)]).await?);
    purged.occurrences += occurrences;
    if occurrences == room {
        connection.one(CUT_HISTORY, values![id_order, 0_i64]).await?;
        return Ok(false);
    }
    let one = |sql| Call::new(sql, values![id_order]);
    let answers =
        connection.run(&[one(DELETE_TASKS), one(DELETE_TAGS), one(DELETE_INSTANCE)]).await?;
    if let [tasks, tags, instances] = answers.as_slice() {
        purged.tasks += count(tasks);
        purged.attachments += count(tags);
        purged.instances += count(instances);
        for (definition, phase) in instances.read(|row| counted(row, 0, 1))? {
            counts.add(definition, phase, -1);
        }
    }
    Ok(true)
}

/// When the next row expires.
pub(super) async fn next(
    connection: &Connection,
    retention: &Retention,
) -> Result<Option<Timestamp>, QueryError> {
    let calls: Vec<Call<'_>> = EXPIRING.iter().map(|table| Call::plain(table.first)).collect();
    let mut next: Option<Timestamp> = None;
    for (table, answer) in EXPIRING.iter().zip(connection.run(&calls).await?) {
        let first = answer.first(|row| row.instant_if(0, "expiring"))?.flatten();
        let at = first.and_then(|first| (table.keep)(retention).until(first));
        next = next.into_iter().chain(at).min();
    }
    Ok(next)
}

fn count(answer: &QueryAnswer) -> usize {
    usize::try_from(answer.count).unwrap_or(usize::MAX)
}

fn big(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// The statement that excludes other nodes until the end of the transaction.
pub(super) fn alone() -> Call<'static> {
    Call::new(super::lock::TRY_ALONE, values![super::lock::MAINTENANCE])
}

/// Whether no other node runs retention.
pub(super) fn is_alone(answer: &QueryAnswer) -> Result<bool, Error> {
    Ok(answer.first(|row| row.flag(0))?.unwrap_or_default())
}
