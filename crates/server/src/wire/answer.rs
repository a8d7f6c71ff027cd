//! Answers of many operations: a page of a list, or nothing.

use serde::Serialize;
use utoipa::ToSchema;

/// One page of a list.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Page<T: ToSchema> {
    /// The entries of this page.
    pub(crate) items: Vec<T>,
    /// Pass this as `cursor` to get the next page; absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next_cursor: Option<String>,
}

/// The operation succeeded. The object has no members.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct OperationResult {}
