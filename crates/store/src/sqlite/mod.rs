//! The SQLite store: one file, one writer thread, group commit.
//!
//! ```text
//!   commit(plan) ──► queue ──► writer thread: BEGIN, all queued plans, COMMIT (one sync)
//!        ▲                          │ answers each plan      │ log is long
//!        └──────── oneshot ─────────┘                        ▼
//!   take / lists ──► pool of read-only connections      checkpoint thread
//!   purge ──► sweep on a reader ──► the writer, behind the plans that wait
//!   backup ──► thread and connection of its own
//! ```
//!
//! Reads run on the caller's thread on a pooled connection, in a transaction of their own that sees
//! every commit that was answered before. The writer owns the only connection that writes, so no
//! lock is ever contended and `turn_no` in a WHERE clause is the whole fence (I2).
//!
//! Each stored entity has a file with its SQL at the top. Nothing here decides: the conditional
//! parts of a plan are settled by the kernel's pure code.

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
mod history;
mod identity;
mod inbox;
mod incident;
mod instance;
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
