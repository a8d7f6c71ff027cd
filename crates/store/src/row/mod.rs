//! Conversion between rows and columns, the same for every database.
//!
//! A store reads columns in the order of the `columns!` of an entity, and passes them to `read`.
//! Values that no statement uses are packed as CBOR with numbered fields: these numbers are a
//! storage format and never change their meaning.

pub(crate) mod answer;
mod columns;
pub(crate) mod definition;
pub(crate) mod history;
pub(crate) mod inbox;
pub(crate) mod incident;
pub(crate) mod instance;
pub(crate) mod instance_count;
pub(crate) mod message;
pub(crate) mod occurrence;
pub(crate) mod operation;
pub(crate) mod subscription;
pub(crate) mod table;
pub(crate) mod task;
pub(crate) mod timer;
pub(crate) mod trigger_start;
mod value;

pub(crate) use columns::Columns;
pub(crate) use value::{damaged, id_order, id_random, int, millis, packed};
