//! Schedules.

use meantime_core::time::{Rule, Span};
use meantime_core::{CatchUp, Handed, InstanceId, Json, Overlap, Timestamp};
use meantime_kernel::schedule::ScheduleView;
use meantime_kernel::store::{InstanceRow, OccurrenceRow, Phase};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A schedule to make.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct NewSchedule {
    /// The definition it starts.
    pub(crate) definition: String,
    /// The version it starts; the latest one of now when not given.
    #[serde(default)]
    pub(crate) version: Option<u32>,
    /// Whom it is for.
    #[serde(default)]
    pub(crate) subject: Option<String>,
    /// Where runs begin, when not at the definition's own start.
    #[serde(default)]
    pub(crate) start: Option<String>,
    /// The first slot of an interval, or the instant after which cron counts; now when not given.
    /// Without interval and cron, the one slot there is.
    #[serde(default)]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub(crate) start_at: Option<Timestamp>,
    /// How long from slot to slot.
    #[serde(default)]
    #[schema(value_type = Option<String>, example = "P1M")]
    pub(crate) interval: Option<String>,
    /// Slots as a cron expression.
    #[serde(default)]
    #[schema(example = "0 9 * * MON-FRI")]
    pub(crate) cron: Option<String>,
    /// The IANA zone of local times; UTC when not given.
    #[serde(default)]
    #[schema(example = "Europe/Berlin")]
    pub(crate) zone: Option<String>,
    /// How many runs there are.
    #[serde(default)]
    #[schema(minimum = 1)]
    #[schema(format = "uint64")]
    pub(crate) max_runs: Option<u64>,
    /// What to do when the run before is still going.
    #[serde(default)]
    #[schema(value_type = Option<String>, example = "skip")]
    pub(crate) overlap: Overlap,
    /// What to do with slots that nobody was there for.
    #[serde(default)]
    #[schema(value_type = Option<String>, example = "coalesce")]
    pub(crate) catch_up: CatchUp,
    /// What every run gets.
    #[serde(default)]
    #[schema(value_type = Option<serde_json::Value>)]
    pub(crate) input: Option<Json>,
    /// What the first run gets as its context; each later one gets that of the one before.
    #[serde(default)]
    #[schema(value_type = Option<serde_json::Value>)]
    pub(crate) context: Option<Json>,
    /// What to do when one of the same definition, version, subject and start is active.
    #[serde(default)]
    pub(crate) on_existing: OnExisting,
}

/// What to do when a schedule of the same identity is active.
#[derive(Debug, Clone, Copy, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum OnExisting {
    /// Make another one.
    #[default]
    AddAnother,
    /// Refuse with `SCHEDULE_EXISTS`.
    Fail,
    /// Change that one.
    Upsert,
}

impl From<OnExisting> for meantime_core::OnExisting {
    fn from(it: OnExisting) -> Self {
        match it {
            OnExisting::AddAnother => Self::AddAnother,
            OnExisting::Fail => Self::Fail,
            OnExisting::Upsert => Self::Upsert,
        }
    }
}

/// What to change about a schedule; what is not given stays.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ChangeSchedule {
    /// The first slot of an interval, or the instant after which cron counts.
    #[serde(default)]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub(crate) start_at: Option<Timestamp>,
    /// How long from slot to slot.
    #[serde(default)]
    #[schema(value_type = Option<String>, example = "P1M")]
    pub(crate) interval: Option<String>,
    /// Slots as a cron expression.
    #[serde(default)]
    pub(crate) cron: Option<String>,
    /// The IANA zone of local times.
    #[serde(default)]
    pub(crate) zone: Option<String>,
    /// How many runs there are.
    #[serde(default)]
    #[schema(minimum = 1)]
    #[schema(format = "uint64")]
    pub(crate) max_runs: Option<u64>,
    /// What to do when the run before is still going.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    pub(crate) overlap: Option<Overlap>,
    /// What to do with slots that nobody was there for.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    pub(crate) catch_up: Option<CatchUp>,
    /// What every run gets.
    #[serde(default)]
    #[schema(value_type = Option<serde_json::Value>)]
    pub(crate) input: Option<Json>,
    /// For those who look at it later.
    #[serde(default)]
    pub(crate) reason: Option<String>,
}

/// A range to fill back.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Backfill {
    /// From this instant on.
    #[schema(value_type = String, format = DateTime)]
    pub(crate) from: Timestamp,
    /// Up to this one, not included.
    #[schema(value_type = String, format = DateTime)]
    pub(crate) to: Timestamp,
}

/// How a schedule stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum ScheduleState {
    /// It has slots to come.
    Active,
    /// Somebody paused it.
    Paused,
    /// All its runs are over, or it was deleted.
    Completed,
}

