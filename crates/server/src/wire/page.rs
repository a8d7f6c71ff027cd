//! Lists, a page at a time.

use serde::Serialize;
use utoipa::ToSchema;

/// A part of a list.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Page<T: ToSchema> {
    /// The entries.
    pub(crate) items: Vec<T>,
    /// Give this as `cursor` to get what follows; not there when nothing does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next_cursor: Option<String>,
}
