//! `/timers`: lists armed timers and deadlines; moves, fires, freezes and releases them.

use axum::extract::State;
use meantime_core::{TimerId, Timestamp};
use meantime_kernel::command::{Command, Error, TimerEdit};
use meantime_kernel::open::Key;
use meantime_kernel::store::{TimerFilter, TimerKey, TimerRow};
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
use crate::problem::Problem;
use crate::show;
use crate::wire::{OperationResult, Page, Timer, TimerMove};

pub(super) fn routes() -> Routes {
    Routes::new()
        .add_long(Permission::Read, routes!(list))
        .add(Permission::Read, routes!(get))
        .add(Permission::Operate, routes!(relocate))
        .add(Permission::Operate, routes!(fire))
        .add(Permission::Operate, routes!(freeze))
        .add(Permission::Operate, routes!(release))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ListQuery {
    /// Only of this instance.
    #[serde(default)]
    instance: Option<String>,
    /// Only of this definition, in any version.
    #[serde(default)]
    definition: Option<String>,
    /// Only due before this instant.
    #[serde(default)]
    #[param(value_type = Option<String>, format = DateTime)]
    due_before: Option<Timestamp>,
    /// Only due at or after this instant.
    #[serde(default)]
    #[param(value_type = Option<String>, format = DateTime)]
    due_after: Option<Timestamp>,
    /// Maximum number of entries: 50 by default, 1,000 at most.
    #[serde(default)]
    limit: Option<usize>,
    /// The `nextCursor` of the previous page.
    #[serde(default)]
    cursor: Option<String>,
}

/// Lists armed timers and deadlines in due order, frozen ones last.
#[utoipa::path(
    get, path = "/timers", operation_id = "listTimers", tag = "timers", params(ListQuery),
    responses((status = 200, description = "Timers", body = Page<Timer>))
)]
async fn list(
    State(app): State<App>,
    caller: Caller,
    Query(query): Query<ListQuery>,
) -> Result<Page<Timer>> {
    let limit = pagination::limit(query.limit)?;
    let after = pagination::read_cursor(query.cursor.as_deref(), parse_cursor_key)?;
    let named = query.definition.is_some();
    let definitions = match query.definition {
        Some(name) => app.definitions().find_ids(Some(name), None, None).await?,
        None => Vec::new(),
    };
    if named && definitions.is_empty() {
        return ok(Page { items: Vec::new(), next_cursor: None });
    }
    let filter = TimerFilter {
        instance: query.instance.map(|id| id.parse()).transpose()?,
        definitions,
        due_from: query.due_after,
        due_before: query.due_before,
        element: None,
        before_deadline: false,
    };
    let mut rows = app.store().timers(filter, pagination::store_page(after, limit)).await?;
    let more = rows.len() > limit;
    rows.truncate(limit);
    let next_cursor = rows.last().filter(|_| more).map(|row| cursor_of(&row.key()));
    let of = rows.iter().map(|row| (row.id.0.instance, row.definition)).collect();
    audit::log_guarded_read(&app, &caller, "listTimers", of).await;
    let mut items = Vec::with_capacity(rows.len());
    for row in &rows {
        items.push(show_timer(&app, row).await?);
    }
    ok(Page { items, next_cursor })
}

fn cursor_of(key: &TimerKey) -> String {
    let frozen = if key.frozen { 'f' } else { 'a' };
    format!("{frozen}.{}.{}", key.due_at.as_millis(), key.id)
}

/// Reads a cursor, and writes what was read.
#[cfg(feature = "fuzz")]
pub(crate) fn rewrite_cursor(text: &str) -> Option<String> {
    parse_cursor_key(text).map(|key| cursor_of(&key))
}

fn parse_cursor_key(text: &str) -> Option<TimerKey> {
    let mut parts = text.splitn(3, '.');
    let frozen = match parts.next()? {
        "f" => true,
        "a" => false,
        _ => return None,
    };
    let due_at = Timestamp::try_from_millis(parts.next()?.parse().ok()?).ok()?;
    Some(TimerKey { frozen, due_at, id: parts.next()?.parse().ok()? })
}

