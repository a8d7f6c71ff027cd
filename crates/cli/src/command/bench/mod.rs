//! `meantime bench`: reproducible load, with figures that mean something on any machine.
//!
//! ```text
//!   baseline (no engine, plain statements) ──► J, B
//!   scenario (kernel in process, real store) ─► figure ─► ratio to J or B ─► ok or miss
//! ```
//!
//! Machines differ and are noisy, so every target is a ratio to a baseline from the same run, or
//! a time that people feel. Figures count what was committed and synced: [`watched`] sits between
//! kernel and store and sees nothing else.

mod args;
mod baseline;
mod by_hand;
mod clock;
mod database;
mod http;
mod load;
mod log_pages;
mod machine;
mod notation;
mod part;
mod partner;
mod percentile;
mod place;
mod process;
mod progress;
mod report;
mod rig;
mod scenario;
mod session;
mod table;
mod watched;
mod workers;

pub(crate) use args::Bench;
pub(crate) use part::BenchPart;
