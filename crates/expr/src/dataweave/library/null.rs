//! What many functions do with null: nothing.

use super::super::eval::{Eval, Result};
use super::native::{Args, Overload, Param};
use crate::value::Value;

pub(super) const NULL_1: Overload = Overload::new(&[Param::NULL], null);
pub(super) const NULL_2: Overload = Overload::new(&[Param::NULL, Param::ANY], null);
pub(super) const NULL_3: Overload =
    Overload::new(&[Param::NULL, Param::ANY, Param::ANY], null).optional(1);

pub(super) const FALSE_1: Overload = Overload::new(&[Param::NULL], no);
pub(super) const FALSE_2: Overload = Overload::new(&[Param::NULL, Param::ANY], no);

#[expect(clippy::unnecessary_wraps, reason = "the shape of every library function")]
fn null(_: &mut Eval<'_>, _: Args) -> Result {
    Ok(Value::Null)
}

#[expect(clippy::unnecessary_wraps, reason = "the shape of every library function")]
fn no(_: &mut Eval<'_>, _: Args) -> Result {
    Ok(Value::Bool(false))
}
