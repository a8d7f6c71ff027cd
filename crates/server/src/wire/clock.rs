//! Wire types of the virtual clock.

use meantime_core::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::DurationParam;

/// The time of the virtual clock.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Clock {
    /// The current time of timers, deadlines and schedules.
    #[schema(value_type = String, format = DateTime)]
    pub(crate) now: Timestamp,
}

/// How far to advance the virtual clock: `by` or `to`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ClockAdvance {
    /// A duration, in UTC.
    #[serde(default)]
    #[schema(value_type = Option<String>, example = "P30D")]
    pub(crate) by: Option<DurationParam>,
    /// The instant to advance to.
    #[serde(default)]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub(crate) to: Option<Timestamp>,
}

/// The result of advancing the clock.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ClockAdvanceResult {
    /// The new time of the clock.
    #[schema(value_type = String, format = DateTime)]
    pub(crate) now: Timestamp,
    /// How many timers fired.
    pub(crate) fired: u64,
}
