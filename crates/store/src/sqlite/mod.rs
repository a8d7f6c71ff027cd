//! The SQLite store: one file, one writer thread, group commit.
//!
//! ```text
//!   commit(plan) ──► queue ──► writer thread: BEGIN, all queued plans, COMMIT (one sync)
//!        ▲                          │ answers each plan      │ log is long
//!        └──────── oneshot ─────────┘                        ▼
//!   fetch / lists ──► pool of read-only connections     checkpoint thread
//!   purge ──► sweep on a reader ──► the writer, after the plans that wait
//!   backup ──► its own thread and connection
//! ```
//!
//! Reads run on the caller's thread on a pooled connection, in their own transaction, which sees
//! every commit that was answered before. The writer owns the only connection that writes, so no
//! lock is ever contended, and comparing `turn_no` in the WHERE clause is a complete fence (I2).
//!
//! Each stored entity has a file with its SQL at the top. Nothing here decides: the conditional
//! writes of a plan are resolved by the kernel's pure code.

mod answer;
mod apply;
mod backup;
mod check;
mod checkpoint;
mod claim;
mod clear_open;
mod compact;
mod db;
mod definition;
mod error;
mod find;
#[cfg(feature = "fuzz")]
pub mod fuzz;
mod history;
mod identity;
mod inbox;
mod incident;
mod instance;
mod instance_count;
mod instance_list;
mod instance_tag;
mod message;
mod message_id;
mod migration;
mod node;
mod occurrence;
mod open;
mod operation;
mod options;
mod purge;
mod readers;
mod stats;
mod store;
mod subscription;
mod sweep;
mod task;
#[cfg(test)]
mod tests;
mod timer;
mod tree;
mod trigger_start;
mod wal_check;
mod writer;

pub use backup::{Progress, Restored};
pub use options::{Durability, Options};
pub use stats::Stats;
pub use store::SqliteStore;
