//! Which node has locked which instance, if several nodes share the store: from `fetch` until the
//! commit that gets the result, or until the result is dropped.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use meantime_core::InstanceId;

use super::tables::Tables;

/// Locked instances, by the number of the hold that has them.
#[derive(Debug, Default, Clone)]
pub(super) struct Locks {
    taken: BTreeMap<InstanceId, u64>,
    holds: u64,
}

impl Locks {
    /// Begins a hold.
    pub(super) fn begin(&mut self) -> u64 {
        self.holds += 1;
        self.holds
    }

    /// Locks an instance; returns whether it was free.
    pub(super) fn take(&mut self, id: InstanceId, hold: u64) -> bool {
        *self.taken.entry(id).or_insert(hold) == hold
    }
}

/// Keeps its locks until it is dropped.
pub(super) struct Hold {
    pub(super) tables: Arc<Mutex<Tables>>,
    pub(super) number: u64,
}

impl fmt::Debug for Hold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hold").field("number", &self.number).finish_non_exhaustive()
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        tables.locks.taken.retain(|_, hold| *hold != self.number);
    }
}
