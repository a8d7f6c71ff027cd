//! The PostgreSQL store: one database, any number of nodes.
//!
//! ```text
//!   take ──► BEGIN, lock the instances (SKIP LOCKED), read them, their inboxes, ready tasks
//!     │         the transaction stays open on its connection and travels with the result
//!     ▼
//!   commit ──► advisory locks, what the plan asks for ──► settle ──► arrays by table ──► COMMIT
//!                            one round trip            in memory      one round trip     one
//!   lists, timers, recovery ──► pool of connections for reads
//!   tell ──► pg_notify, after the commit ──► one connection that listens
//! ```
//!
//! Nothing of a turn waits for a row of another: instances and tasks that are locked are passed
//! over, each commit marks a row of its own, and advisory locks are taken together and in order. So
//! nodes, and batches of one node, cannot block each other for good. What makes it safe are fences:
//! `turn_no` and `claims`, read under the lock and again in the WHERE clause of the write (I2, I5).
//!
//! Statements are written so that one plan is good for every size of a table: arrays come first and
//! rows are found by their key (`LATERAL … OFFSET 0`, or a `ctid` that a subquery found). A test
//! looks at every plan, because tables that work like queues are often empty when the server looks
//! at them.
//!
//! All work runs on one thread of the store's own, so it can be called from any executor. Each
//! stored entity has a file with its SQL at the top. Nothing here decides: the conditional parts of
//! a plan are settled by the kernel's pure code.

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
