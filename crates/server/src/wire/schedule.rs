//! Wire types of schedules.

use meantime_core::time::{Cron, Rule, Span, TimeError, Zone};
use meantime_core::{CatchUp, InstanceId, Json, Overlap, ScheduleChange, ScheduleInput, Timestamp};
use meantime_kernel::schedule::ScheduleView;
use meantime_kernel::store::{InstanceRow, OccurrenceKey, OccurrenceRow, Phase};
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

/// The request to create a schedule.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct NewSchedule {
    /// The definition it starts.
    pub(crate) definition: String,
    /// The version to start; by default the latest one when the schedule is created.
    #[serde(default)]
    pub(crate) version: Option<u32>,
    /// The subject: what or whom the schedule is for.
    #[serde(default)]
    pub(crate) subject: Option<String>,
    /// The element where runs start, if not at the default start of the definition.
    #[serde(default)]
    pub(crate) start: Option<String>,
    /// The first occurrence of an interval, or the start of a cron rule; now by default. Without
    /// interval and cron, the only occurrence.
    #[serde(default)]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub(crate) start_at: Option<Timestamp>,
    /// The interval between occurrences.
    #[serde(default)]
    #[schema(value_type = Option<String>, example = "P1M")]
    pub(crate) interval: Option<String>,
    /// The cron expression of the occurrences.
    #[serde(default)]
    #[schema(example = "0 9 * * MON-FRI")]
    pub(crate) cron: Option<String>,
    /// The IANA time zone of the rule; UTC by default.
    #[serde(default)]
    #[schema(example = "Europe/Berlin")]
    pub(crate) zone: Option<String>,
    /// Maximum number of runs.
    #[serde(default)]
    #[schema(minimum = 1)]
    #[schema(format = "uint64")]
    pub(crate) max_runs: Option<u64>,
    /// The overlap policy: what to do when the previous run has not ended.
    #[serde(default)]
    #[schema(value_type = Option<String>, example = "skip")]
    pub(crate) overlap: Overlap,
    /// The catch-up policy: what to do with missed occurrences.
    #[serde(default)]
    #[schema(value_type = Option<String>, example = "coalesce")]
    pub(crate) catch_up: CatchUp,
    /// The input of every run.
    #[serde(default)]
    #[schema(value_type = Option<serde_json::Value>)]
    pub(crate) input: Option<Json>,
    /// The context of the first run; each later run gets the final context of the previous one.
    #[serde(default)]
    #[schema(value_type = Option<serde_json::Value>)]
    pub(crate) context: Option<Json>,
    /// What to do if an active schedule has the same definition, version, subject and start.
    #[serde(default)]
    pub(crate) on_existing: OnExistingSchedule,
}

/// What to do if an active schedule has the same definition, version, subject and start.
#[derive(Debug, Clone, Copy, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum OnExistingSchedule {
    /// Create another one.
    #[default]
    AddAnother,
    /// Reject the request with `SCHEDULE_EXISTS`.
    Fail,
    /// Update the existing one.
    Upsert,
}

impl From<OnExistingSchedule> for meantime_core::OnExisting {
    fn from(it: OnExistingSchedule) -> Self {
        match it {
            OnExistingSchedule::AddAnother => Self::AddAnother,
            OnExistingSchedule::Fail => Self::Fail,
            OnExistingSchedule::Upsert => Self::Upsert,
        }
    }
}

/// Changes of a schedule; members that are absent stay as they are.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ScheduleUpdate {
    /// The `generation` that the change is based on: if the schedule has changed since, the update
    /// is rejected with `SCHEDULE_CHANGED`.
    #[serde(default)]
    #[schema(format = "uint64")]
    pub(crate) generation: Option<u64>,
    /// The first occurrence of an interval, or the start of a cron rule.
    #[serde(default)]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub(crate) start_at: Option<Timestamp>,
    /// The interval between occurrences.
    #[serde(default)]
    #[schema(value_type = Option<String>, example = "P1M")]
    pub(crate) interval: Option<String>,
    /// The cron expression of the occurrences.
    #[serde(default)]
    pub(crate) cron: Option<String>,
    /// The IANA time zone of the rule.
    #[serde(default)]
    pub(crate) zone: Option<String>,
    /// Maximum number of runs; `null` removes the limit.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<u64>, minimum = 1, format = "uint64")]
    #[expect(clippy::option_option, reason = "not given differs from null")]
    pub(crate) max_runs: Option<Option<u64>>,
    /// The overlap policy: what to do when the previous run has not ended.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    pub(crate) overlap: Option<Overlap>,
    /// The catch-up policy: what to do with missed occurrences.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    pub(crate) catch_up: Option<CatchUp>,
    /// The input of every run.
    #[serde(default)]
    #[schema(value_type = Option<serde_json::Value>)]
    pub(crate) input: Option<Json>,
    /// Why the operator does this; recorded in the history.
    #[serde(default)]
    pub(crate) reason: Option<String>,
}

