//! The virtual clock.

use meantime_core::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::DurationParam;

/// Where the virtual clock stands.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Clock {
    /// The time of timers, deadlines and schedules.
    #[schema(value_type = String, format = DateTime)]
    pub(crate) now: Timestamp,
}

/// How far to move the virtual clock: one of both.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ClockAdvance {
    /// By so long, in UTC.
    #[serde(default)]
    #[schema(value_type = Option<String>, example = "P30D")]
    pub(crate) by: Option<DurationParam>,
    /// To this instant.
    #[serde(default)]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub(crate) to: Option<Timestamp>,
}

/// What moving the clock did.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ClockAdvanceResult {
    /// Where it stands.
    #[schema(value_type = String, format = DateTime)]
    pub(crate) now: Timestamp,
    /// How many timers fired on the way.
    pub(crate) fired: u64,
}
