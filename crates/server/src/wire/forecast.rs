//! Wire types of the forecast and of explanations.

use meantime_core::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

/// Everything that will fire in a time window.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Forecast {
    /// Start of the window.
    #[schema(value_type = String, format = DateTime)]
    pub(crate) from: Timestamp,
    /// End of the window, exclusive.
    #[schema(value_type = String, format = DateTime)]
    pub(crate) to: Timestamp,
    /// The upcoming events in due order.
    pub(crate) items: Vec<UpcomingEvent>,
    /// Counts per bucket, if `bucket` was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) buckets: Option<Vec<ForecastBucket>>,
    /// Whether `items` is incomplete. Buckets always count everything.
    pub(crate) truncated: bool,
    /// The cursor of the next page, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next_cursor: Option<String>,
}

/// A timer, deadline or schedule occurrence that will fire.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct UpcomingEvent {
    /// When it will fire.
    #[schema(value_type = String, format = DateTime)]
    pub(crate) at: Timestamp,
    /// `timer`, `deadline`, `taskDeadline` or `occurrence`.
    pub(crate) kind: &'static str,
    /// Id of the timer or of the schedule.
    pub(crate) id: String,
    /// Id of the instance that the timer belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) instance_id: Option<String>,
    /// The name of the definition.
    pub(crate) definition: String,
    /// The element of the definition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) element: Option<String>,
    /// The scheduled instant, if it fires at another one: its timer was moved, or it is late.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub(crate) scheduled_at: Option<Timestamp>,
}

/// The number of upcoming events in one bucket.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ForecastBucket {
    /// Start of the bucket.
    #[schema(value_type = String, format = DateTime)]
    pub(crate) at: Timestamp,
    /// Number of events.
    pub(crate) count: u64,
}

/// Why something happened, did not happen, or has not happened yet.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Explanation {
    /// The id that was asked about.
    pub(crate) id: String,
    /// `timer`, `task`, `instance`, `schedule` or `occurrence`.
    pub(crate) kind: &'static str,
    /// The explanation in one sentence.
    pub(crate) explanation: String,
}
