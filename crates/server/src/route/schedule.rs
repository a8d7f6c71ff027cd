//! `/schedules`: creates, updates, pauses, triggers, backfills and lists schedules.

use std::collections::BTreeSet;

use axum::extract::State;
use axum::http::StatusCode;
use meantime_core::time::{Cron, First, Rule, Span, Zone};
use meantime_core::{InstanceId, SCHEDULE_DEFINITION, ScheduleInput, ScheduleSpec, Timestamp};
use meantime_kernel::command::{Command, Error, Reply, ScheduleAction};
use meantime_kernel::schedule::ScheduleView;
use meantime_kernel::store::{
    DefinitionFilter, InstanceFilter, InstanceRow, OccurrenceKey, OccurrenceRow, Page as StorePage,
};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::routes;

use super::reason::ReasonQuery;
use super::reply::{JsonResponse, Result, ok};
use super::table::Routes;
use crate::app::App;
use crate::auth::{Caller, Permission};
use crate::extract::{JsonBody, PathId, Query};
use crate::pagination;
use crate::problem::{Problem, ProblemCode};
use crate::show;
use crate::wire::{
    InstanceStatus, NewSchedule, NextOccurrences, Occurrence, OperationResult, Page, Schedule,
    ScheduleBackfill, ScheduleBackfillResult, ScheduleState, ScheduleUpdate, occurrence_cursor,
    read_occurrence_key,
};

/// Maximum number of occurrences of a preview.
const MAX_PREVIEW: usize = 1_000;

pub(super) fn routes() -> Routes {
    Routes::new()
        .add(Permission::Operate, routes!(create))
        .add_long(Permission::Read, routes!(list))
        .add(Permission::Read, routes!(get))
        .add(Permission::Operate, routes!(change))
        .add(Permission::Operate, routes!(delete))
        .add(Permission::Operate, routes!(pause))
        .add(Permission::Operate, routes!(resume))
        .add(Permission::Operate, routes!(trigger))
        .add(Permission::Operate, routes!(backfill))
        .add_long(Permission::Read, routes!(next))
        .add_long(Permission::Read, routes!(ledger))
}

/// Creates a schedule.
#[utoipa::path(
    post, path = "/schedules", operation_id = "createSchedule", tag = "schedules", request_body = NewSchedule,
    responses((status = 201, description = "The schedule", body = Schedule))
)]
async fn create(State(app): State<App>, JsonBody(new): JsonBody<NewSchedule>) -> Result<Schedule> {
    let now = app.kernel().now().engine;
    let (version, label) = resolve_version(&app, &new.definition, new.version).await?;
    let start_at = new.start_at.unwrap_or(now);
    let input = match (new.input, new.context) {
        (Some(_), Some(_)) => return Err(invalid_body("give `input` or `context`, not both")),
        (input, None) => ScheduleInput::Input(input.unwrap_or_default()),
        (None, Some(context)) => ScheduleInput::Context(context),
    };
    let zone = new.zone.as_deref().map(Zone::parse).transpose()?.unwrap_or(Zone::UTC);
    let rule = match (new.interval, new.cron) {
        (Some(_), Some(_)) => return Err(invalid_body("give `interval` or `cron`, not both")),
        (Some(interval), None) => {
            Rule::every(start_at, Span::parse(&interval)?, zone, First::AtAnchor)?
        }
        (None, Some(cron)) => {
            // An occurrence at the start itself counts.
            Rule::cron(Cron::parse(&cron)?, zone, start_at.saturating_add_millis(-1))
        }
        (None, None) if new.start_at.is_some() => Rule::once(start_at),
        (None, None) => return Err(invalid_body("give `interval`, `cron` or `startAt`")),
    };
    let spec = ScheduleSpec {
        definition: new.definition,
        version,
        start: new.start,
        subject: new.subject,
        label,
        rule,
        max_runs: new.max_runs,
        overlap: new.overlap,
        catch_up: new.catch_up,
        input,
        anchored: new.start_at.is_some(),
        is_binding: false,
    };
    let on_existing = new.on_existing.into();
    let command = Command::PutSchedule { spec: Box::new(spec), on_existing };
    let Reply::Scheduled { schedule } = app.kernel().call(command).await? else {
        return Err(Problem::new(
            ProblemCode::Internal,
            "a schedule was answered by something else",
        ));
    };
    Ok(JsonResponse(StatusCode::CREATED, show_schedule(&app, schedule).await?))
}

fn invalid_body(text: &str) -> Problem {
    Problem::new(ProblemCode::InvalidBody, text)
}

