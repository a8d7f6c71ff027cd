//! Tasks that a worker can claim: by priority, then age, with index seeks only.
//!
//! The index `task_ready` is ordered by queue, type, priority and age. For each queue and type the
//! priorities in use are visited from the highest, each with one seek, so that neither tasks of
//! other types nor delayed ones are scanned. The tasks found stay locked until the commit that
//! hands them out; tasks that another node has locked are skipped.

use std::collections::{BTreeMap, BTreeSet};

use meantime_core::{TaskId, Timestamp};
use meantime_kernel::store::{ClaimQuery, Error, TaskRow};

use super::connection::{Call, Connection, QueryAnswer, QueryError, arrays, values};
use super::task;
use super::text::text;
use crate::row::Columns;
use crate::row::task::columns;

const NAMES: &str = "WITH RECURSIVE found (of_queue, of_name) AS ( \
     SELECT w.of_queue, (SELECT name FROM task WHERE state = 'ready' AND kind = 'worker' \
     AND queue = w.of_queue ORDER BY name LIMIT 1) FROM unnest($1::text[]) AS w (of_queue) \
     UNION ALL SELECT of_queue, (SELECT name FROM task WHERE state = 'ready' AND kind = 'worker' \
     AND queue = of_queue AND name > of_name ORDER BY name LIMIT 1) FROM found \
     WHERE of_name IS NOT NULL) \
     SELECT of_queue, of_name FROM found WHERE of_name IS NOT NULL";
const READY: &str = concat!(
    "WITH RECURSIVE level (of_queue, of_name, of_priority) AS ( \
     SELECT w.of_queue, w.of_name, (SELECT priority FROM task WHERE state = 'ready' \
     AND kind = 'worker' AND queue = w.of_queue AND name = w.of_name \
     ORDER BY priority DESC LIMIT 1) \
     FROM unnest($1::text[], $2::text[]) AS w (of_queue, of_name) \
     UNION ALL SELECT of_queue, of_name, (SELECT priority FROM task WHERE state = 'ready' \
     AND kind = 'worker' AND queue = of_queue AND name = of_name AND priority < of_priority \
     ORDER BY priority DESC LIMIT 1) FROM level WHERE of_priority IS NOT NULL) \
     SELECT ",
    columns!(),
    " FROM level CROSS JOIN LATERAL (SELECT * FROM task WHERE state = 'ready' \
     AND kind = 'worker' AND queue = of_queue AND name = of_name AND priority = of_priority \
     AND available_at <= $3 ORDER BY available_at, id_order, turn_no, ordinal LIMIT $4 \
     FOR NO KEY UPDATE SKIP LOCKED) AS ready WHERE of_priority IS NOT NULL LIMIT $5"
);

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[NAMES, READY];

/// Queues and types that workers request; claims with the same ones share an answer.
type Wish = (Vec<String>, Vec<String>);

/// The claims of a batch.
pub(super) struct Claims<'a> {
    queries: &'a [ClaimQuery],
    now: Timestamp,
    /// Each combination with the largest limit of its claims.
    wishes: BTreeMap<Wish, usize>,
}

impl<'a> Claims<'a> {
    pub(super) fn new(queries: &'a [ClaimQuery], now: Timestamp) -> Self {
        let mut wishes: BTreeMap<Wish, usize> = BTreeMap::new();
        for query in queries {
            let most = wishes.entry(wish(query)).or_default();
            *most = (*most).max(query.limit.saturating_add(query.busy.len()));
        }
        Self { queries, now, wishes }
    }

    /// Finds and locks tasks: one list per claim, best first. Tasks that cannot be decoded are
    /// returned separately.
    pub(super) async fn find(
        &self,
        connection: &Connection,
        damaged: &mut Vec<(TaskId, String)>,
    ) -> Result<Vec<Vec<TaskRow>>, QueryError> {
        if self.queries.is_empty() {
            return Ok(Vec::new());
        }
        let pairs = self.pairs(connection).await?;
        let calls: Vec<Call<'_>> = self
            .wishes
            .iter()
            .zip(&pairs)
            .map(|((_, limit), pairs)| ready(pairs, self.now, *limit))
            .collect();
        let answers = connection.run(&calls).await?;
        let mut found: BTreeMap<&Wish, Vec<TaskRow>> = BTreeMap::new();
        for (wish, answer) in self.wishes.keys().zip(&answers) {
            found.insert(wish, best_first(answer, damaged)?);
        }
        let list = |query: &ClaimQuery| {
            let tasks = found.get(&wish(query)).map_or(&[][..], Vec::as_slice);
            let free = tasks.iter().filter(|task| !query.busy.contains(&task.id));
            free.take(query.limit).cloned().collect()
        };
        Ok(self.queries.iter().map(list).collect())
    }

    /// The pairs of queue and type of each combination. A claim for any type gets all types that
    /// exist.
    async fn pairs(
        &self,
        connection: &Connection,
    ) -> Result<Vec<BTreeSet<(String, String)>>, QueryError> {
        let any = self.wishes.keys().filter(|(_, types)| types.is_empty());
        let queues: BTreeSet<&String> = any.flat_map(|(queues, _)| queues).collect();
        let mut names: BTreeMap<String, Vec<String>> = BTreeMap::new();
        if !queues.is_empty() {
            let queues: Vec<_> = queues.into_iter().map(|queue| text(queue)).collect();
            let answer = connection.one(NAMES, values![queues]).await?;
            for (queue, name) in answer.read(|row| Ok((row.text(0)?, row.text(1)?)))? {
                names.entry(queue).or_default().push(name);
            }
        }
        let pairs = |(queues, types): &Wish| {
            let mut pairs = BTreeSet::new();
            for queue in queues {
                let known = names.get(queue).map_or(&[][..], Vec::as_slice);
                let types = if types.is_empty() { known } else { types };
                pairs.extend(types.iter().map(|name| (queue.clone(), name.clone())));
            }
            pairs
        };
        Ok(self.wishes.keys().map(pairs).collect())
    }
}

fn wish(query: &ClaimQuery) -> Wish {
    let sorted = |names: &[String]| names.iter().cloned().collect::<BTreeSet<_>>();
    let mut queues = sorted(&query.queues);
    if queues.is_empty() {
        queues.insert(String::new());
    }
    (queues.into_iter().collect(), sorted(&query.types).into_iter().collect())
}

fn ready(pairs: &BTreeSet<(String, String)>, now: Timestamp, limit: usize) -> Call<'_> {
    let pairs: Vec<_> = pairs.iter().collect();
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    // The priorities of one pair come in order; those of several pairs must all be read.
    let all = if pairs.len() > 1 { i64::MAX } else { limit };
    let mut params = arrays!(pairs, |pair| [text(&pair.0), text(&pair.1)]);
    params.extend(values![now.as_millis(), limit, all]);
    Call::new(READY, params)
}

fn best_first(
    answer: &QueryAnswer,
    damaged: &mut Vec<(TaskId, String)>,
) -> Result<Vec<TaskRow>, Error> {
    let mut tasks = task::read_lenient(answer, damaged)?;
    tasks.sort_by_key(|task| (std::cmp::Reverse(task.spec.priority), task.available_at, task.id));
    Ok(tasks)
}
