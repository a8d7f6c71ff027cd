//! The machine on tokio, with a real clock and a real store.
//!
//! ```text
//!   Kernel (handle) ── commands ──► loop ── Take, Commit, reads ──► store
//!        ▲                          │  ▲ ── Advance ─────────────► compute pool
//!        └──────── replies ─────────┘  └── answers, the one sleep, engine tasks
//! ```
//!
//! One task owns the machine. It takes in everything that has arrived, then carries out what the
//! machine wants, and sleeps until the earliest of a message and a due instant (I12). A second
//! task, `housekeeping`, removes what is over and old enough. `advance` moves a virtual clock.

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
