//! The simulator: kernels, a store, callers, workers, clocks and faults from one seed, on one
//! thread and without real waiting.

mod call;
mod clock;
mod commit_log;
mod coverage_counts;
mod describe;
mod lifecycle;
mod membership;
mod node;
mod programs;
mod randomness;
mod recording_notation;
mod run;
mod setup;
mod store_call;
mod store_fixture;
mod sweep;
mod workload;

pub use coverage_counts::{CountGroup, CoverageCounts};
pub use randomness::Randomness;
pub use run::{SeedOutcome, run_seed};
pub use setup::{FaultFamily, OperationFamily, SeedSetup};
pub use store_fixture::StoreFixture;
pub use sweep::{
    FailedSeed, SweepReport, first_differing_commit, run_seed_twice, seed_setup, sweep_seeds,
};
