//! The kill rig (P1 to P3): a process under load is killed at random moments, another one takes
//! over the same store, and nothing that was acknowledged is lost or doubled.
//!
//! ```text
//!   client (this process) ── asks, lines of JSON ──► node (a process of its own) ──► store
//!      │ writes down          ◄── answers ──────────     │ kill -9
//!      │ what it was told                                ▼
//!      └── audit of the whole store after every kill ── the next node
//! ```
//!
//! Nothing sleeps: the moment of a kill is a number of answers, and the client waits for answers.

mod client;
mod early_ack_store;
mod node;
mod node_process;
mod protocol;
mod run;
mod store_location;

pub use node::run_node;
pub use run::{KillPlan, KillReport, kill_rounds};
pub use store_location::{StoreKind, StoreLocation};
