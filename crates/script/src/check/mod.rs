//! Everything that can be known about a script before it runs.
//!
//! `names` finds out what every name means, which the compiler needs as well; the other checks
//! only look. All problems of a file are reported at once.

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
pub(crate) use scope::{Analysis, DeclId, DeclKind, NameUse};
pub(crate) use similar::closest;
