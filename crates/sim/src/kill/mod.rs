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
mod hasty;
mod node;
mod partner;
mod place;
mod protocol;
mod run;

pub use node::run_node;
pub use place::{Kind, Place};
pub use run::{KillReport, Rounds, kill_rounds};
