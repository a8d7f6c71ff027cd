//! A connection for the entities: cached statements, counted, with the store's errors.

use std::cell::Cell;

use meantime_kernel::store::Error;
use rusqlite::{Connection, Params, Row};

use super::error::from_sqlite;
use crate::row::Columns;

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

    /// Runs a statement and returns how many rows it changed.
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
        read: impl FnOnce(&Row<'_>) -> Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        self.statements.set(self.statements.get() + 1);
        let mut statement = self.connection.prepare_cached(sql).map_err(|e| from_sqlite(&e))?;
        let mut rows = statement.query(params).map_err(|e| from_sqlite(&e))?;
        let row = rows.next().map_err(|e| from_sqlite(&e))?;
        row.map(read).transpose()
    }

    /// Reads up to `limit` rows; rows for which `read` returns `None` are skipped.
    pub(super) fn some<T>(
        &self,
        sql: &str,
        params: impl Params,
        limit: usize,
        mut read: impl FnMut(&Row<'_>) -> Result<Option<T>, Error>,
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
            found.extend(read(row)?);
        }
        Ok(found)
    }

    /// All rows.
    pub(super) fn all<T>(
        &self,
        sql: &str,
        params: impl Params,
        mut read: impl FnMut(&Row<'_>) -> Result<T, Error>,
    ) -> Result<Vec<T>, Error> {
        self.some(sql, params, usize::MAX, |row| read(row).map(Some))
    }
}

impl Columns for Row<'_> {
    fn integer_if(&self, column: usize) -> Result<Option<i64>, Error> {
        self.get(column).map_err(|e| from_sqlite(&e))
    }

    fn bytes_if(&self, column: usize) -> Result<Option<&[u8]>, Error> {
        let value = self.get_ref(column).map_err(|e| from_sqlite(&e))?;
        value.as_bytes_or_null().map_err(|e| Error::DamagedRow(e.to_string()))
    }

    fn flag(&self, column: usize) -> Result<bool, Error> {
        self.get(column).map_err(|e| from_sqlite(&e))
    }
}
