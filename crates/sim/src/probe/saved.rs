//! The state of a probe between turns.

use std::collections::BTreeMap;

use meantime_core::{EffectKey, IncidentId, Outcome};
use minicbor::{Decode, Encode};

/// The saved state, format 1.
#[derive(Debug, Clone, Default, Encode, Decode)]
pub(super) struct Saved {
    /// The index of the next operation.
    #[n(0)]
    pub(super) position: usize,
    /// Values as JSON text.
    #[n(1)]
    pub(super) variables: BTreeMap<String, String>,
    /// Effects that were begun and not yet awaited.
    #[n(2)]
    pub(super) handles: BTreeMap<String, Handle>,
    /// Operations left of a `spin`.
    #[n(3)]
    pub(super) spin_left: u64,
    /// Tasks or children of a fan-out that are still to be started.
    #[n(4)]
    pub(super) fan_left: u32,
    /// Tasks or children of a fan-out that have not ended.
    #[n(5)]
    pub(super) fan_open: u32,
    /// How often each `repeat` has jumped back, by its index.
    #[n(6)]
    pub(super) repeats: BTreeMap<usize, u32>,
    /// The effect of the incident that blocks this probe.
    #[n(7)]
    pub(super) incident: Option<EffectKey>,
    /// The outcome, while compensation runs.
    #[n(8)]
    pub(super) closing: Option<Outcome>,
    /// It raised an error and waits until its parent ends it.
    #[n(9)]
    pub(super) raised: bool,
    /// It is a scheduled run: no client answers its steps (S9).
    #[n(11)]
    pub(super) scheduled: bool,
    /// The last incident that was retried.
    #[n(10)]
    pub(super) retried: Option<IncidentId>,
}

/// A begun effect.
#[derive(Debug, Clone, Encode, Decode)]
pub(super) struct Handle {
    #[n(0)]
    pub(super) kind: HandleKind,
    #[n(1)]
    pub(super) key: Option<EffectKey>,
    /// JSON text, or the code of a failure.
    #[n(2)]
    pub(super) result: Option<Result<String, String>>,
    /// Codes that are caught, or the step's id and its required field.
    #[n(3)]
    pub(super) words: Vec<String>,
}

/// The kind of a begun effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub(super) enum HandleKind {
    #[n(0)]
    Task,
    #[n(1)]
    Timer,
    #[n(2)]
    Subscription,
    #[n(3)]
    Child,
    #[n(4)]
    Step,
    #[n(5)]
    Incident,
}
