//! The state of a schedule, and the view that readers get of it.

use meantime_core::time::{Backfill, Occurrence, occurrences};
use meantime_core::{EffectKey, Json, Overlap, ScheduleInput, ScheduleSpec, State, Timestamp};
use minicbor::{Decode, Encode};
use serde::{Deserialize, Serialize};

use crate::store::InstanceRow;

/// The saved state, format 1.
#[derive(Debug, Clone, Encode, Decode)]
pub(super) struct Saved {
    #[n(0)]
    pub(super) spec: ScheduleSpec,
    /// Increases with every change, so that a run of an older version cannot overwrite the new
    /// context.
    #[n(1)]
    pub(super) generation: u32,
    #[n(2)]
    pub(super) paused: bool,
    /// Runs that have ended.
    #[n(3)]
    pub(super) finished: u64,
    /// Runs in progress.
    #[n(4)]
    pub(super) running: Vec<Run>,
    /// Occurrences that wait for the previous run to end.
    #[n(5)]
    pub(super) waiting: Vec<Timestamp>,
    /// Every occurrence up to here is decided.
    #[n(6)]
    pub(super) mark: Option<Timestamp>,
    /// The armed timer and its occurrence.
    #[n(7)]
    pub(super) timer: Option<(EffectKey, Timestamp)>,
    /// The context of the next run, if contexts are passed on.
    #[n(8)]
    pub(super) context: Json,
    /// Runs started since the current catch-up began, zero when nothing is left to catch up: it
    /// limits bursts.
    #[n(9)]
    pub(super) caught_up: u64,
    /// Ranges of backfills in progress.
    #[n(10)]
    #[cbor(default)]
    pub(super) backfills: Vec<Backfill>,
    /// Occurrences before this instant may have had their run before their time: by a backfill, or
    /// because the timer was fired early. The ledger knows which.
    #[n(11)]
    #[cbor(default)]
    pub(super) filled_to: Option<Timestamp>,
    /// Counts changes of the schedule, so that a change can require a generation (S15).
    #[n(12)]
    #[cbor(default)]
    pub(super) revision: u64,
}

/// A run in progress.
#[derive(Debug, Clone, Encode, Decode)]
pub(super) struct Run {
    #[n(0)]
    pub(super) key: EffectKey,
    #[n(1)]
    pub(super) scheduled_at: Timestamp,
    #[n(2)]
    pub(super) generation: u32,
    /// An operator triggered it, so it has no occurrence of the rule.
    #[n(3)]
    pub(super) manual: bool,
}

impl Saved {
    /// A new schedule.
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

    /// Whether runs may overlap.
    pub(super) fn overlaps(&self) -> bool {
        !self.spec.evolves() && self.spec.overlap == Overlap::Allow
    }

    /// How many runs may still start (S5); `None` means no limit.
    pub(super) fn runs_left(&self) -> Option<u64> {
        let running = u64::try_from(self.running.len()).unwrap_or(u64::MAX);
        self.spec.max_runs.map(|most| most.saturating_sub(self.finished.saturating_add(running)))
    }

    /// The first undecided occurrence.
    pub(super) fn next(&self) -> Option<Occurrence> {
        occurrences(&self.spec.rule, self.mark.unwrap_or(Timestamp::MIN)).next()
    }
}

/// The view of a schedule. After its end it is what is left of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ScheduleView {
    /// Its specification.
    pub spec: ScheduleSpec,
    /// Whether it is paused.
    pub paused: bool,
    /// Runs that have ended.
    pub runs_executed: u64,
    /// Runs in progress.
    pub running: usize,
    /// Occurrences that wait for a run to end, and those that are still to be filled back.
    #[serde(default)]
    pub waiting: u64,
    /// The timer of the next occurrence, if one is armed.
    #[serde(default)]
    pub armed: Option<Armed>,
    /// Every occurrence up to here is decided.
    pub mark: Option<Timestamp>,
    /// Occurrences before this instant may have had their run already; the ledger knows which.
    #[serde(default)]
    pub filled_to: Option<Timestamp>,
    /// The context of the next run, if contexts are passed on.
    pub last_context: Json,
    /// Counts changes.
    pub generation: u64,
}

/// The armed timer of a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Armed {
    /// Its occurrence.
    pub scheduled_at: Timestamp,
    /// When it is due: at its occurrence, unless an operator moved it.
    pub due_at: Timestamp,
    /// Whether an operator froze it.
    pub frozen: bool,
}

impl ScheduleView {
    /// Reads the state of a schedule's instance, with its timer as it was armed.
    pub fn read(state: &State) -> Option<Self> {
        minicbor::decode(&state.bytes).ok().map(|saved: Saved| Self::of(&saved))
    }

    /// Reads a schedule from its instance, also after its end, with edits of its timer.
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

    /// When it is due next; `None` while it is paused or its timer is frozen.
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
