//! What must be true of a store, whatever happened to the process or the machine before (P1 to P3).
//!
//! [`Acknowledged`] are what somebody outside was told; [`audit`] reads the whole store and holds it
//! against them and, with the [checkers](crate::checker), against itself. The rigs that kill
//! processes and cut the power share it, on every store.

mod acknowledged;
mod check;
mod instance_summary;

pub use acknowledged::Acknowledged;
pub use check::{Audit, AuditPoint, audit};
