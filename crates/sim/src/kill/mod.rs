//! The kill rig (P1 to P3): a process under load is killed at random moments, another one takes
//! over the same store, and nothing that was acknowledged may be lost or doubled.
//!
//! ```text
//!   client (this process) ── requests, lines of JSON ─► node (its own process) ──► store
//!      │ records              ◄── answers ────────────      │ kill -9
//!      │ acknowledgements                                   ▼
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
