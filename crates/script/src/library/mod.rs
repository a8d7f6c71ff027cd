//! The global names of scripts: functions, namespaces, and methods of values.
//!
//! This is only the table; the implementations are in `vm::builtin` and `awaitable`.

mod function;
mod lookup;
mod method;
mod prototype;

pub(crate) use function::Builtin;
pub(crate) use lookup::{Global, Member, global, global_names, member, member_names};
pub(crate) use method::{Kind, Method};
pub(crate) use prototype::is_inherited;
