//! Runs the kernel machine on one thread with a simulated clock and any store, with crashes at a
//! chosen commit: after it took effect and before any caller was answered.

mod block_on;
mod flaky_store;
mod sim_kernel;

pub use block_on::block_on;
pub use flaky_store::{CommitFault, FlakyStore};
pub use sim_kernel::{CallStatus, SimKernel, SlowTurns};
