//! What is open in an instance: its timers, tasks and subscriptions, and how many children live.
//!
//! Kept by the kernel from effects and stored packed in the instance row, so that ending,
//! cancelling and explaining an instance need no index by instance. A timer or task that is not
//! in this list is over: the list, not the row of a queue, decides whether an event is stale.

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
    /// Tasks that are not over.
    #[n(1)]
    pub tasks: BTreeMap<Key, OpenTask>,
    /// Those who wait for a signal or message.
    #[n(2)]
    pub subscriptions: BTreeMap<Key, OpenSubscription>,
    /// Children that have not been heard of as ended.
    #[n(3)]
    pub children: u32,
    /// Incidents of places and tasks, by the effect that raised them or made the task.
    #[n(4)]
    #[cbor(default, skip_if = "BTreeMap::is_empty")]
    pub incidents: BTreeMap<Key, IncidentId>,
    /// Who fired timers by hand that have not fired yet: the record of the firing names them.
    #[n(5)]
    #[cbor(default, skip_if = "BTreeMap::is_empty")]
    pub fired_by: BTreeMap<Key, AuditInfo>,
}

/// The part of an effect key that is not the instance.
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
    /// What it is for.
    #[n(1)]
    pub kind: TimerKind,
    /// Whether it is frozen.
    #[n(2)]
    pub frozen: bool,
}

/// A task that is not over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
#[cbor(array)]
pub struct OpenTask {
    /// Who does it.
    #[n(0)]
    pub kind: TaskKind,
    /// Whether nobody awaits it.
    #[n(1)]
    pub detached: bool,
}

/// Somebody waits for a signal or message.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
#[cbor(array)]
pub struct OpenSubscription {
    /// What for.
    #[n(0)]
    pub channel: Channel,
    /// Its place among those who wait, for channels that are shared.
    #[n(1)]
    pub seq: u64,
}

impl From<EffectKey> for Key {
    fn from(key: EffectKey) -> Self {
        Self(key.turn_no, key.ordinal)
    }
}

impl Key {
    /// The whole key, with its instance.
    pub const fn of(self, instance: InstanceId) -> EffectKey {
        instance.effect(self.0, self.1)
    }

    /// The key under which the deadline's timer is kept.
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
    /// When the instance must be over, unless its deadline is frozen.
    pub fn deadline(&self) -> Option<Timestamp> {
        self.timers.get(&Key::DEADLINE).filter(|timer| !timer.frozen).map(|timer| timer.due_at)
    }

    /// Whether the deadline comes before a timer, which then never fires (D3, T10).
    pub fn ends_before(&self, timer: &OpenTimer) -> bool {
        timer.kind != TimerKind::Deadline && self.deadline().is_some_and(|at| at <= timer.due_at)
    }

    /// Whether the instance waits for nothing that goes on by itself (architecture, "Settled").
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
