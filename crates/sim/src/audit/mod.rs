//! What must be true of a store, whatever happened to the process or the machine before (P1 to P3).
//!
//! [`Acknowledged`] holds what clients were told. [`audit`] compares the whole store with it and,
//! with the [checkers](crate::checker), with itself. The kill rig and the power rig use it on every
//! store.

mod acknowledged;
mod check;
mod instance_summary;

pub use acknowledged::Acknowledged;
pub use check::{Audit, AuditPoint, audit};
