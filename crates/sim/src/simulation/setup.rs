//! The parameters of a seed: limits, and the enabled families of faults and operations.
//!
//! A run in which every fault can occur makes little progress. So each seed disables about half of
//! the families and sizes the rest at random.

use std::collections::BTreeSet;
use std::sync::Arc;

use meantime_core::time::Span;
use meantime_core::{Keep, Limits, Retention};
use meantime_kernel::machine::Config;

use super::randomness::Randomness;

/// A family of faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FaultFamily {
    /// A store call fails without effect.
    ErrorBefore,
    /// A commit takes effect, and its answer is lost.
    ErrorAfter,
    /// A commit does not take effect, and its answer is lost.
    LostCommit,
    /// A commit fails with an error after which only a restart can tell whether it took effect.
    Failed,
    /// The store is full for a while: commits fail, reads work.
    Full,
    /// For a while some kinds of store calls fail and others work.
    PartialFailure,
    /// A store call takes much longer than others.
    Slow,
    /// A turn takes so long that its batch does not wait for it.
    SlowTurn,
    /// The fence of a unit does not hold.
    Conflict,
    /// The process dies at any point, and another one takes over.
    Crash,
    /// The clock jumps forwards.
    ClockForward,
    /// The clock jumps back.
    ClockBack,
    /// A worker dies with its tasks.
    WorkerCrash,
    /// A worker reports long after its lease has expired.
    WorkerLate,
    /// A worker reports twice.
    WorkerTwice,
    /// A worker reports a failure.
    WorkerFails,
    /// A caller disconnects before it is answered.
    CallerGone,
    /// A process is frozen for a while and then continues.
    Frozen,
    /// A process cannot reach the store for a while.
    Partitioned,
    /// Notifications between processes are lost.
    LostNotice,
}

impl FaultFamily {
    /// Every family with its name.
    pub const ALL: [(Self, &'static str); 20] = [
        (Self::ErrorBefore, "error before commit"),
        (Self::ErrorAfter, "error after commit"),
        (Self::LostCommit, "lost commit"),
        (Self::Failed, "store failed"),
        (Self::Full, "store full"),
        (Self::PartialFailure, "torn store"),
        (Self::Slow, "slow call"),
        (Self::SlowTurn, "slow turn"),
        (Self::Conflict, "conflict"),
        (Self::Crash, "crash"),
        (Self::ClockForward, "clock forward"),
        (Self::ClockBack, "clock back"),
        (Self::WorkerCrash, "worker crash"),
        (Self::WorkerLate, "worker late"),
        (Self::WorkerTwice, "worker twice"),
        (Self::WorkerFails, "worker fails"),
        (Self::CallerGone, "caller gone"),
        (Self::Frozen, "process stands still"),
        (Self::Partitioned, "process cut off"),
        (Self::LostNotice, "lost notice"),
    ];

    /// The family's name.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(fault, _)| *fault == self).map_or("", |(_, name)| name)
    }
}

/// A family of operations of clients, workers and operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum OperationFamily {
    /// Start instances.
    Starts,
    /// Send signals.
    Signals,
    /// Send signals and messages that make a turn panic.
    Poison,
    /// Publish messages.
    Messages,
    /// Broadcast.
    Broadcasts,
    /// Submit to steps.
    Steps,
    /// Cancel instances.
    Cancels,
    /// Correct variables.
    Variables,
    /// Move, fire, freeze and release timers.
    TimerEdits,
    /// Retry and resolve incidents.
    Incidents,
    /// Create and change schedules.
    Schedules,
    /// Deploy and undeploy.
    Deploys,
    /// Claim tasks and report on them.
    Workers,
    /// Delete ended instances.
    Purges,
    /// Restore the store from a copy, paused.
    Restores,
}

impl OperationFamily {
    /// Every family.
    pub const ALL: [Self; 15] = [
        Self::Starts,
        Self::Signals,
        Self::Poison,
        Self::Messages,
        Self::Broadcasts,
        Self::Steps,
        Self::Cancels,
        Self::Variables,
        Self::TimerEdits,
        Self::Incidents,
        Self::Schedules,
        Self::Deploys,
        Self::Workers,
        Self::Purges,
        Self::Restores,
    ];
}

