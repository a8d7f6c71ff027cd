//! Checks for damage that no single table shows. The server itself checks its pages.

use std::collections::{BTreeMap, BTreeSet};

use meantime_core::{DefinitionId, InstanceId, TaskId};
use meantime_kernel::open::Key;
use meantime_kernel::store::{
    Class, DefinitionFilter, DefinitionRow, Error, InstanceRow, TimerKey, TimerRow,
};

use super::connection::{Connection, QueryError, values};
use super::{definition, instance, instance_count, task, timer};
use crate::row::instance::{columns, read};
use crate::row::table::Table;
use crate::row::timer::read_key;
use crate::row::{Columns, id_order};

const LIVE: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM instance AS i WHERE i.ended_at IS NULL AND i.id_order > $1 ORDER BY i.id_order LIMIT $2"
);
const TIMERS: &str = "SELECT id_order, turn_no, ordinal, id_random, frozen, due_at FROM timer \
     WHERE (frozen, due_at, id_order, turn_no, ordinal) > ($1, $2, $3, $4, $5) \
     ORDER BY frozen, due_at, id_order, turn_no, ordinal LIMIT $6";
const INBOX: &str =
    "SELECT DISTINCT id_order, id_random FROM inbox WHERE id_order > $1 ORDER BY id_order LIMIT $2";

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[LIVE, TIMERS, INBOX];

/// The largest number of reported problems; further ones show up after a repair.
const LIMIT: usize = 100;

/// Rows that are examined together.
const STRIDE: i64 = 1_000;

/// Every problem as a line of text. Damage is a result, not an error. The connection is inside a
/// transaction that sees one state.
pub(super) async fn check(connection: &Connection) -> Result<Vec<String>, Error> {
    let mut problems = Vec::new();
    for part in Part::ALL {
        let done = match part {
            Part::Instances => instances(connection, &mut problems).await,
            Part::Timers => timers(connection, &mut problems).await,
            Part::Inboxes => inboxes(connection, &mut problems).await,
            Part::Undecodable => undecodable(connection, &mut problems).await,
            Part::Counts => instance_count::check(connection, &mut problems).await,
        };
        match done {
            Err(failure) if failure.error.class() == Class::Corrupt => {
                problems.push(failure.error.to_string());
            }
            done => done?,
        }
    }
    problems.truncate(LIMIT);
    Ok(problems)
}

#[derive(Clone, Copy)]
enum Part {
    Instances,
    Timers,
    Inboxes,
    Undecodable,
    Counts,
}

impl Part {
    const ALL: [Self; 5] =
        [Self::Instances, Self::Timers, Self::Inboxes, Self::Undecodable, Self::Counts];
}

/// Everything that a live instance waits for must exist.
async fn instances(connection: &Connection, problems: &mut Vec<String>) -> Result<(), QueryError> {
    let mut after = -1_i64;
    while problems.len() < LIMIT {
        let found = connection.one(LIVE, values![after, STRIDE]).await?;
        let mut owners = Vec::new();
        let mut last = None;
        for row in &found.rows {
            let id = row.instance(0, 1)?;
            last = Some(id);
            match read(row) {
                Ok(owner) => owners.push(owner),
                // One damaged row must not hide the others.
                Err(error) if error.class() == Class::Corrupt => {
                    problems.push(format!("{id}: {error}"));
                }
                Err(error) => return Err(error.into()),
            }
        }
        let Some(last) = last else { break };
        after = id_order(last);
        let open = |owner: &InstanceRow| {
            let timers = owner.open.timers.iter();
            timers.map(|(key, open)| open.row_key(key.of(owner.id))).collect::<Vec<_>>()
        };
        let keys: Vec<TimerKey> = owners.iter().flat_map(open).collect();
        let armed: BTreeSet<TimerKey> =
            timer::get(connection, &keys).await?.iter().map(TimerRow::key).collect();
        problems.extend(
            keys.iter().filter(|key| !armed.contains(key)).map(|key| {
                format!("{}: the open timer {} has no row", key.id.0.instance, key.id.0)
            }),
        );
        let tasks = |owner: &InstanceRow| {
            owner.open.tasks.keys().map(|key| TaskId(key.of(owner.id))).collect::<Vec<_>>()
        };
        let ids: Vec<TaskId> = owners.iter().flat_map(tasks).collect();
        let answers = connection.run(&[task::which(&ids)]).await?;
        let there = answers.first().map(task::read_ids).transpose()?.unwrap_or_default();
        let there: BTreeSet<TaskId> = there.into_iter().collect();
        problems.extend(
            ids.iter()
                .filter(|id| !there.contains(id))
                .map(|id| format!("{}: the open task {} has no row", id.0.instance, id.0)),
        );
    }
    Ok(())
}

