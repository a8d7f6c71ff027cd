//! The open list of an instance: its timers, tasks and subscriptions, and the number of live
//! children.
//!
//! The kernel updates it from effects and stores it in the instance row, so that ending, cancelling
//! and explaining an instance need no index by instance. A timer or task that is not in this list
//! is closed: the list, not the row of a queue, decides whether an event is stale (ADR 0004).

use std::collections::BTreeMap;

use meantime_core::{Channel, EffectKey, IncidentId, InstanceId, TaskKind, Timestamp};
use minicbor::{Decode, Encode};

use crate::history::AuditInfo;
use crate::store::{TimerKey, TimerKind};

/// The open list. Keys are (turn number, ordinal) of the effect within this instance.
#[derive(Debug, Clone, PartialEq, Default, Encode, Decode)]
pub struct Open {
    /// Armed timers.
    #[n(0)]
    pub timers: BTreeMap<Key, OpenTimer>,
    /// Tasks that have not ended.
    #[n(1)]
    pub tasks: BTreeMap<Key, OpenTask>,
    /// Waits for signals, messages or broadcasts.
    #[n(2)]
    pub subscriptions: BTreeMap<Key, OpenSubscription>,
    /// Children whose end has not been processed.
    #[n(3)]
    pub children: u32,
    /// Incidents of elements and tasks, by the effect that raised them or created the task.
    #[n(4)]
    #[cbor(default, skip_if = "BTreeMap::is_empty")]
    pub incidents: BTreeMap<Key, IncidentId>,
    /// Actor and reason of timers that an operator fired and whose turn has not run yet, for their
    /// records.
    #[n(5)]
    #[cbor(default, skip_if = "BTreeMap::is_empty")]
    pub fired_by: BTreeMap<Key, AuditInfo>,
}

/// An effect key without the instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
#[cbor(array)]
pub struct Key(#[n(0)] pub u64, #[n(1)] pub u32);

/// An armed timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
#[cbor(array)]
pub struct OpenTimer {
    /// When it is due.
    #[n(0)]
    pub due_at: Timestamp,
    /// Its kind.
    #[n(1)]
    pub kind: TimerKind,
    /// Whether it is frozen.
    #[n(2)]
    pub frozen: bool,
}

/// A task that has not ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
#[cbor(array)]
pub struct OpenTask {
    /// Its kind.
    #[n(0)]
    pub kind: TaskKind,
    /// Whether the instance does not wait for it.
    #[n(1)]
    pub detached: bool,
}

/// A wait for a signal, message or broadcast.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
#[cbor(array)]
pub struct OpenSubscription {
    /// The channel.
    #[n(0)]
    pub channel: Channel,
    /// Its number among the subscriptions of a shared channel.
    #[n(1)]
    pub seq: u64,
}

impl From<EffectKey> for Key {
    fn from(key: EffectKey) -> Self {
        Self(key.turn_no, key.ordinal)
    }
}

impl Key {
    /// The whole effect key, with the instance.
    pub const fn of(self, instance: InstanceId) -> EffectKey {
        instance.effect(self.0, self.1)
    }

    /// The key of the deadline's timer.
    pub const DEADLINE: Self = Self(0, 0);
}

impl OpenTimer {
    /// The key of the timer's row.
    pub const fn row_key(&self, key: EffectKey) -> TimerKey {
        let id = meantime_core::TimerId(key);
        TimerKey { frozen: self.frozen, due_at: self.due_at, id }
    }
}

impl Open {
    /// When the instance must have ended, unless its deadline is frozen.
    pub fn deadline(&self) -> Option<Timestamp> {
        self.timers.get(&Key::DEADLINE).filter(|timer| !timer.frozen).map(|timer| timer.due_at)
    }

    /// Whether the deadline comes before a timer, which then never fires (D3, T10).
    pub fn ends_before(&self, timer: &OpenTimer) -> bool {
        timer.kind != TimerKind::Deadline && self.deadline().is_some_and(|at| at <= timer.due_at)
    }

    /// Whether the instance waits only for time, signals, messages, steps or people.
    pub fn is_idle(&self) -> bool {
        self.children == 0 && self.has_no_work()
    }

    /// Whether neither a worker nor the engine works for it.
    pub fn has_no_work(&self) -> bool {
        self.tasks.values().all(|task| task.detached || task.kind == TaskKind::User)
    }

    /// Packs the list for its column.
    pub fn to_bytes(&self) -> Vec<u8> {
        // Encoding into a Vec cannot fail.
        minicbor::to_vec(self).unwrap_or_default()
    }

    /// Reads what [`Self::to_bytes`] wrote.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, minicbor::decode::Error> {
        if bytes.is_empty() { Ok(Self::default()) } else { minicbor::decode(bytes) }
    }
}
