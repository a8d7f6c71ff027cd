//! Fences in memory: whether units may take effect, decided from rows that were read and locked.
//!
//! A store that writes row by row can try a fence by making its write. A store that writes a whole
//! plan in a few statements must decide before it writes: it reads the rows that [`Plan::fenced`]
//! names and asks [`Fences`]. Later units of a plan see the rows of earlier ones, not the stored
//! ones.

use std::collections::{BTreeMap, BTreeSet};

use meantime_core::{InstanceId, TaskId};

use crate::fault_injection::{InjectedBug, is_injected};
use crate::store::{Fence, Plan, Unit, Write};

/// The rows on which the fences of a plan depend.
#[derive(Debug, Clone, Default)]
pub struct Fenced {
    /// Instances whose turn number is compared.
    pub instances: BTreeSet<InstanceId>,
    /// Instances that must not exist yet.
    pub new: BTreeSet<InstanceId>,
    /// Tasks whose number of claims is compared, or that are changed in any case.
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

/// Turn numbers and claims on which fences depend. A row that is not listed does not exist.
#[derive(Debug, Clone, Default)]
pub struct Fences {
    turns: BTreeMap<InstanceId, u64>,
    claims: BTreeMap<TaskId, u32>,
}

impl Fences {
    /// Sets the turn number of an instance.
    pub fn add_instance(&mut self, id: InstanceId, turn_no: u64) {
        self.turns.insert(id, turn_no);
    }

    /// Sets the number of claims of a task.
    pub fn add_task(&mut self, id: TaskId, claims: u32) {
        self.claims.insert(id, claims);
    }

    /// Whether the fences of a unit hold: the fence itself, and the claims that its writes name
    /// (I5). If so, the rows of this unit count for the units after it.
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
        // A stale report must reject its whole unit: the event and the state that depend on it must
        // not be written without it.
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

    /// Whether a write can be made, given the earlier writes of its unit.
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
