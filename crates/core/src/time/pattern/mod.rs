//! Dates and times as text by a pattern such as `yyyy-MM-dd HH:mm`.
//!
//! There is one parser and one writer of patterns. Languages differ in the letters they have
//! ([`Alphabet`]): expressions of journeys have all letters of Java's patterns, flow scripts the
//! few that most languages share, and refuse the others by their place.

mod instant;
mod names;
mod parse;
mod write;

pub use names::{CalendarNames, MONTH_NAMES, WEEKDAY_NAMES};
pub use parse::{Alphabet, DatePattern, DatePatternError, DatePatternPart, DatePatternProblem};
pub use write::{DateFields, MissingDateField};
