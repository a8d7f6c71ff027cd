//! Conversions between kinds of values.
//!
//! `as` converts, controlled by a schema; at typed positions a value converts implicitly if nothing
//! is lost. Null, arrays, objects and functions never convert.

mod binary;
mod convert;
mod kind;
mod number;
mod schema;
mod temporal;
mod text;

pub(crate) use binary::{decode, encode};
pub(crate) use kind::{auto, auto_text, to_boolean, to_kind, to_text, with_metadata};
