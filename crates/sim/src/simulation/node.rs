//! One process: a machine, its clock, and its store calls in flight.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use meantime_core::{Notation, Timestamp};
use meantime_kernel::clock::Now;
use meantime_kernel::machine::{Config, Input, Job, Machine, Notations, Output, Ticket};
use meantime_kernel::random::SeededEntropy;
use meantime_kernel::schedule::{SCHEDULE_NOTATION, ScheduleNotation};
use meantime_kernel::store::{Notice, Store, TaskRow};

use super::randomness::Randomness;
use super::recording_notation::{ComputedTurns, RecordingNotation};
use crate::checker::ObservedTurn;
use crate::probe::Probe;

/// A store call in flight, or its answer on the way back.
#[derive(Debug)]
pub(super) struct StoreCall {
    /// The logical time before which it does not advance.
    pub(super) ready_at: u64,
    pub(super) stage: CallStage,
}

#[derive(Debug)]
pub(super) enum CallStage {
    /// Requested and not executed.
    Sent(Output),
    /// A turn that is being computed after it has left its batch.
    Computing(u64, usize, Box<Job>),
    /// Executed; the machine has not received the answer.
    Answered(Input),
}

impl StoreCall {
    fn is_advanced(&self, number: u64) -> bool {
        matches!(&self.stage, CallStage::Answered(Input::Advanced(batch, _)) if *batch == number)
    }

    pub(super) fn is_commit(&self) -> bool {
        matches!(self.stage, CallStage::Sent(Output::Commit(..)))
    }
}

/// One process.
pub(super) struct Node {
    /// The store as this process sees it.
    pub(super) store: Arc<dyn Store>,
    /// None while the process is down.
    pub(super) machine: Option<Machine>,
    pub(super) clock: Now,
    /// The latest engine time that its clock has shown.
    pub(super) latest_engine_time: Timestamp,
    /// The logical time at which a stopped process restarts.
    pub(super) restart_at: u64,
    /// The process is frozen until this logical time.
    pub(super) frozen_until: u64,
    /// The store is unreachable until this logical time.
    pub(super) partitioned_until: u64,
    /// When its next heartbeat is due, in real time.
    pub(super) next_heartbeat: Timestamp,
    /// Notifications from other nodes.
    pub(super) received_notices: Arc<Mutex<Vec<Notice>>>,
    pub(super) calls_in_flight: Vec<StoreCall>,
    /// Turns by the batch that computed them.
    pub(super) turns: BTreeMap<u64, Vec<ObservedTurn>>,
    /// Turns that left their batch.
    pub(super) slow_turns: Vec<ObservedTurn>,
    pub(super) computed: ComputedTurns,
    pub(super) notations: Notations,
    /// Engine tasks that this process has dispatched.
    pub(super) dispatched: Vec<TaskRow>,
    pub(super) epoch: u32,
    /// Calls that wait for an answer of this process.
    pub(super) waiting: BTreeSet<Ticket>,
    /// A commit with unknown outcome: the store writes nothing more until the machine has verified
    /// it.
    pub(super) lost_commit: Option<u64>,
    /// The machine has reported a fatal store error.
    pub(super) has_failed: bool,
    /// The machine has received input and has not been polled.
    pub(super) needs_poll: bool,
    pub(super) rng: Randomness,
}

impl Node {
    pub(super) fn new(store: Arc<dyn Store>, clock: Now, rng: Randomness) -> Self {
        let computed = ComputedTurns::default();
        let listen = |inner: Arc<dyn Notation>| -> Arc<dyn Notation> {
            Arc::new(RecordingNotation { inner, computed: computed.clone() })
        };
        let notations = Notations::default()
            .with("probe", listen(Arc::new(Probe)))
            .with(SCHEDULE_NOTATION, listen(Arc::new(ScheduleNotation)));
        Self {
            store,
            machine: None,
            clock,
            latest_engine_time: clock.engine,
            restart_at: 0,
            frozen_until: 0,
            partitioned_until: 0,
            next_heartbeat: Timestamp::MIN,
            received_notices: Arc::default(),
            calls_in_flight: Vec::new(),
            turns: BTreeMap::new(),
            slow_turns: Vec::new(),
            computed,
            notations,
            dispatched: Vec::new(),
            epoch: 0,
            waiting: BTreeSet::new(),
            lost_commit: None,
            has_failed: false,
            needs_poll: false,
            rng,
        }
    }

    /// Turns that a commit of this batch may contain.
    pub(super) fn turns_of_batch(&mut self, batch: u64) -> Vec<ObservedTurn> {
        let mut computed = self.turns.remove(&batch).unwrap_or_default();
        // Newest first: if a slow turn was discarded, another one with the same number follows it.
        computed.extend(self.slow_turns.iter().rev().cloned());
        computed
    }

    pub(super) fn is_up(&self) -> bool {
        self.machine.is_some()
    }

    pub(super) fn is_paused(&self) -> bool {
        self.machine.as_ref().is_some_and(Machine::is_paused)
    }

    pub(super) fn is_paused_or_down(&self) -> bool {
        !self.is_up() || self.is_paused()
    }

    /// Starts a new process with empty memory.
    pub(super) fn boot(&mut self, store: Arc<dyn Store>, config: &Config) {
        let received_notices = Arc::<Mutex<Vec<Notice>>>::default();
        self.received_notices.clone_from(&received_notices);
        store.listen(Arc::new(move |notices| {
            received_notices.lock().unwrap_or_else(PoisonError::into_inner).extend(notices);
        }));
        self.store = store;
        let entropy = Box::new(SeededEntropy::new(self.rng.next_u64()));
        self.machine = Some(Machine::new(config.clone(), self.notations.clone(), entropy));
    }

    /// Drops everything that the process had in memory.
    pub(super) fn clear_memory(&mut self) {
        self.machine = None;
        self.calls_in_flight.clear();
        self.turns.clear();
        self.slow_turns.clear();
        self.computed.take();
        self.dispatched.clear();
        self.lost_commit = None;
        self.has_failed = false;
        self.needs_poll = false;
    }

    /// Calls that may advance now. Commits reach the store in the order in which the machine made
    /// them, and a slow turn is reported after the batch that it left.
    pub(super) fn ready_calls(&self, logical_time: u64) -> Vec<usize> {
        let first_commit = self.calls_in_flight.iter().position(StoreCall::is_commit);
        let is_next =
            |place: usize, call: &StoreCall| !call.is_commit() || first_commit == Some(place);
        let all = self.calls_in_flight.iter().enumerate();
        let is_answered_later = |it: &StoreCall| match &it.stage {
            CallStage::Computing(batch, ..) => {
                self.calls_in_flight.iter().any(|other| other.is_advanced(*batch))
            }
            _ => false,
        };
        let ready = all.filter(|(place, it)| {
            it.ready_at <= logical_time && is_next(*place, it) && !is_answered_later(it)
        });
        ready.map(|(place, _)| place).collect()
    }

    pub(super) fn handle_input(&mut self, input: Input) {
        self.latest_engine_time = self.latest_engine_time.max(self.clock.engine);
        if let Some(machine) = &mut self.machine {
            machine.handle(self.clock, input);
            self.needs_poll = true;
        }
    }
}
