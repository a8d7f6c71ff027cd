//! The machine on tokio, with a real clock and a real store.
//!
//! ```text
//!   Kernel (handle) ── commands ──► loop ── Fetch, Commit, reads ─► store
//!        ▲                          │  ▲ ── Advance ──────────────► compute pool
//!        └──────── replies ─────────┘  └── answers, the one sleep, engine tasks
//! ```
//!
//! One thread owns the machine. It takes all inputs that have arrived, performs the outputs of the
//! machine, and sleeps until the next message or due time (I12). The task `maintenance` runs
//! retention. `advance` moves a virtual clock.

mod advance;
mod compute;
mod cost;
mod handle;
mod heartbeat;
mod maintenance;
mod run;
mod slow_lane;
mod thread_time;

pub use advance::Advanced;
pub use handle::{Builder, DeployError, EngineTasks, Kernel, StoreHealth};
pub use maintenance::MaintenanceStats;
pub use run::ClockStep;
