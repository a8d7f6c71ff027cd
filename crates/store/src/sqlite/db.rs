//! A connection as the entities see it: cached statements, counted, with the store's errors.

use std::cell::Cell;

use meantime_core::{EffectKey, InstanceId, Timestamp};
use meantime_kernel::store::Error;
use rusqlite::types::FromSql;
use rusqlite::{Connection, Params, Row};

use super::error::{damaged, from_sqlite};

/// A connection inside a transaction.
pub(super) struct Db<'a> {
    connection: &'a Connection,
    statements: Cell<u64>,
}

impl<'a> Db<'a> {
    pub(super) fn new(connection: &'a Connection) -> Self {
        Self { connection, statements: Cell::new(0) }
    }

    /// How many statements were executed through this value.
    pub(super) fn statements(&self) -> u64 {
        self.statements.get()
    }

    /// Runs a statement and says how many rows it changed.
    pub(super) fn run(&self, sql: &str, params: impl Params) -> Result<usize, Error> {
        self.statements.set(self.statements.get() + 1);
        let mut statement = self.connection.prepare_cached(sql).map_err(|e| from_sqlite(&e))?;
        statement.execute(params).map_err(|e| from_sqlite(&e))
    }

    /// The first row, if there is one.
    pub(super) fn first<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnOnce(&Columns<'_, '_>) -> Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        self.statements.set(self.statements.get() + 1);
        let mut statement = self.connection.prepare_cached(sql).map_err(|e| from_sqlite(&e))?;
        let mut rows = statement.query(params).map_err(|e| from_sqlite(&e))?;
        let row = rows.next().map_err(|e| from_sqlite(&e))?;
        row.map(|row| read(&Columns(row))).transpose()
    }

    /// Rows until there are `limit`; `read` leaves out those it returns nothing for.
    pub(super) fn some<T>(
        &self,
        sql: &str,
        params: impl Params,
        limit: usize,
        mut read: impl FnMut(&Columns<'_, '_>) -> Result<Option<T>, Error>,
    ) -> Result<Vec<T>, Error> {
        let mut found = Vec::new();
        if limit == 0 {
            return Ok(found);
        }
        self.statements.set(self.statements.get() + 1);
        let mut statement = self.connection.prepare_cached(sql).map_err(|e| from_sqlite(&e))?;
        let mut rows = statement.query(params).map_err(|e| from_sqlite(&e))?;
        while found.len() < limit
            && let Some(row) = rows.next().map_err(|e| from_sqlite(&e))?
        {
            found.extend(read(&Columns(row))?);
        }
        Ok(found)
    }

    /// All rows.
    pub(super) fn all<T>(
        &self,
        sql: &str,
        params: impl Params,
        mut read: impl FnMut(&Columns<'_, '_>) -> Result<T, Error>,
    ) -> Result<Vec<T>, Error> {
        self.some(sql, params, usize::MAX, |row| read(row).map(Some))
    }
}

/// The columns of a row, read by number in the order of the SELECT.
pub(super) struct Columns<'r, 's>(&'r Row<'s>);

impl Columns<'_, '_> {
    pub(super) fn get<T: FromSql>(&self, column: usize) -> Result<T, Error> {
        self.0.get(column).map_err(|e| from_sqlite(&e))
    }

    /// A column whose stored form another type reads.
    pub(super) fn parsed<T, E: std::fmt::Display>(
        &self,
        column: usize,
        table: &str,
        parse: impl FnOnce(&[u8]) -> Result<T, E>,
    ) -> Result<T, Error> {
        let value = self.0.get_ref(column).map_err(|e| from_sqlite(&e))?;
        let bytes = value.as_bytes_or_null().map_err(|e| damaged(table, e))?.unwrap_or_default();
        parse(bytes).map_err(|e| damaged(table, e))
    }

    /// A packed column.
    pub(super) fn unpacked<T: for<'b> minicbor::Decode<'b, ()>>(
        &self,
        column: usize,
        table: &str,
    ) -> Result<T, Error> {
        self.parsed(column, table, |bytes| minicbor::decode(bytes))
    }

    /// A packed column that may be NULL.
    pub(super) fn unpacked_if<T: for<'b> minicbor::Decode<'b, ()>>(
        &self,
        column: usize,
        table: &str,
    ) -> Result<Option<T>, Error> {
        self.parsed(column, table, |bytes| {
            if bytes.is_empty() { Ok(None) } else { minicbor::decode(bytes).map(Some) }
        })
    }

    pub(super) fn number(&self, column: usize) -> Result<u64, Error> {
        self.get::<i64>(column).map(i64::cast_unsigned)
    }

    pub(super) fn count(&self, column: usize, table: &str) -> Result<u32, Error> {
        u32::try_from(self.get::<i64>(column)?).map_err(|e| damaged(table, e))
    }

    pub(super) fn instant(&self, column: usize, table: &str) -> Result<Timestamp, Error> {
        Timestamp::try_from_millis(self.get(column)?).map_err(|e| damaged(table, e))
    }

    pub(super) fn instant_if(
        &self,
        column: usize,
        table: &str,
    ) -> Result<Option<Timestamp>, Error> {
        let millis: Option<i64> = self.get(column)?;
        let instant = millis.map(Timestamp::try_from_millis).transpose();
        instant.map_err(|e| damaged(table, e))
    }

    /// An instance's id from its two columns.
    pub(super) fn instance(&self, ord: usize, random: usize) -> Result<InstanceId, Error> {
        Ok(InstanceId::new(self.number(ord)?, self.number(random)?))
    }

    /// An effect key from `ord, turn_no, ordinal, random`, in that order.
    pub(super) fn effect(&self, first: usize, table: &str) -> Result<EffectKey, Error> {
        let instance = self.instance(first, first + 3)?;
        Ok(instance.effect(self.number(first + 1)?, self.count(first + 2, table)?))
    }
}

/// A number as SQLite stores it. The numbers we count stay far below 2^63; random parts use every
/// bit and keep it.
pub(super) const fn int(number: u64) -> i64 {
    number.cast_signed()
}

/// The first part of an id.
pub(super) const fn ord(id: InstanceId) -> i64 {
    int(id.order())
}

/// The second part of an id.
pub(super) const fn random(id: InstanceId) -> i64 {
    int(id.random())
}

/// Packs a value. Encoding into a Vec cannot fail.
pub(super) fn packed<T: minicbor::Encode<()>>(value: &T) -> Vec<u8> {
    minicbor::to_vec(value).unwrap_or_default()
}

pub(super) fn millis(instant: Option<Timestamp>) -> Option<i64> {
    instant.map(Timestamp::as_millis)
}
