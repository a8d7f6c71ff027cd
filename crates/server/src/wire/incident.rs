//! Wire types of incidents.

use meantime_core::{Json, Timestamp};
use meantime_kernel::store::{IncidentCause, IncidentRow};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// An open incident: an instance, or a part of it, that needs an operator.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Incident {
    /// Id, opaque.
    id: String,
    /// Id of the instance.
    instance_id: String,
    /// What raised it: `element`, `turn`, `task` or `damage`.
    kind: &'static str,
    /// The element of the definition, if known.
    element: String,
    /// The error code.
    code: String,
    /// The error message.
    message: String,
    /// Additional data of the error.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    data: Option<Json>,
    /// When it was raised.
    #[schema(value_type = String, format = DateTime)]
    raised_at: Timestamp,
}

/// The resolution of an incident.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct IncidentResolution {
    /// Variables with which the element completes; without them the incident is retried.
    #[serde(default)]
    #[schema(value_type = Option<serde_json::Value>)]
    pub(crate) variables: Option<Json>,
}

impl From<&IncidentRow> for Incident {
    fn from(row: &IncidentRow) -> Self {
        Self {
            id: row.id.to_string(),
            instance_id: row.instance.to_string(),
            kind: match row.cause {
                IncidentCause::Element(_) => "element",
                IncidentCause::Turn => "turn",
                IncidentCause::Task(_) => "task",
                IncidentCause::Damage => "damage",
            },
            element: row.element.clone(),
            code: row.failure.code.clone(),
            message: row.failure.message.clone(),
            data: row.failure.data.clone(),
            raised_at: row.raised_at,
        }
    }
}
