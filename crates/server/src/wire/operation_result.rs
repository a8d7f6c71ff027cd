//! The answer of operations that return nothing else.

use serde::Serialize;
use utoipa::ToSchema;

/// The operation succeeded. The object has no members.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct OperationResult {}
