//! `dw::Core`: visible everywhere.

mod array;
mod document;
mod function;
mod moment;
mod number;
mod object;
mod order;
mod text;

use super::native::Native;

pub(super) const FUNCTIONS: &[&[Native]] = &[
    array::FUNCTIONS,
    document::FUNCTIONS,
    function::FUNCTIONS,
    moment::FUNCTIONS,
    number::FUNCTIONS,
    object::FUNCTIONS,
    order::FUNCTIONS,
    text::FUNCTIONS,
];
