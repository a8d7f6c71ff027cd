//! The PostgreSQL store: one database, any number of nodes.
//!
//! ```text
//!   fetch ──► BEGIN, lock the instances (SKIP LOCKED), read them, their inboxes, ready tasks
//!     │         the transaction stays open on its connection and is part of the result
//!     ▼
//!   commit ──► advisory locks, lookups of the plan ──► resolve ──► arrays by table ──► COMMIT
//!                            one round trip         in memory      one round trip     one
//!   lists, timers, recovery ──► pool of connections for reads
//!   notify ──► pg_notify, after the commit ──► one connection that listens
//! ```
//!
//! No turn waits for a row of another: locked instances and tasks are skipped, each commit marks a
//! row of its own, and advisory locks are taken together and in order. So nodes, and batches of one
//! node, cannot deadlock. Safety comes from fences: `turn_no` and `claims`, read under the lock and
//! compared again in the WHERE clause of the write (I2, I5).
//!
//! Statements are written so that one plan suits every size of a table: arrays come first, and rows
//! are found by their key (`LATERAL … OFFSET 0`, or a `ctid` that a subquery found). A test
//! examines every plan, because tables that work like queues are often empty when the server
//! analyses them.
//!
//! All work runs on the store's own thread, so it can be called from any executor. Each stored
//! entity has a file with its SQL at the top. Nothing here decides: the conditional writes of a
//! plan are resolved by the kernel's pure code.

mod answer;
mod batch;
mod changes;
mod check;
mod claim;
mod clear_open;
mod clock;
#[cfg(any(test, feature = "cluster"))]
pub mod cluster;
mod columns;
mod commit;
mod compact;
mod connect;
mod connection;
mod core;
mod definition;
mod error;
mod examine;
mod feed;
mod fetch;
mod find;
mod history;
mod inbox;
mod incident;
mod instance;
mod instance_count;
mod instance_list;
mod instance_tag;
mod keyed;
mod lock;
mod message;
mod message_id;
mod migration;
mod monitor;
mod node;
mod node_lease;
mod notice;
mod occurrence;
mod operation;
mod options;
mod pool;
mod purge;
mod stats;
mod store;
mod subscription;
mod sweep;
mod task;
#[cfg(test)]
mod tests;
mod text;
mod timer;
mod tls;
mod tree;
mod trigger_start;

pub use options::{LeaseClock, Options};
pub use stats::Stats;
pub use store::PostgresStore;
