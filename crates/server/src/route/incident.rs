//! `/incidents`: lists, retries and resolves incidents.

use axum::extract::State;
use meantime_core::IncidentId;
use meantime_kernel::command::Command;
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::routes;

use super::reason::ReasonQuery;
use super::reply::{Result, ok};
use super::table::Routes;
use crate::app::App;
use crate::audit;
use crate::auth::{Caller, Permission};
use crate::extract::{JsonBody, PathId, Query};
use crate::pagination;
use crate::wire::{Incident, IncidentResolution, OperationResult, Page};

pub(super) fn routes() -> Routes {
    Routes::new()
        .add_long(Permission::Read, routes!(list))
        .add(Permission::Operate, routes!(retry))
        .add(Permission::Operate, routes!(resolve))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ListQuery {
    /// Only incidents of this instance.
    #[serde(default)]
    instance: Option<String>,
    /// Maximum number of entries: 50 by default, 1,000 at most.
    #[serde(default)]
    limit: Option<usize>,
    /// The `nextCursor` of the previous page.
    #[serde(default)]
    cursor: Option<String>,
}

/// Lists open incidents, oldest first.
#[utoipa::path(
    get, path = "/incidents", operation_id = "listIncidents", tag = "incidents", params(ListQuery),
    responses((status = 200, description = "Incidents", body = Page<Incident>))
)]
async fn list(
    State(app): State<App>,
    caller: Caller,
    Query(query): Query<ListQuery>,
) -> Result<Page<Incident>> {
    let limit = pagination::limit(query.limit)?;
    let after: Option<IncidentId> = pagination::parse_cursor(query.cursor.as_deref())?;
    let instance = query.instance.map(|id| id.parse()).transpose()?;
    let rows = app.store().incidents(instance, pagination::store_page(after, limit)).await?;
    let of = rows.iter().take(limit).map(|row| row.instance).collect();
    audit::log_guarded_reads_of(&app, &caller, "listIncidents", of).await;
    ok(pagination::to_page(rows, limit, |row| row.id.to_string()))
}

/// Retries what the incident stopped, with current variables and fresh attempts.
#[utoipa::path(
    post, path = "/incidents/{id}/retry", operation_id = "retryIncident", tag = "incidents",
    params(("id" = String, Path, description = "The incident"), ReasonQuery),
    responses((status = 200, description = "Retried", body = OperationResult))
)]
async fn retry(
    State(app): State<App>,
    caller: Caller,
    PathId(incident): PathId<IncidentId>,
    Query(query): Query<ReasonQuery>,
) -> Result<OperationResult> {
    let by = caller.audit_info(query.reason);
    app.kernel().call(Command::RetryIncident { incident, audit: by }).await?;
    ok(OperationResult {})
}

/// Completes what the incident stopped with variables; without variables it is retried.
#[utoipa::path(
    post, path = "/incidents/{id}/resolve", operation_id = "resolveIncident", tag = "incidents",
    params(("id" = String, Path, description = "The incident"), ReasonQuery),
    request_body = Option<IncidentResolution>,
    responses((status = 200, description = "Completed or retried", body = OperationResult))
)]
async fn resolve(
    State(app): State<App>,
    caller: Caller,
    PathId(incident): PathId<IncidentId>,
    Query(query): Query<ReasonQuery>,
    JsonBody(body): JsonBody<IncidentResolution>,
) -> Result<OperationResult> {
    let by = caller.audit_info(query.reason);
    let command = match body.variables {
        Some(variables) => Command::ResolveIncident { incident, variables, audit: by },
        None => Command::RetryIncident { incident, audit: by },
    };
    app.kernel().call(command).await?;
    ok(OperationResult {})
}
