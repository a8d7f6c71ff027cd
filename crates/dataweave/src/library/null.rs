//! The overloads for null, which return null or false.

use meantime_value::Value;

use super::super::eval::{Eval, Result};
use super::native::{Args, Overload, Param};

pub(super) const NULL_1: Overload = Overload::new(&[Param::NULL], null);
pub(super) const NULL_2: Overload = Overload::new(&[Param::NULL, Param::ANY], null);
pub(super) const NULL_3: Overload =
    Overload::new(&[Param::NULL, Param::ANY, Param::ANY], null).optional(1);

pub(super) const FALSE_1: Overload = Overload::new(&[Param::NULL], no);
pub(super) const FALSE_2: Overload = Overload::new(&[Param::NULL, Param::ANY], no);

fn null(_: &mut Eval<'_>, _: &mut Args) -> Result {
    Ok(Value::Null)
}

fn no(_: &mut Eval<'_>, _: &mut Args) -> Result {
    Ok(Value::Bool(false))
}
