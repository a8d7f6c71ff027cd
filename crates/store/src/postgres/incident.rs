//! Open incidents.

use std::collections::BTreeSet;

use meantime_core::{Failure, IncidentId, InstanceId, Json};
use meantime_kernel::store::{Error, IncidentRow, Page};

use super::connection::{Call, Connection, QueryAnswer, QueryError, arrays, values};
use super::keyed::Keyed;
use super::text::text;
use crate::row::incident::{columns, read_lenient};
use crate::row::{id_order, id_random, packed};

const PUT: &str = concat!(
    "INSERT INTO incident (",
    columns!(),
    ") SELECT * FROM unnest($1::bytea[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[], \
     $6::text[], $7::text[], $8::text[], $9::bytea[]) ON CONFLICT (id) DO UPDATE \
     SET id_order = excluded.id_order, id_random = excluded.id_random, raised_at = \
     excluded.raised_at, \
     element = excluded.element, code = excluded.code, message = excluded.message, \
     data = excluded.data, cause = excluded.cause"
);
const DELETE: &str = "DELETE FROM incident WHERE id = ANY ($1::bytea[])";
const CLEAR: &str =
    "DELETE FROM incident WHERE id_order = ANY ($1::bigint[]) AND id_random = ANY ($2::bigint[])";
const GET: &str = concat!("SELECT ", columns!(), " FROM incident WHERE id = ANY ($1::bytea[])");
const LIST: &str =
    concat!("SELECT ", columns!(), " FROM incident WHERE id > $1 ORDER BY id LIMIT $2");
const OF_INSTANCE: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM incident WHERE id_order = $1 AND id_random = $2 AND id > $3 ORDER BY id LIMIT $4"
);

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[PUT, DELETE, CLEAR, GET, LIST, OF_INSTANCE];

/// The changes of a plan to incidents.
#[derive(Default)]
pub(super) struct Changes<'a> {
    rows: Keyed<IncidentId, &'a IncidentRow>,
    cleared: BTreeSet<InstanceId>,
}

impl<'a> Changes<'a> {
    pub(super) fn put(&mut self, row: &'a IncidentRow) {
        self.rows.put(row.id, row);
    }

    pub(super) fn delete(&mut self, id: IncidentId) {
        self.rows.delete(id);
    }

    pub(super) fn clear(&mut self, instance: InstanceId) {
        self.rows.forget(|_, row| row.instance == instance);
        self.cleared.insert(instance);
    }

    /// The statement about many rows comes first: it must not affect rows that the plan puts.
    pub(super) fn calls<'c>(&'c self, calls: &mut Vec<Call<'c>>) {
        if !self.cleared.is_empty() {
            let ids: Vec<_> = self.cleared.iter().collect();
            let params = arrays!(ids, |id| [id_order(**id), id_random(**id)]);
            calls.push(Call::new(CLEAR, params));
        }
        let ids = self.rows.deletes();
        if !ids.is_empty() {
            calls.push(Call::new(DELETE, arrays!(ids, |id| [id.to_bytes().to_vec()])));
        }
        let rows = self.rows.puts();
        if !rows.is_empty() {
            // An incident has an element; a trace belongs to the end of an instance.
            let params = arrays!(rows, |it| [
                it.1.id.to_bytes().to_vec(),
                id_order(it.1.instance),
                id_random(it.1.instance),
                it.1.raised_at.as_millis(),
                text(&it.1.element),
                text(&it.1.failure.code),
                text(&it.1.failure.message),
                data(&it.1.failure),
                packed(&it.1.cause),
            ]);
            calls.push(Call::new(PUT, params));
        }
    }
}

fn data(failure: &Failure) -> Option<&str> {
    failure.data.as_ref().map(Json::as_str)
}

pub(super) fn get(ids: &[IncidentId]) -> Call<'static> {
    Call::new(GET, arrays!(ids, |id| [id.to_bytes().to_vec()]))
}

pub(super) fn read_rows(answer: &QueryAnswer) -> Result<Vec<IncidentRow>, Error> {
    Ok(answer.read(read_lenient)?.into_iter().flatten().collect())
}

pub(super) async fn one(
    connection: &Connection,
    id: IncidentId,
) -> Result<Option<IncidentRow>, QueryError> {
    let answers = connection.run(&[get(&[id])]).await?;
    Ok(answers.first().map(read_rows).transpose()?.unwrap_or_default().pop())
}

/// A page of open incidents, oldest first.
pub(super) async fn list(
    connection: &Connection,
    instance: Option<InstanceId>,
    page: Page<IncidentId>,
) -> Result<Vec<IncidentRow>, QueryError> {
    // An empty value comes before every id.
    let after = page.after.map_or_else(Vec::new, |id| id.to_bytes().to_vec());
    let limit = i64::try_from(page.limit).unwrap_or(i64::MAX);
    let found = match instance {
        None => connection.one(LIST, values![after, limit]).await?,
        Some(id) => {
            connection.one(OF_INSTANCE, values![id_order(id), id_random(id), after, limit]).await?
        }
    };
    Ok(read_rows(&found)?)
}
