//! What the store can do without an engine: plain prepared statements, full durability.
//!
//! - **J**, *appended*: the write set of a one-task instance in three commits, in groups of 64.
//! - **B**, *random*: transitions of instances that are picked at random, in batches of 1,000.
//!
//! The tables are like the engine's, with nothing that the statements do not need. On PostgreSQL
//! they are called JP and BP.

mod measure;
mod postgres;
mod sqlite;

pub(crate) use measure::{appended, appended_log_bytes, random};
