//! Wire types of armed timers and deadlines.

use meantime_core::Timestamp;
use meantime_kernel::store::TimerRow;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// An armed timer or deadline.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Timer {
    /// Id, opaque.
    id: String,
    /// `timer`, `deadline` or `taskDeadline`.
    kind: &'static str,
    /// Id of the instance.
    instance_id: String,
    /// The name of the definition.
    definition: String,
    /// The element of the definition.
    element: String,
    /// When it is due. Freezing does not change it.
    #[schema(value_type = String, format = DateTime)]
    due_at: Timestamp,
    /// Whether it is frozen: it does not fire until it is released.
    frozen: bool,
}

impl Timer {
    pub(crate) fn of(row: &TimerRow, definition: String) -> Self {
        Self {
            id: row.id.to_string(),
            kind: row.kind.name(),
            instance_id: row.id.0.instance.to_string(),
            definition,
            element: row.element.clone(),
            due_at: row.due_at,
            frozen: row.frozen,
        }
    }
}

/// The new due time of a timer.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct TimerMove {
    /// The new due time.
    #[schema(value_type = String, format = DateTime)]
    pub(crate) due_at: Timestamp,
    /// Why the operator does this; recorded in the history.
    #[serde(default)]
    pub(crate) reason: Option<String>,
}
