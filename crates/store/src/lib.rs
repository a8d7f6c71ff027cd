//! Durable stores behind the kernel's one trait, and the conformance suite they all pass.
//!
//! [`sqlite`] keeps everything in one file that one process owns, [`postgres`] in a database that
//! several nodes share. `conformance`, a feature, is the list of cases that fixes what a store
//! means; the kernel's in-memory store passes it too.

#[cfg(feature = "conformance")]
pub mod conformance;
mod migration;
pub mod postgres;
mod row;
pub mod sqlite;
mod sweep;
