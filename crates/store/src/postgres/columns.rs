//! Rows of PostgreSQL, read as the shared code reads them.

use std::error::Error as StdError;

use meantime_kernel::store::Error;
use tokio_postgres::Row;
use tokio_postgres::types::{FromSql, Type};

use super::text::plain;
use crate::row::Columns;

/// An integer of any width.
struct Integer(i64);

impl<'a> FromSql<'a> for Integer {
    fn from_sql(kind: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn StdError + Sync + Send>> {
        match *kind {
            Type::INT4 => i32::from_sql(kind, raw).map(|it| Self(it.into())),
            _ => i64::from_sql(kind, raw).map(Self),
        }
    }

    fn accepts(kind: &Type) -> bool {
        matches!(*kind, Type::INT4 | Type::INT8)
    }
}

/// The bytes of text or binary data.
struct Bytes<'a>(&'a [u8]);

impl<'a> FromSql<'a> for Bytes<'a> {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn StdError + Sync + Send>> {
        Ok(Self(raw))
    }

    fn accepts(kind: &Type) -> bool {
        matches!(*kind, Type::TEXT | Type::BYTEA)
    }
}

impl Columns for Row {
    fn integer_if(&self, column: usize) -> Result<Option<i64>, Error> {
        let value: Option<Integer> = self.try_get(column).map_err(unreadable)?;
        Ok(value.map(|Integer(number)| number))
    }

    fn bytes_if(&self, column: usize) -> Result<Option<&[u8]>, Error> {
        let value: Option<Bytes<'_>> = self.try_get(column).map_err(unreadable)?;
        Ok(value.map(|Bytes(bytes)| bytes))
    }

    fn flag(&self, column: usize) -> Result<bool, Error> {
        self.try_get(column).map_err(unreadable)
    }

    fn text_if(&self, column: usize) -> Result<Option<String>, Error> {
        let value: Option<String> = self.try_get(column).map_err(unreadable)?;
        Ok(value.map(plain))
    }
}

#[expect(clippy::needless_pass_by_value, reason = "the shape that map_err wants")]
fn unreadable(error: tokio_postgres::Error) -> Error {
    Error::DamagedRow(error.to_string())
}
