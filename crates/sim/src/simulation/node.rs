//! One process: a machine, its clock, and the errands it has sent off.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use meantime_core::{Notation, Timestamp};
use meantime_kernel::clock::Now;
use meantime_kernel::machine::{Config, Input, Job, Machine, Notations, Output, Ticket};
use meantime_kernel::random::SeededEntropy;
use meantime_kernel::schedule::{SCHEDULE_NOTATION, ScheduleNotation};
use meantime_kernel::store::{Notice, Store, TaskRow};

use super::chance::Chance;
use super::recorder::{Computed, Recorder};
use crate::checker::TurnSeen;
use crate::probe::Probe;

/// Something a machine wants done, or the answer on its way back.
#[derive(Debug)]
pub(super) struct Errand {
    /// Not before this moment.
    pub(super) ready_at: u64,
    pub(super) what: What,
}

#[derive(Debug)]
pub(super) enum What {
    /// Not yet done.
    Ask(Output),
    /// A turn that is being computed, which its batch did not wait for.
    Compute(u64, usize, Box<Job>),
    /// Done; the machine does not know yet.
    Told(Input),
}

impl Errand {
    fn is_advanced(&self, number: u64) -> bool {
        matches!(&self.what, What::Told(Input::Advanced(batch, _)) if *batch == number)
    }

    pub(super) fn is_commit(&self) -> bool {
        matches!(self.what, What::Ask(Output::Commit(..)))
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
    pub(super) latest: Timestamp,
    /// When a process that is down comes back, as a moment.
    pub(super) back_at: u64,
    /// It stands still until this moment.
    pub(super) still_until: u64,
    /// The store is out of its reach until this moment.
    pub(super) cut_until: u64,
    /// When its next heartbeat is due, in real time.
    pub(super) next_heartbeat: Timestamp,
    /// What others have told it.
    pub(super) heard: Arc<Mutex<Vec<Notice>>>,
    pub(super) errands: Vec<Errand>,
    /// Turns by the batch that computed them.
    pub(super) turns: BTreeMap<u64, Vec<TurnSeen>>,
    /// Turns that their batch did not wait for.
    pub(super) slow_turns: Vec<TurnSeen>,
    pub(super) computed: Computed,
    pub(super) notations: Notations,
    /// Engine tasks that this process was told to run.
    pub(super) dispatched: Vec<TaskRow>,
    pub(super) epoch: u32,
    /// Callers who wait for this process.
    pub(super) waiting: BTreeSet<Ticket>,
    /// The commit that was lost: nothing more is written until somebody has asked for it.
    pub(super) lost_commit: Option<u64>,
    /// The store cannot be trusted any more, the machine says.
    pub(super) gave_up: bool,
    /// It was told something and has not been asked what to do.
    pub(super) is_restless: bool,
    pub(super) chance: Chance,
}

impl Node {
    pub(super) fn new(store: Arc<dyn Store>, clock: Now, chance: Chance) -> Self {
        let computed = Computed::default();
        let listen = |inner: Arc<dyn Notation>| -> Arc<dyn Notation> {
            Arc::new(Recorder { inner, computed: computed.clone() })
        };
        let notations = Notations::default()
            .with("probe", listen(Arc::new(Probe)))
            .with(SCHEDULE_NOTATION, listen(Arc::new(ScheduleNotation)));
        Self {
            store,
            machine: None,
            clock,
            latest: clock.engine,
            back_at: 0,
            still_until: 0,
            cut_until: 0,
            next_heartbeat: Timestamp::MIN,
            heard: Arc::default(),
            errands: Vec::new(),
            turns: BTreeMap::new(),
            slow_turns: Vec::new(),
            computed,
            notations,
            dispatched: Vec::new(),
            epoch: 0,
            waiting: BTreeSet::new(),
            lost_commit: None,
            gave_up: false,
            is_restless: false,
            chance,
        }
    }

    /// Turns that a commit may be about.
    pub(super) fn computed_by(&mut self, batch: u64) -> Vec<TurnSeen> {
        let mut computed = self.turns.remove(&batch).unwrap_or_default();
        // One that came to nothing is followed by another of the same number.
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

    /// A new process begins; it knows nothing yet.
    pub(super) fn boot(&mut self, store: Arc<dyn Store>, config: &Config) {
        let heard = Arc::<Mutex<Vec<Notice>>>::default();
        self.heard.clone_from(&heard);
        store.listen(Arc::new(move |notices| {
            heard.lock().unwrap_or_else(PoisonError::into_inner).extend(notices);
        }));
        self.store = store;
        let entropy = Box::new(SeededEntropy::new(self.chance.bits()));
        self.machine = Some(Machine::new(config.clone(), self.notations.clone(), entropy));
    }

    /// The process is gone, with all it had in memory.
    pub(super) fn die(&mut self) {
        self.machine = None;
        self.errands.clear();
        self.turns.clear();
        self.slow_turns.clear();
        self.computed.take();
        self.dispatched.clear();
        self.lost_commit = None;
        self.gave_up = false;
        self.is_restless = false;
    }

    /// Errands that may go on at a moment. Commits reach the store in the order they were made, and
    /// a slow turn is told after the batch that it left.
    pub(super) fn eligible(&self, moment: u64) -> Vec<usize> {
        let first_commit = self.errands.iter().position(Errand::is_commit);
        let is_next =
            |place: usize, errand: &Errand| !errand.is_commit() || first_commit == Some(place);
        let all = self.errands.iter().enumerate();
        let told_later = |it: &Errand| match &it.what {
            What::Compute(batch, ..) => self.errands.iter().any(|other| other.is_advanced(*batch)),
            _ => false,
        };
        let ready = all
            .filter(|(place, it)| it.ready_at <= moment && is_next(*place, it) && !told_later(it));
        ready.map(|(place, _)| place).collect()
    }

    pub(super) fn tell(&mut self, input: Input) {
        self.latest = self.latest.max(self.clock.engine);
        if let Some(machine) = &mut self.machine {
            machine.handle(self.clock, input);
            self.is_restless = true;
        }
    }
}
