//! Types: what they are, how they are written, and whether a value is of one.

mod check;
mod model;
mod text;

pub(crate) use check::is_instance_of;
pub(crate) use model::{Field, Parameter, Shape, Type, TypeTable};
