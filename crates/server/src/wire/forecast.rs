//! What will be due, and why something was or was not.

use meantime_core::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

/// Everything that will be due in a window.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Forecast {
    /// Where the window begins.
    #[schema(value_type = String, format = DateTime)]
    pub(crate) from: Timestamp,
    /// Where it ends; not part of it.
    #[schema(value_type = String, format = DateTime)]
    pub(crate) to: Timestamp,
    /// What will be due, in order.
    pub(crate) items: Vec<UpcomingEvent>,
    /// How much in each part of the window, if parts were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) buckets: Option<Vec<ForecastBucket>>,
    /// Whether there is more than is shown. Parts are counted in full all the same.
    pub(crate) truncated: bool,
    /// Where the next page begins, if there is more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next_cursor: Option<String>,
}

/// Something that will be due.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct UpcomingEvent {
    /// When.
    #[schema(value_type = String, format = DateTime)]
    pub(crate) at: Timestamp,
    /// `timer`, `deadline`, `taskDeadline` or `occurrence`.
    pub(crate) kind: &'static str,
    /// The timer, or the schedule.
    pub(crate) id: String,
    /// Whose timer it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) instance_id: Option<String>,
    /// The name of the definition.
    pub(crate) definition: String,
    /// Where in the definition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) element: Option<String>,
    /// The occurrence, when it fires at another instant: somebody moved its timer, or it is late.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub(crate) scheduled_at: Option<Timestamp>,
}

/// How much is due in a part of a window.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ForecastBucket {
    /// Where the part begins.
    #[schema(value_type = String, format = DateTime)]
    pub(crate) at: Timestamp,
    /// How much.
    pub(crate) count: u64,
}

/// Why something happened, did not happen, or has not happened yet.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Explanation {
    /// What was asked about.
    pub(crate) id: String,
    /// `timer`, `task`, `instance`, `schedule` or `occurrence`.
    pub(crate) kind: &'static str,
    /// The answer in a sentence.
    pub(crate) explanation: String,
}
