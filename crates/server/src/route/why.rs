//! `/why/{id}`: explains an instance, timer, task, schedule or occurrence.

use axum::extract::State;
use meantime_core::{InstanceId, SCHEDULE_DEFINITION, TaskId, TimerId};
use meantime_kernel::command::Error;
use meantime_kernel::explain::{
    Fate, explain_instance, explain_occurrence, explain_past_task, explain_schedule, explain_task,
    explain_timer,
};
use meantime_kernel::schedule::ScheduleView;
use meantime_kernel::store::{OccurrenceKey, Page, TaskFilter};
use utoipa_axum::routes;

use super::instance::find;
use super::reply::{Result, ok};
use super::table::Routes;
use crate::app::App;
use crate::audit;
use crate::auth::{Caller, Permission};
use crate::extract::PathParams;
use crate::problem::{Problem, ProblemCode};
use crate::show;
use crate::wire::{Explanation, read_occurrence_id};

/// Maximum number of history rows that an explanation reads.
const MAX_HISTORY_ROWS: usize = 20_000;

/// Maximum number of incidents that an explanation reads.
const MAX_INCIDENTS: usize = 10;

/// Maximum number of tasks that an explanation reads.
const MAX_TASKS: usize = 100;

pub(super) fn routes() -> Routes {
    Routes::new().add_long(Permission::Read, routes!(why))
}

/// Explains why something happened, did not happen, or has not happened yet.
#[utoipa::path(
    get, path = "/why/{id}", operation_id = "explain", tag = "time",
    params(("id" = String, Path, description = "A timer, task, instance, schedule or occurrence")),
    responses((status = 200, description = "The explanation", body = Explanation))
)]
async fn why(
    State(app): State<App>,
    caller: Caller,
    PathParams(id): PathParams<String>,
) -> Result<Explanation> {
    let audited = async |instance| {
        audit::log_guarded_reads_of(&app, &caller, "explain", vec![instance]).await;
    };
    let (kind, explanation) = if let Ok(timer) = id.parse::<TimerId>() {
        audited(timer.0.instance).await;
        ("timer", explain_timer_id(&app, timer).await?)
    } else if let Ok(task) = id.parse::<TaskId>() {
        audited(task.0.instance).await;
        ("task", explain_task_id(&app, task).await?)
    } else if let Ok(instance) = id.parse::<InstanceId>() {
        audited(instance).await;
        explain_instance_id(&app, instance).await?
    } else if let Some((schedule, scheduled_at)) = read_occurrence_id(&id) {
        ("occurrence", explain_occurrence_id(&app, schedule, scheduled_at).await?)
    } else {
        let text =
            format!("{id:?} is not the id of a timer, task, instance, schedule or occurrence");
        return Err(Problem::new(ProblemCode::UnknownId, text));
    };
    ok(Explanation { id, kind, explanation })
}

async fn explain_timer_id(app: &App, timer: TimerId) -> std::result::Result<String, Problem> {
    let unknown = || Problem::from(Error::UnknownTimer(timer));
    let row = show::require_undamaged(
        app.store().instance(timer.0.instance).await?.ok_or_else(unknown)?,
    )?;
    let history = app.store().history(row.last_history, MAX_HISTORY_ROWS).await?;
    let story = explain_timer(&row, &history, timer);
    if story.fate == Fate::Unknown && story.due_at.is_none() {
        return Err(unknown());
    }
    Ok(story.sentence())
}

async fn explain_task_id(app: &App, task: TaskId) -> std::result::Result<String, Problem> {
    let now = app.kernel().now().engine;
    if let Some(row) = app.store().task(task).await? {
        return Ok(explain_task(&row, now));
    }
    let unknown = || Problem::from(Error::UnknownTask(task));
    let row = app.store().instance(task.0.instance).await?.ok_or_else(unknown)?;
    let history = app.store().history(row.last_history, MAX_HISTORY_ROWS).await?;
    explain_past_task(&history, task).ok_or_else(unknown)
}

/// Explains an instance or a schedule: its kind and the explanation.
async fn explain_instance_id(
    app: &App,
    id: InstanceId,
) -> std::result::Result<(&'static str, String), Problem> {
    let row = find(app, id).await?;
    let definition = app.definitions().get(row.definition).await.ok();
    let is_schedule = definition.as_ref().is_some_and(|it| it.name == SCHEDULE_DEFINITION);
    if let Some(view) = ScheduleView::of_instance(&row).filter(|_| is_schedule) {
        let last = app.store().occurrences(id, Page { after: None, limit: 1 }).await?;
        return Ok(("schedule", explain_schedule(&row, &view, last.first())));
    }
    let incidents = app.store().incidents(Some(id), Page::first(MAX_INCIDENTS)).await?;
    let filter = TaskFilter { instance: Some(id), ..TaskFilter::default() };
    let tasks = app.store().tasks(filter, Page::first(MAX_TASKS)).await?;
    let view = definition.map(|it| show::view(&it, &row)).unwrap_or_default();
    let now = app.kernel().now().engine;
    Ok(("instance", explain_instance(&row, &view, &tasks, &incidents, now)))
}

async fn explain_occurrence_id(
    app: &App,
    schedule: InstanceId,
    key: OccurrenceKey,
) -> std::result::Result<String, Problem> {
    let scheduled_at = key.scheduled_at;
    let after =
        OccurrenceKey { scheduled_at: scheduled_at.saturating_add_millis(1), is_start: false };
    let page = Page { after: Some(after), limit: 2 };
    let rows = app.store().occurrences(schedule, page).await?;
    let row = rows.iter().find(|row| row.key() == key).ok_or_else(|| {
        Problem::new(
            ProblemCode::UnknownId,
            format!("nothing is known of an occurrence at {scheduled_at}"),
        )
    })?;
    Ok(explain_occurrence(row))
}
