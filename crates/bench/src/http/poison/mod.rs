//! Poison: legal definitions and requests whose cost is high, made from a seed.
//!
//! ```text
//!   seed, kind, number ─► SeededChoice ─► variant: a definition, and what its clients send
//! ```
//!
//! A variant depends on nothing else, so `mapper-3` of a seed is the same in every run and with any
//! selection of kinds. Sizes are drawn so that some variants stay within the engine's budgets but
//! take long, and others exceed them.

mod api;
mod fan_out;
mod feel;
mod format;
mod journey;
mod mapper;
mod process;
mod regex;
mod request;
mod schedule;
mod schema;
mod script;
mod seeded_choice;
#[cfg(test)]
mod tests;
mod variant;

pub(crate) use variant::Kind;
pub(super) use variant::{PoisonVariant, VariantDefinition, variants};
