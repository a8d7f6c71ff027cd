//! Operations on the store as a whole.

use meantime_core::Timestamp;
use meantime_kernel::history::AuditInfo;
use meantime_kernel::store::{OperationKind, OperationRow, Page};

use super::connection::{Call, Connection, QueryError, values};
use super::text::text;
use crate::row::int;
use crate::row::operation::{columns, read};

// Rare: if two happen at once, one fails and is repeated.
const ADD: &str = "INSERT INTO operation (number, happened_at, kind, actor, reason) \
     SELECT coalesce(max(number), 0) + 1, $1, $2, $3, $4 FROM operation";
const LIST: &str =
    concat!("SELECT ", columns!(), " FROM operation WHERE number > $1 ORDER BY number LIMIT $2");

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[ADD, LIST];

pub(super) fn add(kind: OperationKind, at: Timestamp, audit: &AuditInfo) -> Call<'_> {
    Call::new(ADD, values![at.as_millis(), kind.name(), text(&audit.actor), text(&audit.reason)])
}

/// A page, oldest first.
pub(super) async fn list(
    connection: &Connection,
    page: Page<u64>,
) -> Result<Vec<OperationRow>, QueryError> {
    let after = int(page.after.unwrap_or_default());
    let limit = i64::try_from(page.limit).unwrap_or(i64::MAX);
    Ok(connection.one(LIST, values![after, limit]).await?.read(read)?)
}
