//! The specification of a schedule: when it starts which definition, how often, and with what
//! input.
//!
//! It serves journey bindings, timer triggers of definitions, and plain cron or interval schedules.
//! The rule is the pure series of instants; the other fields say what to do when an occurrence
//! cannot run at its time.

mod change;

pub use change::{Changed, ScheduleChange};

use minicbor::{Decode, Encode};
use serde::{Deserialize, Serialize};

use crate::time::{Cron, Cycle, Rule, Span, TimeError, Zone, occurrences};
use crate::{Json, Limits, Timestamp};

/// The name of the built-in definition whose instances are schedules.
pub const SCHEDULE_DEFINITION: &str = "meantime.schedule";

/// The prefix of all codes with which a schedule is rejected.
pub const SCHEDULE_CONFLICT: &str = "SCHEDULE_";

/// The specification of a schedule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Encode, Decode)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ScheduleSpec {
    /// The definition it starts.
    #[n(0)]
    pub definition: String,
    /// The pinned version (S12).
    #[n(1)]
    pub version: u32,
    /// The element where runs begin, if not at the definition's own start.
    #[n(2)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<String>,
    /// The subject: part of a binding's identity (S7).
    #[n(3)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// The author's own version text of the definition. It identifies a binding better than the
    /// version number, which changes with every correction of the text.
    #[n(4)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// When it starts runs.
    #[n(5)]
    pub rule: Rule,
    /// The largest number of runs, including finished ones (S5).
    #[n(6)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_runs: Option<u64>,
    /// What to do if the previous run has not ended when an occurrence is due (S3).
    #[n(7)]
    #[serde(default)]
    pub overlap: Overlap,
    /// What to do with occurrences that were missed during downtime (S4).
    #[n(8)]
    #[serde(default)]
    pub catch_up: CatchUp,
    /// The input of a run.
    #[n(9)]
    #[serde(default)]
    pub input: ScheduleInput,
    /// Whether its start was given. If not, it begins when it is created, and creating it again
    /// with the same interval does not restart it (S8).
    #[n(10)]
    #[cbor(default)]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub anchored: bool,
    /// Whether a run created it for later runs of its kind (`schedule:v1`): such schedules have a
    /// longer minimum interval (S11).
    #[n(11)]
    #[cbor(default)]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_binding: bool,
}

/// The input of the runs of a schedule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Encode, Decode)]
#[serde(rename_all = "camelCase")]
pub enum ScheduleInput {
    /// The same input for every run.
    #[n(0)]
    Input(#[n(0)] Json),
    /// A context: this one for the first run, then the final context of the previous run (S6). Such
    /// runs never overlap.
    #[n(1)]
    Context(#[n(0)] Json),
}

impl Default for ScheduleInput {
    fn default() -> Self {
        Self::Input(Json::null())
    }
}

/// What to do if the previous run has not ended when an occurrence is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, Encode, Decode)]
#[serde(rename_all = "camelCase")]
#[cbor(index_only)]
pub enum Overlap {
    /// The occurrence is skipped.
    #[n(0)]
    #[default]
    Skip,
    /// One run waits for the end of the previous one.
    #[n(1)]
    QueueOne,
    /// Both run.
    #[n(2)]
    Allow,
    /// The previous run is cancelled.
    #[n(3)]
    CancelPrevious,
}

/// What to do with occurrences that were missed during downtime.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, Encode, Decode)]
#[serde(rename_all = "camelCase")]
#[cbor(index_only)]
pub enum CatchUp {
    /// One late run, then back to the grid.
    #[n(0)]
    #[default]
    Coalesce,
    /// No run for them.
    #[n(1)]
    Skip,
    /// A run for each of them, up to a limit.
    #[n(2)]
    All,
}

/// What to do if a binding with the same identity is active (S7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnExisting {
    /// Answer with the conflict `SCHEDULE_EXISTS`; nothing changes.
    Fail,
    /// Replace its rule, limit and context; the count of runs stays.
    Upsert,
    /// Create another one.
    AddAnother,
}

impl ScheduleSpec {
    /// The identity of a binding: definition, version, subject and start. Two missing subjects are
    /// equal. The version is the author's own, if there is one.
    pub fn identity(&self) -> String {
        let subject = self.subject.as_ref().map_or_else(String::new, |it| format!("={it}"));
        let start = self.start.as_deref().unwrap_or_default();
        let number = self.version.to_string();
        let version = self.label.as_ref().unwrap_or(&number);
        format!("{}:{version}:{start}:{subject}", self.definition)
    }

    /// The problem of the specification, as text (S11).
    pub fn problem(&self, limits: &Limits) -> Option<String> {
        let least =
            if self.is_binding { limits.binding_interval_ms } else { limits.schedule_interval_ms };
        if let Some(problem) = self.rule.too_frequent(least) {
            return Some(problem);
        }
        if self.max_runs == Some(0) {
            return Some("maxRuns is at least 1".to_owned());
        }
        let never = occurrences(&self.rule, Timestamp::MIN).next().is_none();
        never.then(|| "the rule has no occurrence".to_owned())
    }

    /// Whether runs pass their context on, and so never overlap.
    pub const fn evolves(&self) -> bool {
        matches!(self.input, ScheduleInput::Context(_))
    }
}

/// The recurrence of a timer trigger; made absolute when it is deployed (B8).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub enum Recurrence {
    /// Once, this long after the deployment.
    #[n(0)]
    After(#[n(0)] String, #[n(1)] String),
    /// Once, at an instant.
    #[n(1)]
    At(#[n(0)] Timestamp),
    /// A repeating interval (B2), with the zone of its calendar parts.
    #[n(2)]
    Cycle(#[n(0)] String, #[n(1)] String),
    /// Cron in a zone.
    #[n(3)]
    Cron(#[n(0)] String, #[n(1)] String),
}

impl Recurrence {
    /// The rule, armed at an instant, and how often it fires: `Rn` counts firings, not positions of
    /// the grid, so the series continues until n have fired (B2).
    pub fn armed(&self, now: Timestamp) -> Result<(Rule, Option<u64>), TimeError> {
        Ok(match self {
            Self::After(span, zone) => {
                let span = Span::parse_delay(span)?;
                (Rule::once(span.add_to(now, &zone.parse::<Zone>()?)?), None)
            }
            Self::At(at) => (Rule::once(*at), None),
            Self::Cycle(cycle, zone) => Cycle::parse(cycle)?.series(now, zone.parse()?),
            Self::Cron(cron, zone) => (Rule::cron(Cron::parse(cron)?, zone.parse()?, now), None),
        })
    }

    /// The problem of the recurrence as a trigger, as text: too frequent for the limit of schedules
    /// (S11). It must be reported at the deployment, because nothing reports it later.
    pub fn problem(&self, limits: &Limits) -> Option<String> {
        let (rule, _) = self.armed(Timestamp::default()).ok()?;
        rule.too_frequent(limits.schedule_interval_ms)
    }
}
