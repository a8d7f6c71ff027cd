//! `/forecast`: everything that will fire in a window.

use std::collections::BTreeMap;

use axum::extract::State;
use meantime_core::{DefinitionId, InstanceId, SCHEDULE_DEFINITION, TimerId, Timestamp};
use meantime_kernel::schedule::{DueKind, ScheduleView, buckets, forecast};
use meantime_kernel::store::{InstanceFilter, Page, TimerFilter, TimerRow};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::routes;

use super::reply::{Result, ok};
use super::table::Routes;
use crate::app::App;
use crate::auth::Permission;
use crate::extract::Query;
use crate::problem::{Problem, Reason};
use crate::wire::{Bucket, Due, Forecast, Lasting, Moment, Status};

/// Entries, timers and schedules that one forecast looks at.
const MOST: usize = 10_000;

/// The window when none is named.
const DAY_MS: i64 = 86_400_000;

pub(super) fn routes() -> Routes {
    Routes::new().add_long(Permission::Read, routes!(get))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ForecastQuery {
    /// Where the window begins: an instant, or a duration from now on; now when not given.
    #[serde(default)]
    from: Option<String>,
    /// Where it ends; a day after its beginning when not given.
    #[serde(default)]
    #[param(example = "P7D")]
    to: Option<String>,
    /// Count in parts of this length.
    #[serde(default)]
    #[param(example = "PT1H")]
    bucket: Option<String>,
}

/// Everything that will fire in a window: timers, deadlines, and schedules expanded.
#[utoipa::path(
    get, path = "/forecast", operation_id = "forecast", tag = "time", params(ForecastQuery),
    responses((status = 200, description = "What will fire", body = Forecast))
)]
async fn get(State(app): State<App>, Query(query): Query<ForecastQuery>) -> Result<Forecast> {
    let now = app.kernel().now().engine;
    let moment = |text: &String| Moment::parse(text).and_then(|moment| moment.from(now));
    let from = query.from.as_ref().map(moment).transpose()?.unwrap_or(now);
    let to = query.to.as_ref().map(moment).transpose()?;
    let to = to.unwrap_or_else(|| from.saturating_add_millis(DAY_MS));
    if to < from {
        return Err(Problem::new(Reason::InvalidQuery, "the window ends before it begins"));
    }
    let (timers, more) = timers(&app, from, to).await?;
    let schedules = schedules(&app).await?;
    let due = forecast(&timers, &schedules, from, to, MOST + 1);
    let bucket = query.bucket.as_deref().map(Lasting::parse).transpose()?;
    let bucket = bucket.map(|it| it.millis_from(from)).transpose()?;
    let counted = bucket.map(|ms| {
        let counted = buckets(&due, from, to, i64::try_from(ms).unwrap_or(i64::MAX));
        counted.into_iter().map(|(at, count)| Bucket { at, count }).collect()
    });
    let definitions: BTreeMap<TimerId, DefinitionId> =
        timers.iter().map(|row| (row.id, row.definition)).collect();
    let truncated = more || due.len() > MOST;
    let mut items = Vec::with_capacity(due.len().min(MOST));
    for it in due.into_iter().take(MOST) {
        items.push(shown(&app, it.at, it.kind, &definitions).await?);
    }
    ok(Forecast { from, to, items, buckets: counted, truncated })
}

async fn shown(
    app: &App,
    at: Timestamp,
    kind: DueKind,
    definitions: &BTreeMap<TimerId, DefinitionId>,
) -> std::result::Result<Due, Problem> {
    Ok(match kind {
        DueKind::Slot { schedule, definition } => Due {
            at,
            kind: "slot",
            id: schedule.to_string(),
            instance_id: None,
            definition,
            place: None,
        },
        DueKind::Timer { id, kind, place } => {
            let definition = match definitions.get(&id) {
                Some(definition) => app.catalog().get(*definition).await?.name.clone(),
                None => String::new(),
            };
            Due {
                at,
                kind: kind.name(),
                id: id.to_string(),
                instance_id: Some(id.0.instance.to_string()),
                definition,
                place: Some(place),
            }
        }
    })
}

/// Armed timers of the window, and whether there are more.
async fn timers(
    app: &App,
    from: Timestamp,
    to: Timestamp,
) -> std::result::Result<(Vec<TimerRow>, bool), Problem> {
    let filter = TimerFilter {
        due_from: Some(from),
        due_before: Some(to),
        before_deadline: true,
        ..TimerFilter::default()
    };
    let mut rows = app.store().timers(filter, Page::first(MOST + 1)).await?;
    let more = rows.len() > MOST;
    rows.truncate(MOST);
    Ok((rows, more))
}

/// Schedules that have slots to come.
async fn schedules(app: &App) -> std::result::Result<Vec<(InstanceId, ScheduleView)>, Problem> {
    let filter = InstanceFilter {
        definitions: app.catalog().ids(Some(SCHEDULE_DEFINITION.to_owned()), None).await?,
        phases: Status::Running.phases().to_vec(),
        ..InstanceFilter::default()
    };
    let rows = app.store().instances(filter, Page::first(MOST)).await?;
    let view =
        |row: &meantime_kernel::store::InstanceRow| Some((row.id, ScheduleView::read(&row.state)?));
    Ok(rows.iter().filter_map(view).collect())
}
