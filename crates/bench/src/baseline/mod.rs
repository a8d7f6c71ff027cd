//! Baselines: what the store achieves without an engine, with plain prepared statements and full
//! durability.
//!
//! - **J**, *appended*: the write set of a one-task instance in three commits, in groups of 64.
//! - **B**, *random*: transitions of instances that are picked at random, in batches of 1,000.
//!
//! The tables are like the engine's, reduced to the columns that the statements need. On PostgreSQL
//! the baselines are called JP and BP.

mod measure;
mod postgres;
mod sqlite;

pub(crate) use measure::{appended, appended_log_bytes, random};
