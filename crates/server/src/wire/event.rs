//! The payload of server-sent events.

use meantime_core::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

use super::HistoryEvent;

/// One turn of an instance, as an event. Its id is the turn's number in the history.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TurnEvent {
    /// Id of the instance.
    pub(crate) instance_id: String,
    /// The name of its definition.
    pub(crate) definition: String,
    /// The version of its definition.
    pub(crate) version: u32,
    /// The number of the turn.
    pub(crate) turn: u64,
    /// When the turn was committed.
    #[schema(value_type = String, format = DateTime)]
    pub(crate) at: Timestamp,
    /// The history events of the turn.
    pub(crate) records: Vec<HistoryEvent>,
}
