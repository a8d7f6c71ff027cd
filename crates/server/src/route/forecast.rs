//! `/forecast`: everything that will fire in a time window.
//!
//! Entries come in pages, and counts are exact however many timers and schedules there are: timers
//! are counted by the store, schedules one page of them after the other, so that memory is bounded.

use axum::extract::State;
use meantime_core::{DefinitionId, InstanceId, SCHEDULE_DEFINITION, Timestamp};
use meantime_kernel::schedule::ScheduleView;
use meantime_kernel::schedule::{
    Buckets, Due as DueEntry, DueKey, DueOf, Forecast as ForecastEntries, Outlook,
};
use meantime_kernel::store::{InstanceFilter, Page, TimerCount, TimerFilter, TimerKey, TimerRow};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::routes;

use super::reply::{Result, ok};
use super::schedule::already_started;
use super::table::Routes;
use crate::app::App;
use crate::audit;
use crate::auth::{Caller, Permission};
use crate::extract::Query;
use crate::pagination;
use crate::problem::{Problem, ProblemCode};
use crate::wire::{
    DurationParam, Forecast, ForecastBucket, InstanceStatus, InstantParam, UpcomingEvent,
};

/// Maximum and default number of entries of a page.
const MAX_ENTRIES: usize = 1_000;

/// Rows read from the store at a time.
const SCAN_PAGE_ROWS: usize = 1_000;

/// Maximum number of buckets.
const MAX_BUCKETS: u64 = 100_000;

/// The default length of the window.
const DAY_MS: i64 = 86_400_000;

pub(super) fn routes() -> Routes {
    Routes::new().add_long(Permission::Read, routes!(get))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ForecastQuery {
    /// Start of the window: an instant, or a duration from now; now by default.
    #[serde(default)]
    from: Option<String>,
    /// End of the window; a day after its start by default.
    #[serde(default)]
    #[param(example = "P7D")]
    to: Option<String>,
    /// Count per bucket of this length; at most 100,000 buckets.
    #[serde(default)]
    #[param(example = "PT1H")]
    bucket: Option<String>,
    /// Only timers of this definition, and schedules that start it.
    #[serde(default)]
    definition: Option<String>,
    /// Maximum number of entries: 1,000 by default and at most.
    #[serde(default)]
    limit: Option<usize>,
    /// The `nextCursor` of the previous page.
    #[serde(default)]
    cursor: Option<String>,
}

/// The time window and its filter.
struct Window {
    now: Timestamp,
    from: Timestamp,
    to: Timestamp,
    definition: Option<String>,
    /// The versions of that definition.
    versions: Vec<DefinitionId>,
    /// The versions of the definition that schedules are instances of.
    schedules: Vec<DefinitionId>,
}

/// Returns everything that will fire in a time window: timers, deadlines and schedule occurrences.
#[utoipa::path(
    get, path = "/forecast", operation_id = "getForecast", tag = "time", params(ForecastQuery),
    responses((status = 200, description = "The forecast", body = Forecast))
)]
async fn get(
    State(app): State<App>,
    caller: Caller,
    Query(query): Query<ForecastQuery>,
) -> Result<Forecast> {
    let now = app.kernel().now().engine;
    let moment = |text: &String| InstantParam::parse(text).and_then(|moment| moment.from(now));
    let from = query.from.as_ref().map(moment).transpose()?.unwrap_or(now);
    let to = query.to.as_ref().map(moment).transpose()?;
    let to = to.unwrap_or_else(|| from.saturating_add_millis(DAY_MS));
    if to < from {
        return Err(Problem::new(ProblemCode::InvalidQuery, "the window ends before it begins"));
    }
    let mut buckets =
        query.bucket.as_deref().map(|text| parse_buckets(text, from, to)).transpose()?;
    let limit = query.limit.map_or(Ok(MAX_ENTRIES), |asked| pagination::limit(Some(asked)))?;
    let after = pagination::read_cursor(query.cursor.as_deref(), read_cursor)?;
    let versions = match &query.definition {
        Some(name) => app.definitions().find_ids(Some(name.clone()), None, None).await?,
        None => Vec::new(),
    };
    let schedules =
        app.definitions().find_ids(Some(SCHEDULE_DEFINITION.to_owned()), None, None).await?;
    let window = Window { now, from, to, definition: query.definition, versions, schedules };
    let mut entries = ForecastEntries::new(from, to, after, limit);
    add_timers(&app, &window, after, limit, &mut entries).await?;
    if let Some((bucket_ms, buckets)) = &mut buckets {
        count_timers(&app, &window, *bucket_ms, buckets).await?;
    }
    let mut counts = buckets.map(|(_, buckets)| buckets);
    add_schedules(&app, &window, &mut entries, counts.as_mut()).await?;
    let (entries, truncated) = entries.finish();
    let next_cursor = entries.last().filter(|_| truncated).map(|(key, _)| write_cursor(*key));
    let shown = entries.iter().filter_map(|(key, entry)| match (&key.of, entry) {
        (DueOf::Timer(id), DueEntry::Timer { definition, .. }) => {
            Some((id.0.instance, *definition))
        }
        _ => None,
    });
    audit::log_guarded_read(&app, &caller, "getForecast", shown.collect()).await;
    let mut items = Vec::with_capacity(entries.len());
    for (key, entry) in entries {
        items.push(to_event(&app, key, entry).await?);
    }
    let counted = counts.map(|counts| {
        counts.finish().into_iter().map(|(at, count)| ForecastBucket { at, count }).collect()
    });
    ok(Forecast { from, to, items, buckets: counted, truncated, next_cursor })
}

