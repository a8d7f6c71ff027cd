//! The power rig (P11): whatever a loss of power leaves on the disk contains everything that was
//! acknowledged.
//!
//! ```text
//!   load on a kernel ─► SQLite ─► recorder: writes, truncations, syncs; acknowledgements beside
//!                                     │ cut at any point
//!                                     ▼
//!   image: everything synced, and some of the rest: dropped, reordered, torn at 512 bytes
//!                                     │
//!                                     ▼
//!   open it, check for damage, audit; sometimes continue to work on it
//! ```

mod disk_image;
mod recording;
mod run;
mod sim_disk;

pub use recording::{Recording, record_load};
pub use run::{InjectedFault, PowerReport, cut_power};
