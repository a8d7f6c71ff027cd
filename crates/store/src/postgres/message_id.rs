//! Message ids that were seen.

use std::collections::{BTreeMap, BTreeSet};

use meantime_core::Timestamp;
use meantime_kernel::store::Error;

use super::connection::{Call, QueryAnswer, arrays, values};
use super::text::text;
use crate::row::Columns;

const PUT: &str = "INSERT INTO message_id (id, expires_at) \
     SELECT * FROM unnest($1::text[], $2::bigint[]) \
     ON CONFLICT (id) DO UPDATE SET expires_at = excluded.expires_at";
const KNOWN: &str = "SELECT id FROM message_id WHERE id = ANY ($1::text[]) AND expires_at > $2";

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[PUT, KNOWN];

pub(super) fn put<'a>(ids: &BTreeMap<&'a str, Timestamp>) -> Option<Call<'a>> {
    let ids: Vec<(&'a str, i64)> = ids.iter().map(|(id, at)| (*id, at.as_millis())).collect();
    let params = arrays!(ids, |it| [text(it.0), it.1]);
    (!ids.is_empty()).then(|| Call::new(PUT, params))
}

/// Which of the ids were seen and have not expired.
pub(super) fn known(ids: &BTreeSet<String>, now: Timestamp) -> Call<'_> {
    let ids: Vec<_> = ids.iter().map(|id| text(id)).collect();
    Call::new(KNOWN, values![ids, now.as_millis()])
}

pub(super) fn read_known(answer: &QueryAnswer) -> Result<BTreeSet<String>, Error> {
    Ok(answer.read(|row| row.text(0))?.into_iter().collect())
}
