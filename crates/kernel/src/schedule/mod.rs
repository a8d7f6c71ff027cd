//! Schedules, as instances of a built-in definition.
//!
//! A schedule needs what every instance has: a durable timer, starts that happen once, an inbox for
//! operators, a history, a fence. So it *is* an instance, of the notation in this module: pure,
//! driven by the same turns, crashed by the same rigs. Its runs are its children; each start and
//! its ledger row are one commit (S2).

mod backfill;
mod change;
mod forecast;
mod notation;
mod outlook;
mod saved;
mod scheduler;

pub use forecast::{Buckets, Due, DueKey, DueOf, Forecast};
pub use notation::{SCHEDULE_NOTATION, ScheduleNotation, schedule_source};
pub use outlook::{Fire, Outlook};
pub use saved::{Armed, ScheduleView};