/// Tells `null` from an absent member.
#[expect(clippy::option_option, reason = "not given differs from null")]
fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<u64>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

impl ScheduleUpdate {
    /// Parses the change; returns it with the reason.
    pub(crate) fn read(self) -> Result<(ScheduleChange, Option<String>), TimeError> {
        let change = ScheduleChange {
            generation: self.generation,
            start_at: self.start_at,
            interval: self.interval.as_deref().map(Span::parse).transpose()?,
            cron: self.cron.as_deref().map(Cron::parse).transpose()?,
            zone: self.zone.as_deref().map(Zone::parse).transpose()?,
            max_runs: self.max_runs,
            overlap: self.overlap,
            catch_up: self.catch_up,
            input: self.input,
        };
        Ok((change, self.reason))
    }
}

/// The time range of a backfill.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ScheduleBackfill {
    /// Start of the range.
    #[schema(value_type = String, format = DateTime)]
    pub(crate) from: Timestamp,
    /// End of the range, exclusive.
    #[schema(value_type = String, format = DateTime)]
    pub(crate) to: Timestamp,
}

/// The result of a backfill request.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ScheduleBackfillResult {
    /// Number of occurrences that will be started: those without a run, up to the runs that are
    /// left.
    pub(crate) will_run: u64,
}

/// The state of a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum ScheduleState {
    /// More occurrences will follow.
    Active,
    /// Paused by an operator.
    Paused,
    /// All runs have ended, or it was deleted.
    Completed,
}

/// A schedule.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Schedule {
    /// Id, opaque.
    id: String,
    /// The definition it starts.
    definition: String,
    /// The version it starts.
    version: u32,
    /// The label of the definition: the author's own version.
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<String>,
    /// The subject: what or whom the schedule is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    subject: Option<String>,
    /// The element where runs start.
    #[serde(skip_serializing_if = "Option::is_none")]
    start: Option<String>,
    /// The start of its rule.
    #[schema(value_type = String, format = DateTime)]
    start_at: Timestamp,
    /// The interval between occurrences.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    interval: Option<Span>,
    /// The cron expression of the occurrences.
    #[serde(skip_serializing_if = "Option::is_none")]
    cron: Option<String>,
    /// The IANA time zone of the rule.
    zone: String,
    /// Maximum number of runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    max_runs: Option<u64>,
    /// Number of runs that have ended.
    runs_executed: u64,
    /// Number of runs that have not ended.
    running: u64,
    /// Number of occurrences that wait for the end of a run or for a backfill.
    waiting: u64,
    /// Incremented by every change; see `generation` of an update.
    generation: u64,
    /// When the next occurrence is due; absent while the schedule is paused or its timer is frozen.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    next_at: Option<Timestamp>,
    /// The context of the next run, if contexts are handed on.
    #[schema(value_type = serde_json::Value)]
    last_context: Json,
    /// The input of every run, unless contexts are handed on.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    input: Option<Json>,
    /// The state.
    state: ScheduleState,
    /// The overlap policy: what to do when the previous run has not ended.
    #[schema(value_type = String)]
    overlap: Overlap,
    /// The catch-up policy: what to do with missed occurrences.
    #[schema(value_type = String)]
    catch_up: CatchUp,
}

