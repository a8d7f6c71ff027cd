//! Expressions and scripts of a model, in every supported language.
//!
//! A text that begins with `=` is FEEL; `${…}` and `#{…}` contain the flow language, with the
//! variables of the process; every other text is a literal. Values are exchanged as JSON: instants
//! and durations are texts.

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
