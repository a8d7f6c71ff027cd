//! A row of a result, of any database.

use meantime_core::{EffectKey, InstanceId, Timestamp};
use meantime_kernel::store::Error;

use super::value::damaged;

/// The columns of a row, read by number in the order of the SELECT. A store implements the first
/// three functions; the others interpret the values.
pub(crate) trait Columns {
    /// An integer, or NULL.
    fn integer_if(&self, column: usize) -> Result<Option<i64>, Error>;

    /// Text or binary data, or NULL.
    fn bytes_if(&self, column: usize) -> Result<Option<&[u8]>, Error>;

    /// A boolean.
    fn flag(&self, column: usize) -> Result<bool, Error>;

    fn integer(&self, column: usize) -> Result<i64, Error> {
        let value = self.integer_if(column)?;
        value.ok_or_else(|| Error::DamagedRow(format!("column {column} of a row is NULL")))
    }

    fn text_if(&self, column: usize) -> Result<Option<String>, Error> {
        let text = self.bytes_if(column)?.map(|bytes| String::from_utf8(bytes.to_vec()));
        text.transpose().map_err(|e| Error::DamagedRow(format!("column {column} of a row: {e}")))
    }

    fn text(&self, column: usize) -> Result<String, Error> {
        let value = self.text_if(column)?;
        value.ok_or_else(|| Error::DamagedRow(format!("column {column} of a row is NULL")))
    }

    /// A column that another type parses; `None` for NULL.
    fn parsed<T, E: std::fmt::Display>(
        &self,
        column: usize,
        table: &str,
        parse: impl FnOnce(&[u8]) -> Result<T, E>,
    ) -> Result<T, Error> {
        parse(self.bytes_if(column)?.unwrap_or_default()).map_err(|e| damaged(table, e))
    }

    /// A column with one of a few names.
    fn named<T>(
        &self,
        column: usize,
        table: &str,
        known: impl FnOnce(&str) -> Option<T>,
    ) -> Result<T, Error> {
        self.parsed(column, table, |bytes| {
            let name = std::str::from_utf8(bytes).unwrap_or_default();
            known(name).ok_or_else(|| format!("nothing is called {name:?}"))
        })
    }

    /// A packed column.
    fn unpacked<T: for<'b> minicbor::Decode<'b, ()>>(
        &self,
        column: usize,
        table: &str,
    ) -> Result<T, Error> {
        self.parsed(column, table, |bytes| minicbor::decode(bytes))
    }

    /// A packed column that may be NULL.
    fn unpacked_if<T: for<'b> minicbor::Decode<'b, ()>>(
        &self,
        column: usize,
        table: &str,
    ) -> Result<Option<T>, Error> {
        self.parsed(column, table, |bytes| {
            if bytes.is_empty() { Ok(None) } else { minicbor::decode(bytes).map(Some) }
        })
    }

    fn number(&self, column: usize) -> Result<u64, Error> {
        self.integer(column).map(i64::cast_unsigned)
    }

    fn count(&self, column: usize, table: &str) -> Result<u32, Error> {
        u32::try_from(self.integer(column)?).map_err(|e| damaged(table, e))
    }

    fn instant(&self, column: usize, table: &str) -> Result<Timestamp, Error> {
        Timestamp::try_from_millis(self.integer(column)?).map_err(|e| damaged(table, e))
    }

    fn instant_if(&self, column: usize, table: &str) -> Result<Option<Timestamp>, Error> {
        let instant = self.integer_if(column)?.map(Timestamp::try_from_millis);
        instant.transpose().map_err(|e| damaged(table, e))
    }

    /// An instance's id from its two columns.
    fn instance(&self, id_order: usize, id_random: usize) -> Result<InstanceId, Error> {
        Ok(InstanceId::new(self.number(id_order)?, self.number(id_random)?))
    }

    /// An effect key from `id_order, turn_no, ordinal, id_random`, in that order.
    fn effect(&self, first: usize, table: &str) -> Result<EffectKey, Error> {
        let instance = self.instance(first, first + 3)?;
        Ok(instance.effect(self.number(first + 1)?, self.count(first + 2, table)?))
    }
}
