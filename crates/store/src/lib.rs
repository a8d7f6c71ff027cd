//! Durable stores behind the kernel's `Store` trait, and the conformance suite that they all pass.
//!
//! [`sqlite`] keeps everything in one file that one process owns, [`postgres`] in a database that
//! several nodes share. The feature `conformance` contains the cases that define the semantics of a
//! store; the kernel's in-memory store passes them too.

#[cfg(feature = "conformance")]
pub mod conformance;
mod migration;
pub mod postgres;
mod row;
mod search;
pub mod sqlite;
mod sweep;
