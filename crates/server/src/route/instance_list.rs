//! `GET /instances`: filters and pages.

use axum::extract::State;
use meantime_core::{InstanceId, SCHEDULE_DEFINITION, Timestamp};
use meantime_kernel::store::{InstanceFilter, InstanceRow};
use serde::Deserialize;
use utoipa::IntoParams;

use super::reply::{Result, ok};
use crate::app::App;
use crate::auth::Caller;
use crate::extract::Query;
use crate::problem::Problem;
use crate::wire::{InstanceStatus, InstanceSummary, Page, WaitingKind};
use crate::{audit, pagination, show};

/// Maximum number of instances that one request scans when it filters by `waitingFor`, which has no
/// index. Such a page may be short although another page follows.
const MAX_SCANNED_ROWS: usize = 10_000;

/// Rows read from the store at a time while filtering.
const SCAN_PAGE_ROWS: usize = 500;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ListQuery {
    /// Only instances of this definition, in any version.
    #[serde(default)]
    definition: Option<String>,
    /// Only of this notation.
    #[serde(default)]
    notation: Option<String>,
    /// Only in this status.
    #[serde(default)]
    #[param(inline)]
    status: Option<InstanceStatus>,
    /// Only with this business key.
    #[serde(default)]
    key: Option<String>,
    /// Only with this tag.
    #[serde(default)]
    tag: Option<String>,
    /// Only started at or after this instant.
    #[serde(default)]
    #[param(value_type = Option<String>, format = DateTime)]
    started_after: Option<Timestamp>,
    /// Only started before this instant.
    #[serde(default)]
    #[param(value_type = Option<String>, format = DateTime)]
    started_before: Option<Timestamp>,
    /// Only instances with a wait of this kind.
    #[serde(default)]
    #[param(inline)]
    waiting_for: Option<WaitingKind>,
    /// Only with (true) or without (false) an open incident.
    #[serde(default)]
    has_incident: Option<bool>,
    /// Maximum number of entries: 50 by default, 1,000 at most.
    #[serde(default)]
    limit: Option<usize>,
    /// The `nextCursor` of the previous page.
    #[serde(default)]
    cursor: Option<String>,
}

/// Lists instances, newest first.
#[utoipa::path(
    get, path = "/instances", operation_id = "listInstances", tag = "instances", params(ListQuery),
    responses((status = 200, description = "Instances", body = Page<InstanceSummary>))
)]
pub(super) async fn list(
    State(app): State<App>,
    caller: Caller,
    Query(query): Query<ListQuery>,
) -> Result<Page<InstanceSummary>> {
    let limit = pagination::limit(query.limit)?;
    let after: Option<InstanceId> = pagination::parse_cursor(query.cursor.as_deref())?;
    let Some(filter) = store_filter(&app, &query).await? else {
        return ok(Page { items: Vec::new(), next_cursor: None });
    };
    match query.waiting_for {
        Some(kind) => {
            let page = list_waiting(&app, filter, kind, after, limit).await?;
            let ids = page.items.iter().filter_map(|item| item.id.parse().ok()).collect();
            audit::log_guarded_reads_of(&app, &caller, "listInstances", ids).await;
            ok(page)
        }
        None => {
            let rows = app.store().instances(filter, pagination::store_page(after, limit)).await?;
            let mut items = Vec::with_capacity(rows.len().min(limit));
            for row in rows.iter().take(limit) {
                items.push(show::summary(&app, row).await?);
            }
            let shown = rows.iter().take(limit).map(|row| (row.id, row.definition)).collect();
            audit::log_guarded_read(&app, &caller, "listInstances", shown).await;
            let next = rows.get(limit).and_then(|_| rows.get(limit - 1));
            ok(Page { items, next_cursor: next.map(|row| row.id.to_string()) })
        }
    }
}

/// The filter for the store; none if nothing can match.
async fn store_filter(
    app: &App,
    query: &ListQuery,
) -> std::result::Result<Option<InstanceFilter>, Problem> {
    let named = query.definition.is_some() || query.notation.is_some();
    let definitions = if named {
        app.definitions().find_ids(query.definition.clone(), query.notation.as_deref()).await?
    } else {
        Vec::new()
    };
    if named && definitions.is_empty() {
        return Ok(None);
    }
    // Schedules are instances, too; `/schedules` lists them.
    let schedules = app.definitions().find_ids(Some(SCHEDULE_DEFINITION.to_owned()), None).await?;
    Ok(Some(InstanceFilter {
        definitions,
        except: schedules,
        phases: query.status.map(|status| status.phases().to_vec()).unwrap_or_default(),
        incident: query.has_incident,
        key: query.key.clone(),
        tag: query.tag.clone(),
        started_from: query.started_after,
        started_before: query.started_before,
    }))
}

/// Lists instances with a wait of one kind by scanning.
async fn list_waiting(
    app: &App,
    mut filter: InstanceFilter,
    kind: WaitingKind,
    mut after: Option<InstanceId>,
    limit: usize,
) -> std::result::Result<Page<InstanceSummary>, Problem> {
    if filter.phases.is_empty() {
        filter.phases = InstanceStatus::Running.phases().to_vec();
    }
    let mut items = Vec::new();
    let mut scanned = 0;
    loop {
        let portion = meantime_kernel::store::Page { after, limit: SCAN_PAGE_ROWS };
        let rows: Vec<InstanceRow> = app.store().instances(filter.clone(), portion).await?;
        let is_last = rows.len() < SCAN_PAGE_ROWS;
        for row in &rows {
            if items.len() == limit {
                return Ok(Page { items, next_cursor: after.map(|id| id.to_string()) });
            }
            after = Some(row.id);
            let summary = show::summary(app, row).await?;
            if summary.waiting_for.iter().any(|it| it.kind == kind) {
                items.push(summary);
            }
        }
        scanned += rows.len();
        if is_last || scanned >= MAX_SCANNED_ROWS {
            let next_cursor = after.filter(|_| !is_last).map(|id| id.to_string());
            return Ok(Page { items, next_cursor });
        }
    }
}
