//! What followers of the engine hear.

use meantime_core::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

use super::HistoryEvent;

/// One turn of an instance, as an event. Its id is the turn's place in the history.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TurnEvent {
    /// The instance.
    pub(crate) instance_id: String,
    /// The name of its definition.
    pub(crate) definition: String,
    /// The version it runs.
    pub(crate) version: u32,
    /// The turn.
    pub(crate) turn: u64,
    /// When.
    #[schema(value_type = String, format = DateTime)]
    pub(crate) at: Timestamp,
    /// What happened.
    pub(crate) records: Vec<HistoryEvent>,
}
