//! Stored answers by idempotency key.

use std::collections::{BTreeMap, BTreeSet};

use meantime_kernel::store::{AnswerRow, Error};

use super::connection::{Call, QueryAnswer, arrays, values};
use super::text::text;
use crate::row::answer::{columns, read};
use crate::row::{id_order, id_random, int};

const PUT: &str = concat!(
    "INSERT INTO answer (",
    columns!(),
    ") SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[]) \
     ON CONFLICT (key) DO UPDATE SET request = excluded.request, id_order = excluded.id_order, \
     id_random = excluded.id_random, expires_at = excluded.expires_at"
);
const GET: &str = concat!("SELECT ", columns!(), " FROM answer WHERE key = ANY ($1::text[])");

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[PUT, GET];

pub(super) fn put<'a>(rows: &BTreeMap<&'a str, &'a AnswerRow>) -> Option<Call<'a>> {
    let rows: Vec<&'a AnswerRow> = rows.values().copied().collect();
    let params = arrays!(rows, |row| [
        text(&row.key),
        int(row.request),
        id_order(row.instance),
        id_random(row.instance),
        row.expires_at.as_millis(),
    ]);
    (!rows.is_empty()).then(|| Call::new(PUT, params))
}

pub(super) fn get(keys: &BTreeSet<String>) -> Call<'_> {
    let keys: Vec<_> = keys.iter().map(|key| text(key)).collect();
    Call::new(GET, values![keys])
}

pub(super) fn read_rows(answer: &QueryAnswer) -> Result<BTreeMap<String, AnswerRow>, Error> {
    let rows = answer.read(read)?;
    Ok(rows.into_iter().map(|row| (row.key.clone(), row)).collect())
}