/// Parses the bucket length. A length that gives too many buckets is an error, never adjusted.
fn parse_buckets(
    text: &str,
    from: Timestamp,
    to: Timestamp,
) -> std::result::Result<(i64, Buckets), Problem> {
    let bucket_ms = DurationParam::parse(text)?.millis_from(from)?;
    let bucket_ms = i64::try_from(bucket_ms).unwrap_or(i64::MAX);
    if bucket_ms == 0 {
        return Err(Problem::new(ProblemCode::InvalidQuery, "`bucket` must be longer than zero"));
    }
    let parts = Buckets::parts(from, to, bucket_ms);
    if parts > MAX_BUCKETS {
        let text =
            format!("the window has {parts} buckets of {text}; the maximum is {MAX_BUCKETS}");
        return Err(Problem::new(ProblemCode::InvalidQuery, text));
    }
    Ok((bucket_ms, Buckets::new(from, to, bucket_ms)))
}

/// The earliest timers of the window, page by page until there are enough.
async fn add_timers(
    app: &App,
    window: &Window,
    after: Option<DueKey>,
    limit: usize,
    entries: &mut ForecastEntries,
) -> std::result::Result<(), Problem> {
    if window.matches_nothing() {
        return Ok(());
    }
    let filter = TimerFilter {
        definitions: window.versions.clone(),
        due_from: Some(after.map_or(window.from, |after| first_instant(after).max(window.from))),
        due_before: Some(window.to),
        before_deadline: true,
        ..TimerFilter::default()
    };
    let mut after = after.and_then(|after| match after.of {
        DueOf::Timer(id) => Some(TimerKey { frozen: false, due_at: after.at, id }),
        DueOf::Occurrence(..) => None,
    });
    let mut found = 0;
    loop {
        let rows =
            app.store().timers(filter.clone(), Page { after, limit: SCAN_PAGE_ROWS }).await?;
        let is_wanted =
            |row: &&TimerRow| !row.frozen && !window.schedules.contains(&row.definition);
        for row in rows.iter().filter(is_wanted) {
            entries.add_timer(row);
            found += 1;
        }
        after = rows.last().map(TimerRow::key);
        // Frozen ones come last.
        let is_end = rows.len() < SCAN_PAGE_ROWS || after.is_some_and(|key| key.frozen);
        if is_end || found > limit {
            return Ok(());
        }
    }
}

/// Where timers continue after a cursor: timers come before occurrences of the same instant.
const fn first_instant(after: DueKey) -> Timestamp {
    match after.of {
        DueOf::Timer(_) => after.at,
        DueOf::Occurrence(..) => after.at.saturating_add_millis(1),
    }
}