impl Schedule {
    /// `live` is the number of running instances in the store. The schedule learns of an end a
    /// moment later, and a deleted schedule never does, so the smaller number is correct.
    pub(crate) fn of(row: &InstanceRow, view: ScheduleView, live: u64) -> Self {
        let next_at = view.next_at().filter(|_| !row.phase.is_ended());
        let known = u64::try_from(view.running).unwrap_or(u64::MAX);
        let running = known.min(live);
        let runs_executed = view.runs_executed.saturating_add(known - running);
        let is_over = row.phase.is_ended();
        let spec = view.spec;
        let (start_at, interval, cron, zone) = match spec.rule {
            Rule::Once { at } => (at, None, None, "UTC".to_owned()),
            Rule::Every { anchor, interval, zone, .. } => {
                (anchor, Some(interval), None, zone.name().to_owned())
            }
            Rule::Cron { cron, zone, from, .. } => {
                // The stored rule begins one millisecond before its first instant; clients see that
                // first instant.
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
            runs_executed,
            running,
            waiting: if is_over { 0 } else { view.waiting },
            generation: view.generation,
            next_at,
            last_context: view.last_context,
            input: match spec.input {
                ScheduleInput::Input(input) => Some(input),
                ScheduleInput::Context(_) => None,
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

/// The next occurrences of a schedule.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct NextOccurrences {
    /// The instants in order, if nothing changes.
    #[schema(value_type = Vec<String>)]
    pub(crate) items: Vec<Timestamp>,
}

/// The outcome of an occurrence, or of a range of them.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Occurrence {
    /// Id, for `/why/{id}`.
    id: String,
    /// The scheduled instant; of a range, the first one.
    #[schema(value_type = String, format = DateTime)]
    scheduled_at: Timestamp,
    /// The last scheduled instant of the range.
    #[schema(value_type = String, format = DateTime)]
    last_at: Timestamp,
    /// The number of occurrences in the range.
    count: u64,
    /// `started`, `skipped`, `missed` or `failed`.
    outcome: &'static str,
    /// The reason.
    #[serde(skip_serializing_if = "String::is_empty")]
    reason: String,
    /// Id of the instance that was started.
    #[serde(skip_serializing_if = "Option::is_none")]
    instance_id: Option<String>,
    /// When the outcome was recorded.
    #[schema(value_type = String, format = DateTime)]
    decided_at: Timestamp,
}

impl From<&OccurrenceRow> for Occurrence {
    fn from(row: &OccurrenceRow) -> Self {
        let it = &row.occurrence;
        Self {
            id: occurrence_id(row.schedule, row.key()),
            scheduled_at: it.scheduled_at,
            last_at: it.last_at,
            count: it.count,
            outcome: it.outcome.name(),
            reason: it.reason.clone(),
            instance_id: row.instance.map(|id| id.to_string()),
            decided_at: row.decided_at,
        }
    }
}

/// Suffix of the id when no run was started: an occurrence that was missed and backfilled later has
/// two entries.
const NOT_STARTED: &str = "-n";

/// The id of an entry: schedule, scheduled instant, and whether a run was started.
pub(crate) fn occurrence_id(schedule: InstanceId, key: OccurrenceKey) -> String {
    let schedule = schedule.to_string();
    let schedule = schedule.strip_prefix("in_").unwrap_or(&schedule);
    format!("oc_{schedule}-{}", occurrence_cursor(key))
}

/// Parses an id of [`occurrence_id`].
pub(crate) fn read_occurrence_id(text: &str) -> Option<(InstanceId, OccurrenceKey)> {
    let (schedule, key) = text.strip_prefix("oc_")?.split_once('-')?;
    Some((format!("in_{schedule}").parse().ok()?, read_occurrence_key(key)?))
}

/// The cursor of an entry.
pub(crate) fn occurrence_cursor(key: OccurrenceKey) -> String {
    let end = if key.is_start { "" } else { NOT_STARTED };
    format!("{}{end}", key.scheduled_at.as_millis())
}

/// Parses a cursor of [`occurrence_cursor`].
pub(crate) fn read_occurrence_key(text: &str) -> Option<OccurrenceKey> {
    let started = text.strip_suffix(NOT_STARTED);
    let scheduled_at = Timestamp::try_from_millis(started.unwrap_or(text).parse().ok()?).ok()?;
    Some(OccurrenceKey { scheduled_at, is_start: started.is_none() })
}
