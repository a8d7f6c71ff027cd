//! Fences in memory: whether units may take effect, judged from rows that were read and locked.
//!
//! A store that writes row by row can try a fence by making its write. One that writes a whole plan
//! in a few statements must know before it writes: it reads what [`Plan::fenced`] names, and asks
//! here. Units meet the rows of the units before them, not the old ones.

use std::collections::{BTreeMap, BTreeSet};

use meantime_core::{InstanceId, TaskId};

use crate::fault_injection::{InjectedBug, is_injected};
use crate::store::{Fence, Plan, Unit, Write};

/// What the fences of a plan stand on.
#[derive(Debug, Clone, Default)]
pub struct Fenced {
    /// Instances whose turn number matters.
    pub instances: BTreeSet<InstanceId>,
    /// Instances that must not be there yet.
    pub new: BTreeSet<InstanceId>,
    /// Tasks whose count of claims matters, or that are changed whatever it is.
    pub tasks: BTreeSet<TaskId>,
}

impl Plan {
    /// The rows that decide whether units may take effect.
    pub fn fenced(&self) -> Fenced {
        let mut fenced = Fenced::default();
        for unit in &self.units {
            match &unit.fence {
                Fence::Free => {}
                Fence::Insert(row) => {
                    fenced.new.insert(row.id);
                }
                Fence::Turn { row, .. } => {
                    fenced.instances.insert(row.id);
                }
                Fence::Unchanged { instance, .. } => {
                    fenced.instances.insert(*instance);
                }
                Fence::Task { row, .. } => {
                    fenced.tasks.insert(row.id);
                }
            }
            fenced.tasks.extend(unit.writes.iter().filter_map(|write| match write {
                Write::UpdateTask { row, .. } => Some(row.id),
                Write::DeleteTask { id, .. } | Write::DetachTask(id) => Some(*id),
                _ => None,
            }));
        }
        fenced
    }
}

/// Where instances and tasks stand, as far as fences depend on it. What is not here does not exist.
#[derive(Debug, Clone, Default)]
pub struct Fences {
    turns: BTreeMap<InstanceId, u64>,
    claims: BTreeMap<TaskId, u32>,
}

impl Fences {
    /// An instance stands at a turn.
    pub fn add_instance(&mut self, id: InstanceId, turn_no: u64) {
        self.turns.insert(id, turn_no);
    }

    /// A task was claimed so often.
    pub fn add_task(&mut self, id: TaskId, claims: u32) {
        self.claims.insert(id, claims);
    }

    /// Whether the fences of a unit hold: its guard, and the claims that its writes name (I5). If
    /// so, the units after it meet its rows.
    pub fn admit(&mut self, unit: &Unit) -> bool {
        let mut claims: BTreeMap<TaskId, Option<u32>> = BTreeMap::new();
        let holds = match &unit.fence {
            Fence::Free => true,
            Fence::Insert(row) => !self.turns.contains_key(&row.id),
            Fence::Turn { row, expected } => self.turns.get(&row.id) == Some(expected),
            Fence::Unchanged { instance, turn_no } => self.turns.get(instance) == Some(turn_no),
            Fence::Task { row, claims: expected } => {
                claims.insert(row.id, Some(row.claims));
                self.claims.get(&row.id) == Some(expected)
            }
        };
        let holds = holds && unit.writes.iter().all(|write| self.admits(write, &mut claims));
        if !holds && !is_injected(InjectedBug::SkipFence) {
            return false;
        }
        if let Fence::Insert(row) | Fence::Turn { row, .. } = &unit.fence {
            self.turns.insert(row.id, row.turn_no);
        }
        for (task, count) in claims {
            match count {
                Some(count) => self.claims.insert(task, count),
                None => self.claims.remove(&task),
            };
        }
        true
    }

    /// Whether a write can be made, after what its unit has done to tasks so far.
    fn admits(&self, write: &Write, changed: &mut BTreeMap<TaskId, Option<u32>>) -> bool {
        let (task, expected, after) = match write {
            Write::InsertTask(row) => (row.id, None, Some(row.claims)),
            Write::UpdateTask { row, claims } => (row.id, Some(*claims), Some(row.claims)),
            Write::DeleteTask { id, claims } => (*id, *claims, None),
            _ => return true,
        };
        let before = changed.get(&task).copied();
        let before = before.unwrap_or_else(|| self.claims.get(&task).copied());
        changed.insert(task, after);
        expected.is_none_or(|expected| before == Some(expected))
    }
}