async fn count_timers(
    app: &App,
    window: &Window,
    bucket_ms: i64,
    buckets: &mut Buckets,
) -> std::result::Result<(), Problem> {
    if window.matches_nothing() {
        return Ok(());
    }
    let others = window.definition.is_none();
    let definitions = if others { window.schedules.clone() } else { window.versions.clone() };
    let (from, to) = (window.from, window.to);
    let query = TimerCount { from, to, bucket_ms, definitions, others };
    for (part, count) in app.store().count_timers(query).await? {
        buckets.add(usize::try_from(part).unwrap_or(usize::MAX), count);
    }
    Ok(())
}

/// All schedules, page by page.
async fn add_schedules(
    app: &App,
    window: &Window,
    entries: &mut ForecastEntries,
    mut buckets: Option<&mut Buckets>,
) -> std::result::Result<(), Problem> {
    let filter = InstanceFilter {
        definitions: window.schedules.clone(),
        phases: InstanceStatus::Running.phases().to_vec(),
        ..InstanceFilter::default()
    };
    let mut after: Option<InstanceId> = None;
    while !window.schedules.is_empty() {
        let rows =
            app.store().instances(filter.clone(), Page { after, limit: SCAN_PAGE_ROWS }).await?;
        for row in &rows {
            let Some(view) = ScheduleView::of_instance(row) else { continue };
            if window.definition.as_ref().is_some_and(|name| view.spec.definition != *name) {
                continue;
            }
            let filled = already_started(app, row.id, &view).await?;
            let outlook = Outlook::new(&view, window.now, &filled, app.kernel().limits());
            entries.add_schedule(row.id, &outlook, &view.spec.definition);
            if let Some(buckets) = &mut buckets {
                buckets.add_schedule(&outlook);
            }
        }
        after = rows.last().map(|row| row.id);
        if rows.len() < SCAN_PAGE_ROWS {
            break;
        }
    }
    Ok(())
}

impl Window {
    /// Whether the definition filter matches no definition.
    fn matches_nothing(&self) -> bool {
        self.definition.is_some() && self.versions.is_empty()
    }
}

async fn to_event(
    app: &App,
    key: DueKey,
    entry: DueEntry,
) -> std::result::Result<UpcomingEvent, Problem> {
    let at = key.at;
    Ok(match (key.of, entry) {
        (DueOf::Occurrence(schedule, scheduled_at), DueEntry::Occurrence { definition }) => {
            UpcomingEvent {
                at,
                kind: "occurrence",
                id: schedule.to_string(),
                instance_id: None,
                definition,
                element: None,
                scheduled_at: Some(scheduled_at).filter(|scheduled_at| *scheduled_at != at),
            }
        }
        (DueOf::Timer(id), DueEntry::Timer { kind, definition, element }) => UpcomingEvent {
            at,
            kind: kind.name(),
            id: id.to_string(),
            instance_id: Some(id.0.instance.to_string()),
            definition: app.definitions().get(definition).await?.name.clone(),
            element: Some(element),
            scheduled_at: None,
        },
        _ => return Err(Problem::new(ProblemCode::Internal, "inconsistent entry of a forecast")),
    })
}

/// The cursor of an entry: the instant, and the timer, or the schedule with its occurrence.
fn write_cursor(key: DueKey) -> String {
    let at = key.at.as_millis();
    match key.of {
        DueOf::Timer(id) => format!("{at}.{id}"),
        DueOf::Occurrence(schedule, scheduled_at) => {
            format!("{at}.{schedule}.{}", scheduled_at.as_millis())
        }
    }
}

/// Reads a cursor, and writes what was read.
#[cfg(feature = "fuzz")]
pub(crate) fn rewrite_cursor(text: &str) -> Option<String> {
    read_cursor(text).map(write_cursor)
}

/// Reads what [`write_cursor`] wrote.
fn read_cursor(text: &str) -> Option<DueKey> {
    let instant = |text: &str| Timestamp::try_from_millis(text.parse().ok()?).ok();
    let (at, of) = text.split_once('.')?;
    let of = match of.split_once('.') {
        Some((schedule, scheduled_at)) => {
            DueOf::Occurrence(schedule.parse().ok()?, instant(scheduled_at)?)
        }
        None => DueOf::Timer(of.parse().ok()?),
    };
    Some(DueKey { at: instant(at)?, of })
}
