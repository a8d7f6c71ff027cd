//! Whole worlds from a seed: kernels, a store, callers, workers and clocks, with everything that
//! can go wrong, on one thread and without waiting.

mod bed;
mod call;
mod chance;
mod clock;
mod errand;
mod journal;
mod life;
mod membership;
mod node;
mod programs;
mod recorder;
mod run;
mod setup;
mod story;
mod sweep;
mod tally;
mod workload;

pub use bed::Bed;
pub use chance::Chance;
pub use run::{Outcome, run};
pub use setup::{Family, Fault, Setup};
pub use sweep::{Failure, Swept, first_difference, setup, sweep, twice};
pub use tally::{Group, Tally};
