//! Expressions and scripts of a model, in whichever language they are written.
//!
//! Text that begins with `=` is FEEL; `${…}` and `#{…}` are the flow language on the variables;
//! everything else is itself. Values cross every border as JSON: instants and durations are texts.

mod execution;
mod juel;
mod kind;
mod language;
mod read;
mod run;
mod template;

pub(crate) use kind::Expression;
pub(crate) use language::Language;
pub(crate) use run::{Environment, Evaluation, VariableScope};
