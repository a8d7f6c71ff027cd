//! `/why/{id}`: one sentence about anything.

use axum::extract::State;
use meantime_core::{InstanceId, TaskId, TimerId, Timestamp};
use meantime_kernel::command::Error;
use meantime_kernel::explain::{
    Fate, explain_instance, explain_occurrence, explain_task, explain_timer,
};
use meantime_kernel::store::Page;
use utoipa_axum::routes;

use super::instance::find;
use super::reply::{Result, ok};
use super::table::Routes;
use crate::app::App;
use crate::audit;
use crate::auth::{Caller, Permission};
use crate::extract::Name;
use crate::problem::{Problem, Reason};
use crate::show;
use crate::wire::{Why, read_occurrence_id};

/// Rows of history that an explanation looks at.
const WALK: usize = 20_000;

/// Incidents that an explanation looks at.
const INCIDENTS: usize = 10;

pub(super) fn routes() -> Routes {
    Routes::new().add_long(Permission::Read, routes!(why))
}

/// Why something happened, did not happen, or has not happened yet.
#[utoipa::path(
    get, path = "/why/{id}", operation_id = "why", tag = "time",
    params(("id" = String, Path, description = "A timer, task, instance, schedule or occurrence")),
    responses((status = 200, description = "The answer", body = Why))
)]
async fn why(State(app): State<App>, caller: Caller, Name(id): Name<String>) -> Result<Why> {
    let audited = async |instance| audit::read_of(&app, &caller, "why", vec![instance]).await;
    let (kind, explanation) = if let Ok(timer) = id.parse::<TimerId>() {
        audited(timer.0.instance).await;
        ("timer", of_timer(&app, timer).await?)
    } else if let Ok(task) = id.parse::<TaskId>() {
        audited(task.0.instance).await;
        ("task", of_task(&app, task).await?)
    } else if let Ok(instance) = id.parse::<InstanceId>() {
        audited(instance).await;
        ("instance", of_instance(&app, instance).await?)
    } else if let Some((schedule, slot)) = read_occurrence_id(&id) {
        ("occurrence", of_occurrence(&app, schedule, slot).await?)
    } else {
        let text = format!("{id:?} is no id of a timer, task, instance, schedule or occurrence");
        return Err(Problem::new(Reason::UnknownId, text));
    };
    ok(Why { id, kind, explanation })
}

async fn of_timer(app: &App, timer: TimerId) -> std::result::Result<String, Problem> {
    let unknown = || Problem::from(Error::UnknownTimer(timer));
    let row = show::whole(app.store().instance(timer.0.instance).await?.ok_or_else(unknown)?)?;
    let history = app.store().history(row.last_history, WALK).await?;
    let story = explain_timer(&row, &history, timer);
    if story.fate == Fate::Unknown && story.due_at.is_none() {
        return Err(unknown());
    }
    Ok(story.sentence())
}

async fn of_task(app: &App, task: TaskId) -> std::result::Result<String, Problem> {
    let now = app.kernel().now().engine;
    if let Some(row) = app.store().task(task).await? {
        return Ok(explain_task(&row, now));
    }
    let unknown = || Problem::from(Error::UnknownTask(task));
    let row = app.store().instance(task.0.instance).await?.ok_or_else(unknown)?;
    let history = app.store().history(row.last_history, WALK).await?;
    explain_past_task(&history, task).ok_or_else(unknown)
}

/// A task that is over is known by the history of its instance.
fn explain_past_task(
    history: &[meantime_kernel::store::HistoryRow],
    task: TaskId,
) -> Option<String> {
    use meantime_kernel::history::Record;
    let records =
        history.iter().rev().flat_map(|row| row.records.iter().map(move |it| (row.at, it)));
    let mut text = None;
    for (at, record) in records {
        match record {
            Record::TaskScheduled { key, name } if *key == task.0 => {
                text = Some(format!("the task {name:?}, scheduled at {at},"));
            }
            Record::Event { name, key, note, .. } if *key == Some(task.0) && name == "taskDone" => {
                let how = note.as_ref().map_or_else(
                    || "was completed".to_owned(),
                    |code| format!("failed with {code}"),
                );
                text = text.map(|text| format!("{text} {how} at {at}"));
            }
            Record::TaskWithdrawn { key, .. } if *key == task.0 => {
                text = text.map(|text| format!("{text} was withdrawn at {at}"));
            }
            _ => {}
        }
    }
    text
}

async fn of_instance(app: &App, id: InstanceId) -> std::result::Result<String, Problem> {
    let row = find(app, id).await?;
    let incidents = app.store().incidents(Some(id), Page::first(INCIDENTS)).await?;
    Ok(explain_instance(&row, &incidents))
}

async fn of_occurrence(
    app: &App,
    schedule: InstanceId,
    slot: Timestamp,
) -> std::result::Result<String, Problem> {
    let after = slot.saturating_add_millis(1);
    let page = Page { after: Some(after), limit: 1 };
    let rows = app.store().occurrences(schedule, page).await?;
    let row = rows.first().filter(|row| row.occurrence.slot_at == slot);
    let row = row.ok_or_else(|| {
        Problem::new(Reason::UnknownId, format!("nothing is known of a slot at {slot}"))
    })?;
    Ok(explain_occurrence(row))
}
