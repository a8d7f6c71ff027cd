//! Runs the kernel machine by hand: one thread, a clock that is moved, a store of any kind, and
//! crashes at a chosen commit, after it took effect and before anybody was told.

mod block_on;
mod flaky_store;
mod sim_kernel;

pub use block_on::block_on;
pub use flaky_store::{CommitFault, FlakyStore};
pub use sim_kernel::{CallStatus, SimKernel, SlowTurns};