/// Resolves the version that a schedule is pinned to (S12), with its label.
async fn resolve_version(
    app: &App,
    name: &str,
    version: Option<u32>,
) -> std::result::Result<(u32, Option<String>), Problem> {
    let filter = DefinitionFilter { name: Some(name.to_owned()), ..DefinitionFilter::default() };
    let rows = app.store().definitions(filter).await?;
    let mut good = rows.into_iter().filter(|row| !row.retired);
    let found = good.find(|row| version.is_none_or(|version| row.version == version));
    let unknown = || Error::UnknownDefinition { name: name.to_owned(), version };
    let row = found.filter(|row| row.name != SCHEDULE_DEFINITION).ok_or_else(unknown)?;
    Ok((row.version, row.label))
}

/// The row and the view of a schedule; a problem if it does not exist.
async fn find(
    app: &App,
    id: InstanceId,
) -> std::result::Result<(InstanceRow, ScheduleView), Problem> {
    let unknown =
        || Problem::new(ProblemCode::UnknownSchedule, format!("there is no schedule {id}"));
    let row = show::require_undamaged(app.store().instance(id).await?.ok_or_else(unknown)?)?;
    let is_schedule = app.definitions().get(row.definition).await?.name == SCHEDULE_DEFINITION;
    let view = ScheduleView::of_instance(&row).filter(|_| is_schedule).ok_or_else(unknown)?;
    Ok((row, view))
}

/// The wire form of a schedule; a problem if it does not exist.
async fn show_schedule(app: &App, id: InstanceId) -> std::result::Result<Schedule, Problem> {
    let (row, view) = find(app, id).await?;
    let live = live_runs(app, id, &view).await?;
    Ok(Schedule::of(&row, view, live))
}

/// The number of running instances of a schedule, from the store.
async fn live_runs(
    app: &App,
    id: InstanceId,
    view: &ScheduleView,
) -> std::result::Result<u64, Problem> {
    if view.running == 0 {
        return Ok(0);
    }
    Ok(u64::try_from(app.store().children(id).await?.len()).unwrap_or(u64::MAX))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ListQuery {
    /// Only schedules that start this definition.
    #[serde(default)]
    definition: Option<String>,
    /// Only in this state.
    #[serde(default)]
    #[param(inline)]
    state: Option<ScheduleState>,
    /// Only for this subject.
    #[serde(default)]
    subject: Option<String>,
    /// Maximum number of entries: 50 by default, 1,000 at most.
    #[serde(default)]
    limit: Option<usize>,
    /// The `nextCursor` of the previous page.
    #[serde(default)]
    cursor: Option<String>,
}

/// Lists schedules, newest first. Completed ones stay until retention deletes them.
#[utoipa::path(
    get, path = "/schedules", operation_id = "listSchedules", tag = "schedules", params(ListQuery),
    responses((status = 200, description = "Schedules", body = Page<Schedule>))
)]
async fn list(State(app): State<App>, Query(query): Query<ListQuery>) -> Result<Page<Schedule>> {
    let limit = pagination::limit(query.limit)?;
    let mut after: Option<InstanceId> = pagination::parse_cursor(query.cursor.as_deref())?;
    let running = || InstanceStatus::Running.phases().to_vec();
    let filter = InstanceFilter {
        definitions: app
            .definitions()
            .find_ids(Some(SCHEDULE_DEFINITION.to_owned()), None, None)
            .await?,
        phases: match query.state {
            None => Vec::new(),
            Some(ScheduleState::Active | ScheduleState::Paused) => running(),
            Some(ScheduleState::Completed) => {
                let over =
                    [InstanceStatus::Completed, InstanceStatus::Failed, InstanceStatus::Cancelled];
                over.iter().flat_map(|status| status.phases()).copied().collect()
            }
        },
        ..InstanceFilter::default()
    };
    if filter.definitions.is_empty() {
        return ok(Page { items: Vec::new(), next_cursor: None });
    }
    let mut items = Vec::new();
    loop {
        let rows =
            app.store().instances(filter.clone(), pagination::store_page(after, limit)).await?;
        let is_last = rows.len() <= limit;
        for row in &rows {
            let Some(view) = ScheduleView::of_instance(row) else { continue };
            if items.len() == limit {
                return ok(Page { items, next_cursor: after.map(|id| id.to_string()) });
            }
            after = Some(row.id);
            if matches(&query, row, &view) {
                let live = live_runs(&app, row.id, &view).await?;
                items.push(Schedule::of(row, view, live));
            }
        }
        if is_last {
            return ok(Page { items, next_cursor: None });
        }
    }
}

fn matches(query: &ListQuery, row: &InstanceRow, view: &ScheduleView) -> bool {
    let is_paused = view.paused && !row.phase.is_ended();
    query.definition.as_ref().is_none_or(|name| view.spec.definition == *name)
        && query.subject.as_ref().is_none_or(|it| view.spec.subject.as_ref() == Some(it))
        && match query.state {
            Some(ScheduleState::Active) => !is_paused,
            Some(ScheduleState::Paused) => is_paused,
            Some(ScheduleState::Completed) | None => true,
        }
}