/// The parameters of a seed.
#[derive(Debug, Clone)]
pub struct SeedSetup {
    /// The seed.
    pub seed: u64,
    /// How many kernels share the store.
    pub nodes: usize,
    /// Every store call is answered before the next step.
    pub serial: bool,
    /// The number of steps before faults stop.
    pub steps: u32,
    /// Faults that may happen.
    pub faults: BTreeSet<FaultFamily>,
    /// The rate of faulty store calls, in ten thousand.
    pub fault_rate: u32,
    /// Enabled operations.
    pub families: BTreeSet<OperationFamily>,
    /// The configuration of the machines.
    pub config: Config,
    /// How long ended instances are kept.
    pub retention: Arc<Retention>,
    /// Whether engine time and real time move apart.
    pub separate_clocks: bool,
    /// The largest step of time, in milliseconds.
    pub max_time_step_ms: i64,
    /// How many programs there are.
    pub programs: usize,
}

impl SeedSetup {
    /// The setup of a seed.
    pub fn from_seed(seed: u64, rng: &mut Randomness) -> Self {
        let calm = rng.percent(10);
        let mut faults = BTreeSet::new();
        for (fault, _) in FaultFamily::ALL {
            if rng.percent(45) && !calm {
                faults.insert(fault);
            }
        }
        let mut families = BTreeSet::from([OperationFamily::Starts]);
        for family in OperationFamily::ALL {
            if rng.percent(65) {
                families.insert(family);
            }
        }
        // Not always enabled: a removed instance cannot be checked any more.
        let retention = match rng.below(3) {
            0 => Retention::of_all(Keep::millis(rng.pick(&[0, 2_000, 3_600_000]))),
            _ => Retention::forever(),
        };
        let limits = random_limits(rng);
        let config = Config {
            limits,
            batches_in_flight: rng.pick(&[1, 2, 4]),
            shared_store: false,
            store_retry_ms: rng.pick(&[1, 250]),
        };
        let nodes = rng.pick(&[1, 1, 1, 2, 3]);
        // Leases last for seconds: with longer steps all of them would be expired most of the time.
        let paces: &[i64] = if nodes > 1 { &[5, 200, 4_000] } else { &[5, 200, 5_000, 600_000] };
        Self {
            seed,
            nodes,
            serial: rng.percent(15) && nodes == 1,
            steps: u32::try_from(rng.between(300, 3_000)).unwrap_or(500),
            faults,
            fault_rate: rng.pick(&[50, 200, 600]),
            families,
            config,
            retention: Arc::new(retention),
            separate_clocks: rng.percent(15),
            max_time_step_ms: rng.pick(paces),
            programs: usize::try_from(rng.between(2, 7)).unwrap_or(4),
        }
    }

    /// A variant with one kernel and serial calls, and without operations whose order is up to the
    /// store: for these every store must give the same answers.
    #[must_use]
    pub fn for_comparison(mut self) -> Self {
        self.nodes = 1;
        self.serial = true;
        // With two batches in flight, a store with locks would refuse the later one, and a store
        // with fences the slower one.
        self.config.batches_in_flight = 1;
        self.families.remove(&OperationFamily::Purges);
        self.retention = Arc::new(Retention::forever());
        self
    }

    /// Whether a fault may happen.
    pub fn has_fault(&self, fault: FaultFamily) -> bool {
        self.faults.contains(&fault)
    }
}

fn random_limits(rng: &mut Randomness) -> Limits {
    let defaults = Limits::default();
    let span = |text: &str| Span::parse_delay(text).ok();
    Limits {
        ops_per_slice: rng.pick(&[50, 300, 100_000]),
        ops_runaway: rng.pick(&[1_000, 20_000_000]),
        effects_per_turn: rng.pick(&[4, 12, 10_000]),
        events_per_turn: rng.pick(&[1, 2, 5, 1_000]),
        child_depth: rng.pick(&[1, 3, 32]),
        queued_turns: rng.pick(&[6, 100_000, 100_000]),
        cache_bytes: rng.pick(&[0, 3_000, 64 << 20]),
        batch_turns: rng.pick(&[1, 3, 16, 512]),
        lease_expiries: rng.pick(&[1, 2, 5]),
        claim_tasks: rng.pick(&[1, 3, 1_000]),
        message_ttl_ms: rng.pick(&[0, 1_000, 3_600_000]),
        dedup_ms: rng.pick(&[600_000, defaults.dedup_ms]),
        idempotency_ms: rng.pick(&[600_000, defaults.idempotency_ms]),
        history_turns: rng.pick(&[2, 6, 10_000]),
        purge_rows: rng.pick(&[3, 500]),
        catch_up_runs: rng.pick(&[1, 6, 20]),
        default_deadline: rng.pick(&[None, None, None, span("PT2H")]),
        deadline_cap: rng.pick(&[None, None, None, span("P1D")]),
        ..defaults
    }
}
