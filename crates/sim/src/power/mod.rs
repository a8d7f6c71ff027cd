//! The power rig (P11): what may a loss of power leave behind, and is everything that was
//! acknowledged still in it?
//!
//! ```text
//!   load on a kernel ─► SQLite ─► recorder: writes, truncations, syncs; acknowledgements beside
//!                                     │ cut at any point
//!                                     ▼
//!   image: what was synced, and of what was not: dropped, reordered, torn at 512 bytes
//!                                     │
//!                                     ▼
//!   open it, look for damage, audit; from time to time go on with it
//! ```

mod disk_image;
mod recording;
mod run;
mod sim_disk;

pub use recording::{Recording, record_load};
pub use run::{InjectedFault, PowerReport, cut_power};
