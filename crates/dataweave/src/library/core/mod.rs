//! `dw::Core`: visible everywhere.

mod array;
mod document;
mod function;
mod list;
mod moment;
mod number;
mod object;
mod order;
mod text;

pub(crate) use list::FUNCTIONS;
pub(crate) use object::{entries_of, keys_of, names_of, values_of};
