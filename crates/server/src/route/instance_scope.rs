//! `/instances/{id}/scopes`: reads and sets variables of scopes.

use axum::extract::State;
use meantime_core::InstanceId;
use meantime_kernel::command::Command;

use super::instance::find;
use super::reason::ReasonQuery;
use super::reply::{Result, ok};
use crate::app::App;
use crate::auth::Caller;
use crate::extract::{PathId, PathParams, Query, RawJson};
use crate::problem::{Problem, ProblemCode};
use crate::wire::{Page, VariableScope};
use crate::{audit, show};

/// Lists the scopes of a running instance, outermost first, each with its own variables.
#[utoipa::path(
    get, path = "/instances/{id}/scopes", operation_id = "listInstanceScopes", tag = "instances",
    params(("id" = String, Path, description = "The instance")),
    responses((status = 200, description = "The scopes", body = Page<VariableScope>))
)]
pub(super) async fn list(
    State(app): State<App>,
    caller: Caller,
    PathId(id): PathId<InstanceId>,
) -> Result<Page<VariableScope>> {
    let row = find(&app, id).await?;
    audit::log_guarded_read(&app, &caller, "listInstanceScopes", vec![(id, row.definition)]).await;
    ok(Page { items: show::scopes(&app, &row).await?, next_cursor: None })
}

/// Sets variables of one scope; recorded in the history.
#[utoipa::path(
    patch, path = "/instances/{id}/scopes/{scope}/variables", operation_id = "setInstanceScopeVariables",
    tag = "instances",
    params(
        ("id" = String, Path, description = "The instance"),
        ("scope" = String, Path, description = "Id of the scope, from the list of scopes"),
        ReasonQuery,
    ),
    request_body(content = serde_json::Value, description = "An object of new values"),
    responses((status = 200, description = "The scope", body = VariableScope))
)]
pub(super) async fn set_variables(
    State(app): State<App>,
    caller: Caller,
    PathParams((id, scope)): PathParams<(String, String)>,
    Query(query): Query<ReasonQuery>,
    RawJson(values): RawJson,
) -> Result<VariableScope> {
    let instance: InstanceId = id.parse().map_err(|error| Problem::from(error).into_not_found())?;
    let by = caller.audit_info(query.reason);
    let wanted = Some(scope.clone());
    app.kernel().call(Command::SetVariables { instance, values, scope: wanted, audit: by }).await?;
    let row = find(&app, instance).await?;
    let scopes = show::scopes(&app, &row).await?;
    // The new variables may have ended the scope.
    let gone = || Problem::new(ProblemCode::UnknownScope, format!("the scope {scope:?} has ended"));
    ok(scopes.into_iter().find(|it| it.id == scope).ok_or_else(gone)?)
}
