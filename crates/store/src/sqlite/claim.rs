//! Tasks that a worker can claim: by priority, then age, with index seeks only.
//!
//! The index `task_ready` is ordered by queue, type, priority and age. For each queue and type the
//! priorities in use are visited from the highest, each with one seek, so that neither tasks of
//! other types nor delayed ones are scanned.

use meantime_core::{TaskId, Timestamp};
use meantime_kernel::store::{ClaimQuery, Error, TaskRow};
use rusqlite::params;

use super::db::Db;
use super::task;
use crate::row::Columns;

const FIRST_NAME: &str = "SELECT name FROM task INDEXED BY task_ready \
     WHERE state = 'ready' AND kind = 'worker' AND queue = ?1 ORDER BY name LIMIT 1";
const NEXT_NAME: &str = "SELECT name FROM task INDEXED BY task_ready \
     WHERE state = 'ready' AND kind = 'worker' AND queue = ?1 AND name > ?2 ORDER BY name LIMIT 1";
const NEXT_PRIORITY: &str = "SELECT priority FROM task INDEXED BY task_ready \
     WHERE state = 'ready' AND kind = 'worker' AND queue = ?1 AND name = ?2 AND priority < ?3 \
     ORDER BY priority DESC LIMIT 1";
const READY: &str = "SELECT id_order, turn_no, ordinal, id_random, available_at \
     FROM task INDEXED BY task_ready \
     WHERE state = 'ready' AND kind = 'worker' AND queue = ?1 AND name = ?2 AND priority = ?3 \
     AND available_at <= ?4 ORDER BY available_at, id_order, turn_no, ordinal";

#[cfg(test)]
pub(super) const ALL: &[&str] = &[FIRST_NAME, NEXT_NAME, NEXT_PRIORITY, READY];

/// Order of tasks: highest priority first, then oldest, then by id.
type Candidate = (i64, Timestamp, TaskId);

/// Tasks that match the claim, best first. Tasks that cannot be decoded are returned separately.
pub(super) fn ready(
    db: &Db<'_>,
    query: &ClaimQuery,
    now: Timestamp,
    damaged: &mut Vec<(TaskId, String)>,
) -> Result<Vec<TaskRow>, Error> {
    let mut candidates = Vec::new();
    let default_queue = [String::new()];
    let queues = if query.queues.is_empty() { &default_queue[..] } else { &query.queues };
    for queue in unique(queues) {
        if query.types.is_empty() {
            let mut next: Option<String> = db.first(FIRST_NAME, [queue], |row| row.text(0))?;
            while let Some(name) = next {
                of_type(db, query, queue, &name, now, &mut candidates)?;
                next = db.first(NEXT_NAME, [queue, &name], |row| row.text(0))?;
            }
        } else {
            for name in unique(&query.types) {
                of_type(db, query, queue, name, now, &mut candidates)?;
            }
        }
    }
    candidates.sort_unstable();
    let mut tasks = Vec::new();
    for (_, _, id) in candidates.into_iter().take(query.limit) {
        tasks.extend(task::get_lenient(db, id, damaged)?);
    }
    Ok(tasks)
}

fn of_type(
    db: &Db<'_>,
    query: &ClaimQuery,
    queue: &str,
    name: &str,
    now: Timestamp,
    candidates: &mut Vec<Candidate>,
) -> Result<(), Error> {
    let mut wanted = query.limit;
    let mut above = i64::MAX;
    while wanted > 0
        && let Some(priority) =
            db.first(NEXT_PRIORITY, params![queue, name, above], |row| row.integer(0))?
    {
        let params = params![queue, name, priority, now.as_millis()];
        let found = db.some(READY, params, wanted, |row| {
            let id = TaskId(row.effect(0, "task")?);
            let candidate = (-priority, row.instant(4, "task")?, id);
            Ok(if query.busy.contains(&id) { None } else { Some(candidate) })
        })?;
        wanted = wanted.saturating_sub(found.len());
        candidates.extend(found);
        above = priority;
    }
    Ok(())
}

/// The names without repetitions: a worker that names a type twice gets no task twice.
fn unique(names: &[String]) -> impl Iterator<Item = &str> {
    let is_first = |(at, name): &(usize, &String)| !names[..*at].contains(name);
    names.iter().enumerate().filter(is_first).map(|(_, name)| name.as_str())
}
