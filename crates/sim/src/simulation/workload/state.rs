//! The state of the simulated clients and workers.

use std::collections::BTreeMap;

use meantime_core::{InstanceId, Json, Timestamp};
use meantime_kernel::command::{ClaimedTask, Reply};
use meantime_kernel::history::AuditInfo;

use crate::simulation::programs::Programs;
use crate::simulation::randomness::Randomness;
use crate::simulation::run::Simulation;

/// State of the simulated clients and workers.
#[derive(Debug)]
pub(in crate::simulation) struct WorkloadState {
    pub(in crate::simulation) programs: Programs,
    pub(super) rng: Randomness,
    /// The unique number of the next payload, by which checkers recognise it.
    pub(super) serial: u64,
    /// Versions that were deployed, by name.
    pub(super) versions: BTreeMap<String, u32>,
    /// Schedules that were created.
    pub(super) schedules: Vec<InstanceId>,
    /// Calls that are idempotent.
    pub(super) repeatable: Vec<u64>,
    /// Tasks that workers hold.
    pub(super) held_tasks: Vec<HeldTask>,
}

/// A claimed task and what its worker will do with it.
#[derive(Debug, Clone)]
pub(super) struct HeldTask {
    pub(super) task: ClaimedTask,
    pub(super) intent: WorkerIntent,
    /// The earliest instant in real time at which the worker acts.
    pub(super) not_before: Timestamp,
}

/// What a worker does with a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WorkerIntent {
    Complete,
    Extend,
    FailOnce,
    FailPermanently,
    Throw,
}

impl WorkloadState {
    pub(in crate::simulation) fn new(programs: Programs, rng: Randomness) -> Self {
        Self {
            programs,
            rng,
            serial: 0,
            versions: BTreeMap::new(),
            schedules: Vec::new(),
            repeatable: Vec::new(),
            held_tasks: Vec::new(),
        }
    }

    /// A unique payload.
    pub(super) fn payload(&mut self) -> Json {
        self.serial += 1;
        Json::of(&self.serial).unwrap_or_default()
    }

    /// Variables for an operator to set.
    pub(super) fn random_variables(&mut self) -> Json {
        let value = self.payload();
        Json::parse(&format!("{{\"set\":{value}}}")).unwrap_or_default()
    }

    pub(super) fn audit(&mut self) -> AuditInfo {
        let actor = self.rng.pick(&["ana", "ben"]).to_owned();
        AuditInfo { actor, reason: "as planned".to_owned() }
    }
}

impl Simulation {
    /// Updates clients and workers with a reply.
    pub(in crate::simulation) fn apply_reply(&mut self, node: usize, reply: &Reply) {
        match reply {
            Reply::Tasks(tasks) => {
                let real = self.nodes[node].clock.real;
                for task in tasks {
                    self.accept_task(task, real);
                }
            }
            Reply::Deployed(deployed) => {
                for it in deployed {
                    self.workload.versions.insert(it.name.clone(), it.version);
                }
            }
            Reply::Scheduled { schedule } => self.workload.schedules.push(*schedule),
            _ => {}
        }
    }

    /// A random live instance.
    pub(super) fn random_live_instance(&mut self) -> Option<InstanceId> {
        let place = self.workload.rng.below(self.commit_log.live.len());
        self.commit_log.live.iter().nth(place).copied()
    }

    /// A random instance, mostly a live one.
    pub(super) fn random_instance(&mut self) -> Option<InstanceId> {
        if self.workload.rng.percent(92) {
            return self.random_live_instance();
        }
        let place = self.workload.rng.below(self.commit_log.accepted.len());
        self.commit_log.accepted.iter().nth(place).copied()
    }
}
