//! Time as pure arithmetic: instants, zones, durations, cycles, cron and their occurrences.
//!
//! Everything here is a function of its arguments. Nothing reads a clock, and time zones come from
//! the database compiled into the program, never from the host, so a preview, a firing, a forecast
//! and a simulation of the same rule cannot disagree (I6). Every function is total: invalid text
//! and instants out of range become a [`TimeError`], never a panic.
//!
//! A duration becomes an instant once, when it is armed (I4, T4); this module only computes the
//! sum.

mod backfill;
mod codec;
mod cron;
mod cycle;
mod error;
mod grid;
mod occurrence;
mod pattern;
mod rule;
mod span;
mod text_reader;
mod timestamp;
mod zone;

#[cfg(test)]
mod tests;

pub use backfill::Backfill;
pub use cron::Cron;
pub use cycle::Cycle;
pub use error::{Problem, TimeError};
pub use occurrence::{
    Occurrence, Occurrences, occurrence_at_or_after, occurrences, skipped, skipped_at_most,
};
pub use pattern::{
    Alphabet, CalendarNames, DateFields, DatePattern, DatePatternError, DatePatternPart,
    DatePatternProblem, MONTH_NAMES, MissingDateField, WEEKDAY_NAMES,
};
pub use rule::{First, Rule};
pub use span::Span;
pub use timestamp::Timestamp;
pub use zone::Zone;