/// Returns a schedule.
#[utoipa::path(
    get, path = "/schedules/{id}", operation_id = "getSchedule", tag = "schedules",
    params(("id" = String, Path, description = "The schedule")),
    responses((status = 200, description = "The schedule", body = Schedule))
)]
async fn get(State(app): State<App>, PathId(id): PathId<InstanceId>) -> Result<Schedule> {
    ok(show_schedule(&app, id).await?)
}

/// Updates a schedule from now on; the number of runs so far stays. Recorded with the old values.
#[utoipa::path(
    patch, path = "/schedules/{id}", operation_id = "updateSchedule", tag = "schedules", request_body = ScheduleUpdate,
    params(("id" = String, Path, description = "The schedule")),
    responses((status = 200, description = "The schedule", body = Schedule))
)]
async fn change(
    State(app): State<App>,
    caller: Caller,
    PathId(id): PathId<InstanceId>,
    JsonBody(body): JsonBody<ScheduleUpdate>,
) -> Result<Schedule> {
    let (change, reason) = body.read()?;
    if change.interval.is_some() && change.cron.is_some() {
        return Err(invalid_body("give `interval` or `cron`, not both"));
    }
    apply_action(&app, id, ScheduleAction::Change(Box::new(change)), &caller, reason).await
}

async fn apply_action(
    app: &App,
    schedule: InstanceId,
    action: ScheduleAction,
    caller: &Caller,
    reason: Option<String>,
) -> Result<Schedule> {
    find(app, schedule).await?;
    let by = caller.audit_info(reason);
    app.kernel().call(Command::Schedule { schedule, action, audit: by }).await?;
    ok(show_schedule(app, schedule).await?)
}

/// Deletes a schedule. Running instances continue.
#[utoipa::path(
    delete, path = "/schedules/{id}", operation_id = "deleteSchedule", tag = "schedules",
    params(("id" = String, Path, description = "The schedule"), ReasonQuery),
    responses((status = 200, description = "Deleted", body = OperationResult))
)]
async fn delete(
    State(app): State<App>,
    caller: Caller,
    PathId(id): PathId<InstanceId>,
    Query(query): Query<ReasonQuery>,
) -> Result<OperationResult> {
    find(&app, id).await?;
    let by = caller.audit_info(query.reason);
    app.kernel().call(Command::Cancel { instance: id, audit: by }).await?;
    ok(OperationResult {})
}

/// Pauses a schedule: no occurrences until it is resumed.
#[utoipa::path(
    post, path = "/schedules/{id}/pause", operation_id = "pauseSchedule", tag = "schedules",
    params(("id" = String, Path, description = "The schedule"), ReasonQuery),
    responses((status = 200, description = "The schedule", body = Schedule))
)]
async fn pause(
    State(app): State<App>,
    caller: Caller,
    PathId(id): PathId<InstanceId>,
    Query(query): Query<ReasonQuery>,
) -> Result<Schedule> {
    apply_action(&app, id, ScheduleAction::Pause, &caller, query.reason).await
}

/// Resumes a schedule; occurrences during the pause are missed, and the catch-up policy applies.
#[utoipa::path(
    post, path = "/schedules/{id}/resume", operation_id = "resumeSchedule", tag = "schedules",
    params(("id" = String, Path, description = "The schedule"), ReasonQuery),
    responses((status = 200, description = "The schedule", body = Schedule))
)]
async fn resume(
    State(app): State<App>,
    caller: Caller,
    PathId(id): PathId<InstanceId>,
    Query(query): Query<ReasonQuery>,
) -> Result<Schedule> {
    apply_action(&app, id, ScheduleAction::Resume, &caller, query.reason).await
}

/// Starts a run now. It counts as a run.
#[utoipa::path(
    post, path = "/schedules/{id}/trigger", operation_id = "triggerSchedule", tag = "schedules",
    params(("id" = String, Path, description = "The schedule"), ReasonQuery),
    responses((status = 200, description = "The schedule", body = Schedule))
)]
async fn trigger(
    State(app): State<App>,
    caller: Caller,
    PathId(id): PathId<InstanceId>,
    Query(query): Query<ReasonQuery>,
) -> Result<Schedule> {
    apply_action(&app, id, ScheduleAction::Trigger, &caller, query.reason).await
}

