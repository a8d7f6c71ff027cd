//! Armed timers and deadlines.

use meantime_core::Timestamp;
use meantime_kernel::store::TimerRow;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// An armed timer.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Timer {
    /// Its id.
    id: String,
    /// `timer`, `deadline` or `taskDeadline`.
    kind: &'static str,
    /// Whose it is.
    instance_id: String,
    /// The name of the definition.
    definition: String,
    /// Where in the definition.
    element: String,
    /// When it is due; kept while frozen.
    #[schema(value_type = String, format = DateTime)]
    due_at: Timestamp,
    /// A frozen timer does not fire.
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

/// Where to move a timer.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct TimerMove {
    /// When it is due from now on.
    #[schema(value_type = String, format = DateTime)]
    pub(crate) due_at: Timestamp,
    /// For those who look at it later.
    #[serde(default)]
    pub(crate) reason: Option<String>,
}
