//! What a schedule remembers, and what people see of it.

use meantime_core::time::{Backfill, Occurrence, occurrences};
use meantime_core::{EffectKey, Json, Overlap, ScheduleInput, ScheduleSpec, State, Timestamp};
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
    /// Occurrences that wait for the run before to end.
    #[n(5)]
    pub(super) waiting: Vec<Timestamp>,
    /// Every occurrence up to here is decided.
    #[n(6)]
    pub(super) mark: Option<Timestamp>,
    /// The armed timer and the occurrence it stands for.
    #[n(7)]
    pub(super) timer: Option<(EffectKey, Timestamp)>,
    /// What the next run gets, when contexts are handed on.
    #[n(8)]
    pub(super) context: Json,
    /// Runs started since catching up began, zero when nothing is left to catch up: a bound on
    /// bursts.
    #[n(9)]
    pub(super) caught_up: u64,
    /// Ranges that are being filled back.
    #[n(10)]
    #[cbor(default)]
    pub(super) backfills: Vec<Backfill>,
    /// Occurrences before this instant may have had their run before they came: somebody filled
    /// them in, or fired the timer early. The ledger knows which.
    #[n(11)]
    #[cbor(default)]
    pub(super) filled_to: Option<Timestamp>,
    /// Counts changes of what the schedule is, so that one can be made on condition of it (S15).
    #[n(12)]
    #[cbor(default)]
    pub(super) revision: u64,
}

/// A run that is going.
#[derive(Debug, Clone, Encode, Decode)]
pub(super) struct Run {
    #[n(0)]
    pub(super) key: EffectKey,
    #[n(1)]
    pub(super) scheduled_at: Timestamp,
    #[n(2)]
    pub(super) generation: u32,
    /// Somebody asked for it: it has no occurrence of the rule.
    #[n(3)]
    pub(super) manual: bool,
}

impl Saved {
    /// A schedule that has done nothing yet.
    pub(super) fn new(spec: ScheduleSpec) -> Self {
        let context = match &spec.input {
            ScheduleInput::Context(context) => context.clone(),
            ScheduleInput::Input(_) => Json::null(),
        };
        Self {
            spec,
            generation: 0,
            paused: false,
            finished: 0,
            running: Vec::new(),
            waiting: Vec::new(),
            mark: None,
            timer: None,
            context,
            caught_up: 0,
            backfills: Vec::new(),
            filled_to: None,
            revision: 0,
        }
    }

    /// Whether runs go on beside each other.
    pub(super) fn overlaps(&self) -> bool {
        !self.spec.evolves() && self.spec.overlap == Overlap::Allow
    }

    /// How many runs may still start (S5); none is without a limit.
    pub(super) fn runs_left(&self) -> Option<u64> {
        let running = u64::try_from(self.running.len()).unwrap_or(u64::MAX);
        self.spec.max_runs.map(|most| most.saturating_sub(self.finished.saturating_add(running)))
    }

    /// The first occurrence that is not decided.
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
    /// Occurrences that wait for a run to end, and those that are still to be filled back.
    #[serde(default)]
    pub waiting: u64,
    /// The timer of the next occurrence, if one is armed.
    #[serde(default)]
    pub armed: Option<Armed>,
    /// Every occurrence up to here is decided.
    pub mark: Option<Timestamp>,
    /// Occurrences before this instant may have had their run already, as the ledger tells.
    #[serde(default)]
    pub filled_to: Option<Timestamp>,
    /// What the next run gets, when contexts are handed on.
    pub last_context: Json,
    /// Counts changes.
    pub generation: u64,
}

/// The armed timer of a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Armed {
    /// The occurrence it stands for.
    pub scheduled_at: Timestamp,
    /// When it is due: at its occurrence, unless somebody moved it.
    pub due_at: Timestamp,
    /// Whether somebody froze it.
    pub frozen: bool,
}

impl ScheduleView {
    /// Reads the state of a schedule's instance, with its timer as it was armed.
    pub fn read(state: &State) -> Option<Self> {
        minicbor::decode(&state.bytes).ok().map(|saved: Saved| Self::of(&saved))
    }

    /// A schedule by its instance, also one that is over. What was done to its timer is known.
    pub fn of_instance(row: &InstanceRow) -> Option<Self> {
        let Ok(saved) = minicbor::decode::<Saved>(&row.state.bytes) else {
            return row.meta.summary.as_ref()?.read().ok();
        };
        let mut view = Self::of(&saved);
        let timer = saved.timer.and_then(|(key, _)| row.open.timers.get(&key.into()));
        if let (Some(armed), Some(timer)) = (&mut view.armed, timer) {
            (armed.due_at, armed.frozen) = (timer.due_at, timer.frozen);
        }
        Some(view)
    }

    /// How many more runs may start (S5).
    pub fn runs_left(&self) -> u64 {
        let running = u64::try_from(self.running).unwrap_or(u64::MAX);
        let used = self.runs_executed.saturating_add(running).saturating_add(self.waiting);
        self.spec.max_runs.map_or(u64::MAX, |most| most.saturating_sub(used))
    }

    /// When it is due next: not while it is paused or its timer is frozen.
    pub fn next_at(&self) -> Option<Timestamp> {
        self.armed.filter(|armed| !armed.frozen && !self.paused).map(|armed| armed.due_at)
    }

    pub(super) fn of(saved: &Saved) -> Self {
        let left: u64 = saved.backfills.iter().map(Backfill::left).sum();
        Self {
            paused: saved.paused,
            runs_executed: saved.finished,
            running: saved.running.len(),
            waiting: left.saturating_add(u64::try_from(saved.waiting.len()).unwrap_or(u64::MAX)),
            armed: saved.timer.map(|(_, scheduled_at)| Armed {
                scheduled_at,
                due_at: scheduled_at,
                frozen: false,
            }),
            mark: saved.mark,
            filled_to: saved.filled_to,
            last_context: saved.context.clone(),
            generation: saved.revision,
            spec: saved.spec.clone(),
        }
    }
}
