//! Cron expressions (S13).
//!
//! Five fields — minute, hour, day of month, month, day of week — or six with seconds in front:
//!
//! | field | values | also |
//! |---|---|---|
//! | second, minute | 0-59 | |
//! | hour | 0-23 | |
//! | day of month | 1-31 | `L` last day, `L-2` two days before, `?` as `*` |
//! | month | 1-12 or `JAN`-`DEC` | |
//! | day of week | 0-7 or `SUN`-`SAT` | `FRI#2` second Friday, `FRIL` last Friday, `?` |
//!
//! Sunday is 0 and 7. Every field takes `*`, lists `1,2`, ranges `1-5` and steps `*/5`, `1-30/5`,
//! `10/5` (from 10 to the end); letters may be in either case. `@yearly`, `@annually`, `@monthly`,
//! `@weekly`, `@daily`, `@midnight` and `@hourly` stand for the usual expressions.
//!
//! **Days.** A day field is restricted when it is anything but `*` or `?`. If both day fields are
//! restricted, a day matches when either does; otherwise it must match both.
//!
//! **Clock changes.** If the hour field is made of plain hours, lists and ranges, the expression
//! names *local times*: one that does not exist fires once, at the first instant after the gap (and
//! several that fall into the same gap fire once together); one that occurs twice fires on the
//! first pass only. If the hour field has a `*` or a step, the expression follows *elapsed time*:
//! whatever local clocks show and matches fires, in both passes, and skipped times do not exist.
//!
//! Invariant: a [`Cron`] matches at least one day in every 400 years. One that never does is
//! refused when it is read.

mod calendar;
mod expression;
mod parse;
mod series;

pub use expression::Cron;
