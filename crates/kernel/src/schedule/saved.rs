//! What a schedule remembers, and what people see of it.

use meantime_core::time::{Occurrence, occurrences};
use meantime_core::{EffectKey, Json, ScheduleSpec, State, Timestamp};
use minicbor::{Decode, Encode};
use serde::{Deserialize, Serialize};

use crate::store::InstanceRow;

/// The saved form, format 1.
#[derive(Debug, Clone, Encode, Decode)]
pub(super) struct Saved {
    #[n(0)]
    pub(super) spec: ScheduleSpec,
    /// Grows with every change, so that a run of an older one cannot overwrite the new context.
    #[n(1)]
    pub(super) generation: u32,
    #[n(2)]
    pub(super) paused: bool,
    /// Runs that are over.
    #[n(3)]
    pub(super) finished: u64,
    /// Runs that are going.
    #[n(4)]
    pub(super) running: Vec<Run>,
    /// Slots that wait for the run before to end.
    #[n(5)]
    pub(super) waiting: Vec<Timestamp>,
    /// Every slot up to here is decided.
    #[n(6)]
    pub(super) mark: Option<Timestamp>,
    /// The armed timer and the slot it stands for.
    #[n(7)]
    pub(super) timer: Option<(EffectKey, Timestamp)>,
    /// What the next run gets, when contexts are handed on.
    #[n(8)]
    pub(super) context: Json,
    /// Runs started by catching up, and when that began: a bound on bursts.
    #[n(9)]
    pub(super) caught_up: u64,
}

/// A run that is going.
#[derive(Debug, Clone, Encode, Decode)]
pub(super) struct Run {
    #[n(0)]
    pub(super) key: EffectKey,
    #[n(1)]
    pub(super) slot: Timestamp,
    #[n(2)]
    pub(super) generation: u32,
    /// Somebody asked for it: it has no slot of the rule.
    #[n(3)]
    pub(super) manual: bool,
}

impl Saved {
    /// The first slot that is not decided.
    pub(super) fn next(&self) -> Option<Occurrence> {
        occurrences(&self.spec.rule, self.mark.unwrap_or(Timestamp::MIN)).next()
    }
}

/// A schedule as people see it. When it is over this is what is left of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ScheduleView {
    /// What it does.
    pub spec: ScheduleSpec,
    /// Whether somebody paused it.
    pub paused: bool,
    /// Runs that are over.
    pub runs_executed: u64,
    /// Runs that are going.
    pub running: usize,
    /// The next slot, unless it is paused.
    pub next_at: Option<Timestamp>,
    /// Every slot up to here is decided.
    pub mark: Option<Timestamp>,
    /// What the next run gets, when contexts are handed on.
    pub last_context: Json,
    /// Counts changes.
    pub generation: u32,
}

impl ScheduleView {
    /// Reads the state of a schedule's instance.
    pub fn read(state: &State) -> Option<Self> {
        minicbor::decode(&state.bytes).ok().map(|saved: Saved| Self::of(&saved))
    }

    /// A schedule by its instance, also one that is over.
    pub fn of_instance(row: &InstanceRow) -> Option<Self> {
        Self::read(&row.state).or_else(|| row.extra.summary.as_ref()?.read().ok())
    }

    pub(super) fn of(saved: &Saved) -> Self {
        Self {
            paused: saved.paused,
            runs_executed: saved.finished,
            running: saved.running.len(),
            next_at: saved.timer.map(|(_, slot)| slot),
            mark: saved.mark,
            last_context: saved.context.clone(),
            generation: saved.generation,
            spec: saved.spec.clone(),
        }
    }

    /// The next slots, as they will fire if nothing is changed.
    pub fn preview(&self, count: usize) -> Vec<Timestamp> {
        let after = self.mark.unwrap_or(Timestamp::MIN);
        occurrences(&self.spec.rule, after).take(count).map(|slot| slot.at).collect()
    }
}
