//! The functions of this module.

use super::super::native::Native;
use super::{array, document, function, moment, number, object, order, text};

pub(crate) const FUNCTIONS: &[&[Native]] = &[
    array::FUNCTIONS,
    document::FUNCTIONS,
    function::FUNCTIONS,
    moment::FUNCTIONS,
    number::FUNCTIONS,
    object::FUNCTIONS,
    order::FUNCTIONS,
    text::FUNCTIONS,
];
