//! Types: their values, their text, and checks of values.

mod check;
mod model;
mod text;

pub(crate) use check::is_instance_of;
pub(crate) use model::{Field, Parameter, Shape, Type, TypeTable};
