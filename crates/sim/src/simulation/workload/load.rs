//! What those who act remember of the world.

use std::collections::BTreeMap;

use meantime_core::{InstanceId, Json, Timestamp};
use meantime_kernel::command::{ClaimedTask, Reply};
use meantime_kernel::history::AuditInfo;

use crate::simulation::chance::Chance;
use crate::simulation::programs::Programs;
use crate::simulation::run::Run;

/// What those who act remember.
#[derive(Debug)]
pub(in crate::simulation) struct Load {
    pub(in crate::simulation) programs: Programs,
    pub(super) chance: Chance,
    /// Gives every payload a number of its own, by which it is known again.
    pub(super) serial: u64,
    /// Versions that were deployed, by name.
    pub(super) versions: BTreeMap<String, u32>,
    /// Schedules that were made.
    pub(super) schedules: Vec<InstanceId>,
    /// Calls that may be repeated without harm.
    pub(super) repeatable: Vec<u64>,
    /// Tasks in workers' hands.
    pub(super) holdings: Vec<Holding>,
}

/// A task in a worker's hands, and what the worker will do with it.
#[derive(Debug, Clone)]
pub(super) struct Holding {
    pub(super) task: ClaimedTask,
    pub(super) intent: Intent,
    /// Not before this instant of real time.
    pub(super) not_before: Timestamp,
}

/// What a worker does with a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Intent {
    Complete,
    Extend,
    FailOnce,
    FailForGood,
    Throw,
}

impl Load {
    pub(in crate::simulation) fn new(programs: Programs, chance: Chance) -> Self {
        Self {
            programs,
            chance,
            serial: 0,
            versions: BTreeMap::new(),
            schedules: Vec::new(),
            repeatable: Vec::new(),
            holdings: Vec::new(),
        }
    }

    /// A payload that nobody else sends.
    pub(super) fn payload(&mut self) -> Json {
        self.serial += 1;
        Json::of(&self.serial).unwrap_or_default()
    }

    /// Variables as an operator sets them.
    pub(super) fn object(&mut self) -> Json {
        let value = self.payload();
        Json::parse(&format!("{{\"set\":{value}}}")).unwrap_or_default()
    }

    pub(super) fn audit(&mut self) -> AuditInfo {
        let actor = self.chance.pick(&["ana", "ben"]).to_owned();
        AuditInfo { actor, reason: "as planned".to_owned() }
    }
}

impl Run {
    /// Those who act learn from what they are told.
    pub(in crate::simulation) fn learn(&mut self, node: usize, reply: &Reply) {
        match reply {
            Reply::Tasks(tasks) => {
                let real = self.nodes[node].clock.real;
                for task in tasks {
                    self.take_up(task, real);
                }
            }
            Reply::Deployed(deployed) => {
                for it in deployed {
                    self.load.versions.insert(it.name.clone(), it.version);
                }
            }
            Reply::Scheduled { schedule } => self.load.schedules.push(*schedule),
            _ => {}
        }
    }

    /// Some instance that is not over.
    pub(super) fn some_live(&mut self) -> Option<InstanceId> {
        let place = self.load.chance.below(self.journal.live.len());
        self.journal.live.iter().nth(place).copied()
    }

    /// Some instance, over or not, that somebody has heard of.
    pub(super) fn some_instance(&mut self) -> Option<InstanceId> {
        if self.load.chance.percent(92) {
            return self.some_live();
        }
        let place = self.load.chance.below(self.journal.accepted.len());
        self.journal.accepted.iter().nth(place).copied()
    }
}
