//! The acknowledgements that clients got.

use std::collections::BTreeMap;

use meantime_core::{InstanceId, TaskId};

/// Acknowledgements, each with the position of the disk recording at which the client got it.
#[derive(Debug, Clone, Default)]
pub struct Acknowledged {
    /// Instances that were started.
    pub started: BTreeMap<InstanceId, usize>,
    /// Signals that were accepted, one entry each.
    pub signalled: Vec<(InstanceId, usize)>,
    /// Tasks that were completed.
    pub completed: BTreeMap<TaskId, usize>,
}

impl Acknowledged {
    /// What had been acknowledged up to a position.
    #[must_use]
    pub fn until(&self, position: usize) -> Self {
        let is_known = |at: &usize| *at <= position;
        let started = self.started.iter().filter(|(_, at)| is_known(at));
        let signalled = self.signalled.iter().filter(|(_, at)| is_known(at));
        let completed = self.completed.iter().filter(|(_, at)| is_known(at));
        Self {
            started: started.map(|(id, at)| (*id, *at)).collect(),
            signalled: signalled.copied().collect(),
            completed: completed.map(|(id, at)| (*id, *at)).collect(),
        }
    }

    /// The same acknowledgements at other positions.
    #[must_use]
    pub fn with_positions(&self, to: impl Fn(usize) -> usize) -> Self {
        let signalled = self.signalled.iter().map(|(id, at)| (*id, to(*at)));
        Self {
            started: self.started.iter().map(|(id, at)| (*id, to(*at))).collect(),
            signalled: signalled.collect(),
            completed: self.completed.iter().map(|(id, at)| (*id, to(*at))).collect(),
        }
    }

    /// The number of acknowledgements.
    pub fn len(&self) -> usize {
        self.started.len() + self.signalled.len() + self.completed.len()
    }

    /// Whether nothing was acknowledged.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
