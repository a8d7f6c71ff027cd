//! Nothing to tell.

use serde::Serialize;
use utoipa::ToSchema;

/// Done; there is nothing to tell.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct OperationResult {}
