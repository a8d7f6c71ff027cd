//! What a schedule is: when it starts which definition, how often, and what it hands on.
//!
//! One entity serves journey bindings, timer starts of definitions, and plain cron or interval
//! schedules. The rule is the pure series of instants; everything else says what to do when
//! reality and the series disagree.

mod change;

pub use change::{Changed, ScheduleChange};

use minicbor::{Decode, Encode};
use serde::{Deserialize, Serialize};

use crate::time::{Cron, Cycle, Rule, Span, TimeError, Zone, occurrences};
use crate::{Json, Limits, Timestamp};

/// The name of the built-in definition whose instances are schedules.
pub const SCHEDULE_DEFINITION: &str = "meantime.schedule";

/// Why a schedule cannot be made: the prefix of all such codes.
pub const SCHEDULE_CONFLICT: &str = "SCHEDULE_";

/// A schedule to make.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Encode, Decode)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ScheduleSpec {
    /// The definition it starts.
    #[n(0)]
    pub definition: String,
    /// The pinned version (S12).
    #[n(1)]
    pub version: u32,
    /// Where runs begin, when not at the definition's own start.
    #[n(2)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<String>,
    /// Whom it is for: part of a binding's identity (S7).
    #[n(3)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// The author's own version text of the definition; identifies a binding better than the
    /// number, which changes with every correction of the text.
    #[n(4)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// When.
    #[n(5)]
    pub rule: Rule,
    /// How many runs, finished ones counted (S5).
    #[n(6)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_runs: Option<u64>,
    /// What to do when an occurrence comes and the run before is still going (S3).
    #[n(7)]
    #[serde(default)]
    pub overlap: Overlap,
    /// What to do with occurrences that nobody was there for (S4).
    #[n(8)]
    #[serde(default)]
    pub catch_up: CatchUp,
    /// What a run gets.
    #[n(9)]
    #[serde(default)]
    pub input: ScheduleInput,
    /// Whether somebody said when it begins. If not, it begins when it is made, and making it
    /// again with the same interval does not begin it anew (S8).
    #[n(10)]
    #[cbor(default)]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub anchored: bool,
    /// Whether a run made it for later runs of its kind (`schedule:v1`): those may not be as
    /// frequent as other schedules (S11).
    #[n(11)]
    #[cbor(default)]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_binding: bool,
}

/// What a run of a schedule gets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Encode, Decode)]
#[serde(rename_all = "camelCase")]
pub enum ScheduleInput {
    /// The same input every time.
    #[n(0)]
    Input(#[n(0)] Json),
    /// A context: first this one, then what the run before ended with (S6). Never overlaps.
    #[n(1)]
    Context(#[n(0)] Json),
}

impl Default for ScheduleInput {
    fn default() -> Self {
        Self::Input(Json::null())
    }
}

/// What to do when an occurrence comes and the run before is still going.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, Encode, Decode)]
#[serde(rename_all = "camelCase")]
#[cbor(index_only)]
pub enum Overlap {
    /// The occurrence is skipped.
    #[n(0)]
    #[default]
    Skip,
    /// One run waits for the end of the one before.
    #[n(1)]
    QueueOne,
    /// Both run.
    #[n(2)]
    Allow,
    /// The run before is cancelled.
    #[n(3)]
    CancelPrevious,
}

/// What to do with occurrences that passed while nobody was there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, Encode, Decode)]
#[serde(rename_all = "camelCase")]
#[cbor(index_only)]
pub enum CatchUp {
    /// One late run, then back to the grid.
    #[n(0)]
    #[default]
    Coalesce,
    /// None of them.
    #[n(1)]
    Skip,
    /// Every one, a bounded number.
    #[n(2)]
    All,
}

/// What to do when a binding of the same identity is active (S7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnExisting {
    /// Answer with the conflict `SCHEDULE_EXISTS`; nothing changes.
    Fail,
    /// Replace its rule, limit and context; the count of runs stays.
    Upsert,
    /// Make another one.
    AddAnother,
}

impl ScheduleSpec {
    /// The identity of a binding: definition, version, subject and start. No subject equals none.
    /// The version is the author's own where there is one.
    pub fn identity(&self) -> String {
        let subject = self.subject.as_ref().map_or_else(String::new, |it| format!("={it}"));
        let start = self.start.as_deref().unwrap_or_default();
        let number = self.version.to_string();
        let version = self.label.as_ref().unwrap_or(&number);
        format!("{}:{version}:{start}:{subject}", self.definition)
    }

    /// What is wrong with it, in words (S11).
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

    /// Whether runs hand their context on, and so never overlap.
    pub const fn evolves(&self) -> bool {
        matches!(self.input, ScheduleInput::Context(_))
    }
}

/// When a definition starts by itself; made absolute when it is deployed (B8).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub enum Recurrence {
    /// Once, so long after the deployment.
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
    /// The rule, armed at an instant, and how often it fires: `Rn` counts fires, not positions of
    /// the grid, so the series goes on until n have fired (B2).
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

    /// What is wrong with it as the start of a definition, in words: too frequent for the limit
    /// of schedules (S11). To be said at the deploy, since nobody hears of it later.
    pub fn problem(&self, limits: &Limits) -> Option<String> {
        let (rule, _) = self.armed(Timestamp::default()).ok()?;
        rule.too_frequent(limits.schedule_interval_ms)
    }
}
