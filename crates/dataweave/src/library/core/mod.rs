//! `dw::Core`: visible everywhere.

pub(super) mod array;
pub(super) mod document;
pub(super) mod function;
pub(super) mod moment;
pub(super) mod number;
pub(super) mod object;
pub(super) mod order;
pub(super) mod text;

pub(crate) use object::{entries_of, keys_of, names_of, values_of};
