//! The functions of this module.

use super::super::native::Native;
use super::{case, inflect, measure, part, shape};

pub(crate) const FUNCTIONS: &[&[Native]] =
    &[case::FUNCTIONS, inflect::FUNCTIONS, measure::FUNCTIONS, part::FUNCTIONS, shape::FUNCTIONS];
