//! Wire types of lists and statistics of instances.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{InstanceStatus, InstanceSummary};

/// By what a list of instances is sorted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum InstanceOrder {
    /// By their start; the latest first.
    Start,
    /// By their end; the latest first, without instances that have not ended.
    End,
    /// By their business key, without instances that have none.
    Key,
    /// By the timer or deadline that is due next, without instances that have none.
    Due,
}

/// The direction of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Direction {
    /// From the smallest to the largest.
    Asc,
    /// From the largest to the smallest.
    Desc,
}

/// A page of instances.
#[derive(Debug, Default, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({
    "items": [{
        "id": "in_06kdz3q2r800072m1sz1y5v3gq", "definition": "order", "version": 3,
        "notation": "bpmn", "status": "running",
        "waitingFor": [{
            "kind": "userTask", "id": "tk_06kdz3q2r800072m1sz1y5v3gq-1-0", "name": "approve",
            "element": "Approve", "since": "2026-10-01T08:00:00Z",
        }],
        "incidents": [], "startedAt": "2026-10-01T08:00:00Z", "key": "A-1001", "tags": ["eu"],
    }],
    "nextCursor": "in_06kdz3q2r800072m1sz1y5v3gq",
    "count": { "value": 10_000, "atLeast": true },
}))]
pub(crate) struct InstancePage {
    /// The entries of this page.
    pub(crate) items: Vec<InstanceSummary>,
    /// Pass this as `cursor` to get the next page; absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next_cursor: Option<String>,
    /// The search was cut off before the page was full; `nextCursor` continues it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) incomplete: bool,
    /// How many instances match, if `count` was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) count: Option<InstanceTotal>,
}

/// A number of instances.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct InstanceTotal {
    /// The number.
    pub(crate) value: u64,
    /// There may be more: counting was cut off.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) at_least: bool,
}

/// By what instances are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum InstanceGrouping {
    /// By status.
    Status,
    /// By the name of the definition.
    Definition,
    /// By definition and version.
    Version,
    /// Running instances by the element where they wait.
    Element,
    /// Open incidents by their code.
    IncidentCode,
}

/// Instances by status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StatusCounts {
    /// Not ended.
    pub(crate) running: u64,
    /// Ended with an output.
    pub(crate) completed: u64,
    /// Ended with an error.
    pub(crate) failed: u64,
    /// Ended by a cancel request.
    pub(crate) cancelled: u64,
}

impl StatusCounts {
    /// The number of one status.
    pub(crate) fn of(&mut self, status: InstanceStatus) -> &mut u64 {
        match status {
            InstanceStatus::Running => &mut self.running,
            InstanceStatus::Completed => &mut self.completed,
            InstanceStatus::Failed => &mut self.failed,
            InstanceStatus::Cancelled => &mut self.cancelled,
        }
    }
}

/// A group of instances.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct InstanceGroup {
    /// The status of the group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) status: Option<InstanceStatus>,
    /// The name of its definition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) definition: Option<String>,
    /// The version of its definition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) version: Option<u32>,
    /// The element of the definition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) element: Option<String>,
    /// The code of its incidents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) incident_code: Option<String>,
    /// How many instances, or incidents, are in the group.
    pub(crate) count: u64,
    /// The same by status, in groups of definitions and versions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) by_status: Option<StatusCounts>,
}

/// The numbers of instances in groups.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({
    "groupBy": "definition",
    "groups": [{
        "definition": "order", "count": 1_204,
        "byStatus": { "running": 17, "completed": 1_180, "failed": 5, "cancelled": 2 },
    }],
}))]
pub(crate) struct InstanceStats {
    /// By what they are grouped.
    pub(crate) group_by: InstanceGrouping,
    /// The groups that are not empty.
    pub(crate) groups: Vec<InstanceGroup>,
    /// There may be more: counting was cut off.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) at_least: bool,
}
