//! `/resume`: resumes the engine of a restored store.

use axum::extract::State;
use meantime_kernel::command::Command;
use utoipa_axum::routes;

use super::reply::{Result, ok};
use super::table::Routes;
use crate::app::App;
use crate::auth::{Caller, Permission};
use crate::extract::JsonBody;
use crate::wire::{OperationResult, OperatorReason};

pub(super) fn routes() -> Routes {
    Routes::new().add(Permission::Administer, routes!(resume))
}

/// Resumes the engine of a restored store: overdue timers fire, tasks can be claimed. Does nothing
/// if the engine is not paused.
#[utoipa::path(
    post, path = "/resume", operation_id = "resumeEngine", tag = "engine",
    request_body = Option<OperatorReason>,
    responses((status = 200, description = "The engine runs", body = OperationResult))
)]
async fn resume(
    State(app): State<App>,
    caller: Caller,
    JsonBody(body): JsonBody<OperatorReason>,
) -> Result<OperationResult> {
    app.kernel().call(Command::Resume { audit: caller.audit_info(body.reason) }).await?;
    ok(OperationResult {})
}
