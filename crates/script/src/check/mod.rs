//! Checks of a script before it runs.
//!
//! `names` resolves every name, which the compiler also needs; the other checks only report. All
//! problems of a file are reported at once.

mod argument;
mod awaits;
mod call;
mod jump;
mod names;
mod receiver;
mod resolve;
mod scope;
mod similar;

pub(crate) use argument::{LiteralTimer, TimerLiteral};
pub(crate) use names::check;
pub(crate) use scope::{Analysis, Decl, DeclId, DeclKind, NameUse};
pub(crate) use similar::closest;
