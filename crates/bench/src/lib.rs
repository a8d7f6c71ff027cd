//! `meantime bench`: reproducible load, with figures that can be compared between machines.
//!
//! ```text
//!   baseline (no engine, plain statements) ──► J, B
//!   scenario (kernel in process, real store) ─► figure ─► ratio to J or B ─► ok or miss
//! ```
//!
//! Machines differ and are noisy, so every target is a ratio to a baseline of the same run, or a
//! time that users notice. Figures count what was committed and synced: [`observed_store`] sits
//! between kernel and store and counts only that.

mod args;
mod baseline;
mod bench_store;
mod child;
mod child_process;
mod clock;
mod database;
mod http;
mod kernel_rig;
mod machine;
mod manual_driver;
mod notation;
mod observed_store;
mod process;
mod progress;
mod report;
mod sample;
mod scenario;
mod session;
mod starters;
mod table;
mod wal_pages;
mod workers;

pub use args::{Bench, OutputFormat};
pub use child::BenchChild;
pub use report::BenchOutput;
