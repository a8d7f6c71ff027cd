//! Runs the kernel machine by hand: one thread, a clock that is moved, a store of any kind, and
//! crashes at a chosen commit, after it took effect and before anybody was told.

mod block_on;
mod flaky;
mod world;

pub use block_on::block_on;
pub use flaky::{Fault, FlakyStore};
pub use world::{Fate, SlowTurns, World};