async fn show_timer(app: &App, row: &TimerRow) -> std::result::Result<Timer, Problem> {
    Ok(Timer::of(row, app.definitions().get(row.definition).await?.name.clone()))
}

/// The row of an armed timer. The row key contains the due time, which the instance knows.
async fn find(app: &App, id: TimerId) -> std::result::Result<TimerRow, Problem> {
    let owner =
        app.store().instance(id.0.instance).await?.map(show::require_undamaged).transpose()?;
    let open = owner.and_then(|owner| owner.open.timers.get(&Key::from(id.0)).copied());
    let row = match open {
        Some(open) => app.store().timer(open.row_key(id.0)).await?,
        None => None,
    };
    row.ok_or_else(|| Error::UnknownTimer(id).into())
}

/// Returns an armed timer.
#[utoipa::path(
    get, path = "/timers/{id}", operation_id = "getTimer", tag = "timers",
    params(("id" = String, Path, description = "The timer")),
    responses((status = 200, description = "The timer", body = Timer))
)]
async fn get(State(app): State<App>, caller: Caller, PathId(id): PathId<TimerId>) -> Result<Timer> {
    let row = find(&app, id).await?;
    audit::log_guarded_read(&app, &caller, "getTimer", vec![(id.0.instance, row.definition)]).await;
    ok(show_timer(&app, &row).await?)
}

/// Moves a timer or a deadline to another instant; recorded in the history.
#[utoipa::path(
    patch, path = "/timers/{id}", operation_id = "moveTimer", tag = "timers", request_body = TimerMove,
    params(("id" = String, Path, description = "The timer")),
    responses((status = 200, description = "Moved", body = OperationResult))
)]
async fn relocate(
    State(app): State<App>,
    caller: Caller,
    PathId(timer): PathId<TimerId>,
    JsonBody(body): JsonBody<TimerMove>,
) -> Result<OperationResult> {
    edit_timer(&app, timer, TimerEdit::Move(body.due_at), &caller, body.reason).await
}

/// Fires a timer now; recorded in the history.
#[utoipa::path(
    post, path = "/timers/{id}/fire", operation_id = "fireTimer", tag = "timers",
    params(("id" = String, Path, description = "The timer"), ReasonQuery),
    responses((status = 200, description = "Fired", body = OperationResult))
)]
async fn fire(
    State(app): State<App>,
    caller: Caller,
    PathId(timer): PathId<TimerId>,
    Query(query): Query<ReasonQuery>,
) -> Result<OperationResult> {
    edit_timer(&app, timer, TimerEdit::Fire, &caller, query.reason).await
}

/// Freezes a timer: it keeps its due time and does not fire; recorded in the history.
#[utoipa::path(
    post, path = "/timers/{id}/freeze", operation_id = "freezeTimer", tag = "timers",
    params(("id" = String, Path, description = "The timer"), ReasonQuery),
    responses((status = 200, description = "Frozen", body = OperationResult))
)]
async fn freeze(
    State(app): State<App>,
    caller: Caller,
    PathId(timer): PathId<TimerId>,
    Query(query): Query<ReasonQuery>,
) -> Result<OperationResult> {
    edit_timer(&app, timer, TimerEdit::Freeze, &caller, query.reason).await
}

/// Releases a frozen timer; it fires at once if it is overdue. Recorded in the history.
#[utoipa::path(
    post, path = "/timers/{id}/release", operation_id = "releaseTimer", tag = "timers",
    params(("id" = String, Path, description = "The timer"), ReasonQuery),
    responses((status = 200, description = "Released", body = OperationResult))
)]
async fn release(
    State(app): State<App>,
    caller: Caller,
    PathId(timer): PathId<TimerId>,
    Query(query): Query<ReasonQuery>,
) -> Result<OperationResult> {
    edit_timer(&app, timer, TimerEdit::Release, &caller, query.reason).await
}

async fn edit_timer(
    app: &App,
    timer: TimerId,
    edit: TimerEdit,
    caller: &Caller,
    reason: Option<String>,
) -> Result<OperationResult> {
    let by = caller.audit_info(reason);
    app.kernel().call(Command::EditTimer { timer, edit, audit: by }).await?;
    ok(OperationResult {})
}