/// Every armed timer must be in the open list of its instance.
async fn timers(connection: &Connection, problems: &mut Vec<String>) -> Result<(), QueryError> {
    let mut after = (false, i64::MIN, -1_i64, -1_i64, -1_i64);
    while problems.len() < LIMIT {
        let (frozen, due_at, id_order_after, turn_no, ordinal) = after;
        let values = values![frozen, due_at, id_order_after, turn_no, ordinal, STRIDE];
        let keys = connection.one(TIMERS, values).await?.read(read_key)?;
        let Some((_, last)) = keys.last() else { break };
        let (frozen, due_at, id_order, turn_no, ordinal, _) = crate::row::timer::key_columns(*last);
        after = (frozen, due_at, id_order, turn_no, i64::from(ordinal));
        let ids: BTreeSet<InstanceId> = keys.iter().map(|(id, _)| *id).collect();
        let owners = owners(connection, &ids).await?;
        for (id, key) in keys {
            if owners.get(&id).is_some_and(|owner| owner.meta.damaged.is_some()) {
                // It has been reported already.
                continue;
            }
            let entry = Key::from(key.id.0);
            let is_open = owners.get(&id).is_some_and(|owner| {
                !owner.phase.is_ended()
                    && owner.open.timers.get(&entry).is_some_and(|it| it.row_key(key.id.0) == key)
            });
            if !is_open {
                problems.push(format!("{id}: the timer {} is armed and not open", key.id));
            }
        }
    }
    Ok(())
}

/// Every inbox must belong to a live instance.
async fn inboxes(connection: &Connection, problems: &mut Vec<String>) -> Result<(), QueryError> {
    let mut after = -1_i64;
    while problems.len() < LIMIT {
        let found = connection.one(INBOX, values![after, STRIDE]).await?;
        let ids = found.read(|row| row.instance(0, 1))?;
        let Some(last) = ids.last() else { break };
        after = id_order(*last);
        let answers = connection.run(&[instance::live(&ids)]).await?;
        let live = answers.first().map(|it| it.read(|row| row.instance(0, 1))).transpose()?;
        let live = live.unwrap_or_default();
        problems.extend(
            ids.iter()
                .filter(|id| !live.contains(id))
                .map(|id| format!("{id}: events wait for an instance that has ended")),
        );
    }
    Ok(())
}

/// Every row that turns read must be decodable.
async fn undecodable(
    connection: &Connection,
    problems: &mut Vec<String>,
) -> Result<(), QueryError> {
    for table in Table::ALL {
        // A statement is prepared once, so each table has its own cursor.
        let (name, fetch) = match table {
            Table::Task => ("of_task", "FETCH 1000 FROM of_task"),
            Table::Inbox => ("of_inbox", "FETCH 1000 FROM of_inbox"),
            Table::Message => ("of_message", "FETCH 1000 FROM of_message"),
            Table::Incident => ("of_incident", "FETCH 1000 FROM of_incident"),
            Table::Definition => ("of_definition", "FETCH 1000 FROM of_definition"),
        };
        let select = table.select();
        connection.script(&format!("DECLARE {name} NO SCROLL CURSOR FOR {select}")).await?;
        loop {
            let found = connection.one(fetch, Vec::new()).await?;
            for row in &found.rows {
                problems.extend(table.problem(row)?);
            }
            if found.rows.is_empty() || problems.len() >= LIMIT {
                break;
            }
        }
        connection.script(&format!("CLOSE {name}")).await?;
    }
    Ok(())
}

/// Visits every live instance that can be read, with its definition.
pub(super) async fn visit_live(
    connection: &Connection,
    visit: &mut (dyn FnMut(&DefinitionRow, &InstanceRow) + Send),
) -> Result<(), QueryError> {
    let all = definition::list(connection, &DefinitionFilter::default()).await?;
    let definitions: BTreeMap<DefinitionId, DefinitionRow> =
        all.into_iter().map(|row| (row.id, row)).collect();
    let mut after = -1_i64;
    loop {
        let found = connection.one(LIVE, values![after, STRIDE]).await?;
        let Some(last) = found.rows.last() else { return Ok(()) };
        after = last.integer(0)?;
        // `check` reports rows that cannot be read.
        for instance in found.rows.iter().filter_map(|row| read(row).ok()) {
            if let Some(definition) = definitions.get(&instance.definition) {
                visit(definition, &instance);
            }
        }
    }
}

async fn owners(
    connection: &Connection,
    ids: &BTreeSet<InstanceId>,
) -> Result<BTreeMap<InstanceId, InstanceRow>, QueryError> {
    let ids: Vec<InstanceId> = ids.iter().copied().collect();
    let answers = connection.run(&[instance::get_all(&ids)]).await?;
    let rows = answers.first().map(instance::read_rows).transpose()?.unwrap_or_default();
    Ok(rows.into_iter().map(|row| (row.id, row)).collect())
}