/// Starts a run for every occurrence of a range that had none, also before the schedule existed.
#[utoipa::path(
    post, path = "/schedules/{id}/backfill", operation_id = "backfillSchedule", tag = "schedules", request_body = ScheduleBackfill,
    params(("id" = String, Path, description = "The schedule"), ReasonQuery),
    responses((status = 200, description = "The number of runs", body = ScheduleBackfillResult))
)]
async fn backfill(
    State(app): State<App>,
    caller: Caller,
    PathId(id): PathId<InstanceId>,
    Query(query): Query<ReasonQuery>,
    JsonBody(ScheduleBackfill { from, to }): JsonBody<ScheduleBackfill>,
) -> Result<ScheduleBackfillResult> {
    if from > to {
        return Err(invalid_body(&format!("the range ends at {to}, before it begins at {from}")));
    }
    let (_, view) = find(&app, id).await?;
    let had_run = started_between(&app, id, from, to).await?.len();
    let (action, by) = (ScheduleAction::Backfill { from, to }, caller.audit_info(query.reason));
    let command = Command::Schedule { schedule: id, action, audit: by };
    let count = match app.kernel().call(command).await? {
        Reply::Submitted { reply: Some(count) } => count.read::<u64>()?,
        _ => 0,
    };
    let had_run = u64::try_from(had_run).unwrap_or(u64::MAX);
    let will_run = count.saturating_sub(had_run).min(view.runs_left());
    ok(ScheduleBackfillResult { will_run })
}

/// The occurrences of a range that had a run.
pub(super) async fn started_between(
    app: &App,
    schedule: InstanceId,
    from: Timestamp,
    to: Timestamp,
) -> std::result::Result<BTreeSet<Timestamp>, Problem> {
    const PAGE_ROWS: usize = 1_000;
    let mut found = BTreeSet::new();
    let mut after = Some(OccurrenceKey { scheduled_at: to, is_start: false });
    loop {
        let rows = app.store().occurrences(schedule, StorePage { after, limit: PAGE_ROWS }).await?;
        let inside = rows.iter().map(OccurrenceRow::key).filter(|key| key.scheduled_at >= from);
        found.extend(inside.filter(|key| key.is_start).map(|key| key.scheduled_at));
        after = rows.last().map(OccurrenceRow::key);
        if rows.len() < PAGE_ROWS || after.is_none_or(|key| key.scheduled_at < from) {
            return Ok(found);
        }
    }
}

/// The future occurrences of a schedule that a backfill has already started.
pub(super) async fn already_started(
    app: &App,
    schedule: InstanceId,
    view: &ScheduleView,
) -> std::result::Result<BTreeSet<Timestamp>, Problem> {
    let from = view.mark.map_or(Timestamp::MIN, |mark| mark.saturating_add_millis(1));
    match view.filled_to.filter(|to| *to > from) {
        Some(to) => started_between(app, schedule, from, to).await,
        None => Ok(BTreeSet::new()),
    }
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct NextQuery {
    /// Maximum number: 10 by default, 1,000 at most.
    #[serde(default)]
    count: Option<usize>,
}

/// Lists when the next occurrences will fire if nothing changes: at most the runs that are left,
/// none while the schedule is paused or its timer is frozen.
#[utoipa::path(
    get, path = "/schedules/{id}/next", operation_id = "listNextOccurrences", tag = "schedules",
    params(("id" = String, Path, description = "The schedule"), NextQuery),
    responses((status = 200, description = "Occurrences", body = NextOccurrences))
)]
async fn next(
    State(app): State<App>,
    PathId(id): PathId<InstanceId>,
    Query(query): Query<NextQuery>,
) -> Result<NextOccurrences> {
    let (row, view) = find(&app, id).await?;
    let count = if row.phase.is_ended() { 0 } else { query.count.unwrap_or(10).min(MAX_PREVIEW) };
    let filled = already_started(&app, id, &view).await?;
    let (now, limits) = (app.kernel().now().engine, app.kernel().limits());
    ok(NextOccurrences { items: view.preview(now, &filled, limits, count) })
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct LedgerQuery {
    /// Maximum number of entries: 50 by default, 1,000 at most.
    #[serde(default)]
    limit: Option<usize>,
    /// The `nextCursor` of the previous page.
    #[serde(default)]
    cursor: Option<String>,
}

/// Lists the outcomes of occurrences, newest first.
#[utoipa::path(
    get, path = "/schedules/{id}/occurrences", operation_id = "listScheduleOccurrences", tag = "schedules",
    params(("id" = String, Path, description = "The schedule"), LedgerQuery),
    responses((status = 200, description = "Outcomes of occurrences", body = Page<Occurrence>))
)]
async fn ledger(
    State(app): State<App>,
    PathId(id): PathId<InstanceId>,
    Query(query): Query<LedgerQuery>,
) -> Result<Page<Occurrence>> {
    find(&app, id).await?;
    let limit = pagination::limit(query.limit)?;
    let after = pagination::read_cursor(query.cursor.as_deref(), read_occurrence_key)?;
    let rows = app.store().occurrences(id, pagination::store_page(after, limit)).await?;
    ok(pagination::to_page(rows, limit, |row: &OccurrenceRow| occurrence_cursor(row.key())))
}
