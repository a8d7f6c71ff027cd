//! Making values of one kind into another.
//!
//! `as` converts and may be told how by a schema; at typed positions the same happens by itself
//! where nothing is lost. Null becomes nothing else, and neither do arrays, objects and functions.

mod binary;
mod convert;
mod kind;
mod number;
mod schema;
mod temporal;
mod text;

pub(crate) use binary::{decode, encode};
pub(crate) use kind::{auto, auto_text, to_boolean, to_kind, to_text, with_metadata};
