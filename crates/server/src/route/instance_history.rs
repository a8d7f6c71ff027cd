//! `/instances/{id}/history` and `/timeline`: past events, and armed timers.

use axum::extract::State;
use meantime_core::{InstanceId, TimerId};
use meantime_kernel::store::{HistoryRow, InstanceRow};
use serde::Deserialize;
use utoipa::IntoParams;

use super::instance::find;
use super::reply::{Result, ok};
use crate::app::App;
use crate::audit;
use crate::auth::Caller;
use crate::extract::{PathId, Query};
use crate::pagination;
use crate::problem::Problem;
use crate::wire::{HistoryEvent, Page, history_events};

/// Maximum number of history rows that a request reads; compaction keeps fewer for any instance.
const MAX_HISTORY_ROWS: usize = 20_000;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct HistoryQuery {
    /// Maximum number of entries: 50 by default, 1,000 at most.
    #[serde(default)]
    limit: Option<usize>,
    /// The `nextCursor` of the previous page.
    #[serde(default)]
    cursor: Option<String>,
}

/// Returns the history of an instance, oldest event first.
#[utoipa::path(
    get, path = "/instances/{id}/history", operation_id = "getInstanceHistory", tag = "instances",
    params(("id" = String, Path, description = "The instance"), HistoryQuery),
    responses((status = 200, description = "History events", body = Page<HistoryEvent>))
)]
pub(super) async fn history(
    State(app): State<App>,
    caller: Caller,
    PathId(id): PathId<InstanceId>,
    Query(query): Query<HistoryQuery>,
) -> Result<Page<HistoryEvent>> {
    ok(past_events(&app, &caller, "getInstanceHistory", id, &query).await?.1)
}

/// Returns the history of an instance, followed by what its armed timers will do.
#[utoipa::path(
    get, path = "/instances/{id}/timeline", operation_id = "getInstanceTimeline", tag = "instances",
    params(("id" = String, Path, description = "The instance"), HistoryQuery),
    responses((status = 200, description = "Past and upcoming events", body = Page<HistoryEvent>))
)]
pub(super) async fn timeline(
    State(app): State<App>,
    caller: Caller,
    PathId(id): PathId<InstanceId>,
    Query(query): Query<HistoryQuery>,
) -> Result<Page<HistoryEvent>> {
    let (row, mut page) = past_events(&app, &caller, "getInstanceTimeline", id, &query).await?;
    if page.next_cursor.is_none() {
        page.items.extend(upcoming_events(&app, &row).await?);
    }
    ok(page)
}

/// An instance, and a page of its past events. The cursor of a page is the position of the last
/// entry: the history row and the index within it.
async fn past_events(
    app: &App,
    caller: &Caller,
    operation: &'static str,
    id: InstanceId,
    query: &HistoryQuery,
) -> std::result::Result<(InstanceRow, Page<HistoryEvent>), Problem> {
    let row = find(app, id).await?;
    audit::log_guarded_read(app, caller, operation, vec![(id, row.definition)]).await;
    let limit = pagination::limit(query.limit)?;
    let after = pagination::read_cursor(query.cursor.as_deref(), |text| {
        let (seq, number) = text.split_once('.')?;
        Some((seq.parse::<u64>().ok()?, number.parse::<usize>().ok()?))
    })?;
    let mut rows = app.store().history(row.last_history, MAX_HISTORY_ROWS).await?;
    rows.reverse();
    let numbered = |row: &HistoryRow| {
        let seq = row.seq;
        history_events(row)
            .into_iter()
            .enumerate()
            .map(move |(number, entry)| ((seq, number), entry))
    };
    let all = rows.iter().flat_map(numbered);
    let is_later = |position| after.is_none_or(|after| position > after);
    let mut shown: Vec<_> =
        all.filter(|(position, _)| is_later(*position)).take(limit + 1).collect();
    let more = shown.len() > limit;
    shown.truncate(limit);
    let last = shown.last().filter(|_| more);
    let next_cursor = last.map(|((seq, number), _)| format!("{seq}.{number}"));
    let items = shown.into_iter().map(|(_, entry)| entry).collect();
    Ok((row, Page { items, next_cursor }))
}

/// The armed timers as upcoming events, in due order.
async fn upcoming_events(
    app: &App,
    row: &InstanceRow,
) -> std::result::Result<Vec<HistoryEvent>, Problem> {
    let mut entries = Vec::new();
    for (key, open) in row.open.timers.iter().filter(|(_, open)| !open.frozen) {
        let id = TimerId(key.of(row.id));
        let armed = app.store().timer(open.row_key(id.0)).await?;
        let element = armed.map(|timer| timer.element).unwrap_or_default();
        entries.push(HistoryEvent::upcoming(
            open.due_at,
            open.kind.name(),
            id.to_string(),
            element,
        ));
    }
    entries.sort_by_key(HistoryEvent::at);
    Ok(entries)
}
