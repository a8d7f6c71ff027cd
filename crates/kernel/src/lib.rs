//! The kernel: the one machine that owns time.
//!
//! [`machine`] performs no IO: inputs in, store requests, replies and wake-ups out. [`driver`] runs
//! it on tokio with a real clock; the simulator runs the same machine. [`store`] is the trait
//! behind which state is kept. The kernel knows no notation and no SQL.

pub mod admission;
pub mod clock;
pub mod command;
pub mod compaction;
pub mod driver;
pub mod explain;
pub mod fault_injection;
pub mod history;
mod idempotency;
pub mod machine;
pub mod open;
pub mod pause;
pub mod random;
pub mod schedule;
pub mod store;
pub mod thread_priority;