/// A schedule.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Schedule {
    /// Its id.
    id: String,
    /// The definition it starts.
    definition: String,
    /// The version it starts.
    version: u32,
    /// The author's own version of the definition.
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<String>,
    /// Whom it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    subject: Option<String>,
    /// Where runs begin.
    #[serde(skip_serializing_if = "Option::is_none")]
    start: Option<String>,
    /// Where its rule begins.
    #[schema(value_type = String, format = DateTime)]
    start_at: Timestamp,
    /// How long from slot to slot.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    interval: Option<Span>,
    /// Slots as a cron expression.
    #[serde(skip_serializing_if = "Option::is_none")]
    cron: Option<String>,
    /// The IANA zone of local times.
    zone: String,
    /// How many runs there are.
    #[serde(skip_serializing_if = "Option::is_none")]
    max_runs: Option<u64>,
    /// Runs that are over.
    runs_executed: u64,
    /// Runs that are going.
    running: usize,
    /// The next slot.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    next_at: Option<Timestamp>,
    /// What the next run gets, when contexts are handed on.
    #[schema(value_type = serde_json::Value)]
    last_context: Json,
    /// What every run gets, when contexts are not handed on.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    input: Option<Json>,
    /// How it stands.
    state: ScheduleState,
    /// What to do when the run before is still going.
    #[schema(value_type = String)]
    overlap: Overlap,
    /// What to do with slots that nobody was there for.
    #[schema(value_type = String)]
    catch_up: CatchUp,
}

impl Schedule {
    pub(crate) fn of(row: &InstanceRow, view: ScheduleView) -> Self {
        let spec = view.spec;
        let (start_at, interval, cron, zone) = match spec.rule {
            Rule::Once { at } => (at, None, None, "UTC".to_owned()),
            Rule::Every { anchor, interval, zone, .. } => {
                (anchor, Some(interval), None, zone.name().to_owned())
            }
            Rule::Cron { cron, zone, from, .. } => {
                // The rule begins behind its anchor; what people see is the first instant it holds.
                let first = from.saturating_add_millis(1);
                (first, None, Some(cron.as_str().to_owned()), zone.name().to_owned())
            }
        };
        Self {
            id: row.id.to_string(),
            definition: spec.definition,
            version: spec.version,
            label: spec.label,
            subject: spec.subject,
            start: spec.start,
            start_at,
            interval,
            cron,
            zone,
            max_runs: spec.max_runs,
            runs_executed: view.runs_executed,
            running: view.running,
            next_at: view.next_at.filter(|_| !row.phase.is_ended()),
            last_context: view.last_context,
            input: match spec.input {
                Handed::Input(input) => Some(input),
                Handed::Context(_) => None,
            },
            state: state_of(row.phase, view.paused),
            overlap: spec.overlap,
            catch_up: spec.catch_up,
        }
    }
}

fn state_of(phase: Phase, paused: bool) -> ScheduleState {
    match paused {
        _ if phase.is_ended() => ScheduleState::Completed,
        true => ScheduleState::Paused,
        false => ScheduleState::Active,
    }
}

/// The next slots of a schedule.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct NextSlots {
    /// In order, as they will fire if nothing is changed.
    #[schema(value_type = Vec<String>)]
    pub(crate) items: Vec<Timestamp>,
}

/// What became of a slot, or of several in a row.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Occurrence {
    /// Its id, to ask why.
    id: String,
    /// The first slot.
    #[schema(value_type = String, format = DateTime)]
    slot_at: Timestamp,
    /// The last one; the same when it is one.
    #[schema(value_type = String, format = DateTime)]
    last_at: Timestamp,
    /// How many.
    count: u64,
    /// `started`, `skipped`, `missed` or `failed`.
    outcome: &'static str,
    /// Why.
    #[serde(skip_serializing_if = "String::is_empty")]
    reason: String,
    /// The run that was started.
    #[serde(skip_serializing_if = "Option::is_none")]
    instance_id: Option<String>,
    /// When it was decided.
    #[schema(value_type = String, format = DateTime)]
    decided_at: Timestamp,
}

impl From<&OccurrenceRow> for Occurrence {
    fn from(row: &OccurrenceRow) -> Self {
        let it = &row.occurrence;
        Self {
            id: occurrence_id(row.schedule, it.slot_at),
            slot_at: it.slot_at,
            last_at: it.last_at,
            count: it.count,
            outcome: it.outcome.name(),
            reason: it.reason.clone(),
            instance_id: row.instance.map(|id| id.to_string()),
            decided_at: row.decided_at,
        }
    }
}

/// An occurrence is known by its schedule and its slot.
pub(crate) fn occurrence_id(schedule: InstanceId, slot: Timestamp) -> String {
    let schedule = schedule.to_string();
    let schedule = schedule.strip_prefix("in_").unwrap_or(&schedule);
    format!("oc_{schedule}-{}", slot.as_millis())
}

/// Reads what [`occurrence_id`] wrote.
pub(crate) fn read_occurrence_id(text: &str) -> Option<(InstanceId, Timestamp)> {
    let (schedule, slot) = text.strip_prefix("oc_")?.split_once('-')?;
    let slot = Timestamp::try_from_millis(slot.parse().ok()?).ok()?;
    Some((format!("in_{schedule}").parse().ok()?, slot))
}
