//! The history of an instance: one packed row of records per turn. It is also the audit log of
//! timers.
//!
//! Every timer ends in exactly one closing record: fired or cancelled (O2). Encoded field numbers
//! are a storage format: never reuse one.

use meantime_core::{EffectKey, Failure, IncidentId, Json, StartCause, Timestamp};
use minicbor::{Decode, Encode};

use crate::store::TimerKind;

/// A record: one thing that happened in a turn.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub enum Record {
    /// The instance was accepted.
    #[n(0)]
    Started {
        /// The cause of the start.
        #[n(0)]
        cause: StartCause,
        /// The input.
        #[n(1)]
        input: Json,
    },
    /// An event reached the notation.
    #[n(1)]
    Event {
        /// Its name.
        #[n(0)]
        name: String,
        /// The effect it answers.
        #[n(1)]
        key: Option<EffectKey>,
        /// Name of a signal, message or step; code of a failure.
        #[n(2)]
        note: Option<String>,
        /// Whether it was taken.
        #[n(3)]
        taken: bool,
        /// What a failure says.
        #[n(4)]
        message: Option<String>,
        /// Which attempt of a task it ends, from 1.
        #[n(5)]
        attempt: Option<u32>,
        /// The worker that reported a task.
        #[n(6)]
        worker: Option<String>,
    },
    /// A timer was armed.
    #[n(2)]
    TimerArmed {
        /// The timer.
        #[n(0)]
        key: EffectKey,
        /// Its kind.
        #[n(1)]
        kind: TimerKind,
        /// The element.
        #[n(2)]
        element: String,
        /// When it is due.
        #[n(3)]
        due_at: Timestamp,
    },
    /// A timer fired.
    #[n(3)]
    TimerFired {
        /// The timer.
        #[n(0)]
        key: EffectKey,
        /// Its kind.
        #[n(1)]
        kind: TimerKind,
        /// When it was due.
        #[n(2)]
        due_at: Timestamp,
        /// Actor and reason if an operator fired it; `None` if it fired at its time.
        #[n(3)]
        audit: Option<AuditInfo>,
    },
    /// A timer was cancelled.
    #[n(4)]
    TimerCancelled {
        /// The timer.
        #[n(0)]
        key: EffectKey,
        /// Its kind.
        #[n(1)]
        kind: TimerKind,
        /// When it would have been due.
        #[n(2)]
        due_at: Timestamp,
        /// Why.
        #[n(3)]
        cause: CancelCause,
    },
    /// An operator moved, froze or released a timer.
    #[n(5)]
    TimerEdited {
        /// The timer.
        #[n(0)]
        key: EffectKey,
        /// Its kind.
        #[n(1)]
        kind: TimerKind,
        /// What was done.
        #[n(2)]
        edit: Edit,
        /// When it was due before.
        #[n(3)]
        from: Timestamp,
        /// When it is due now.
        #[n(4)]
        to: Timestamp,
        /// Actor and reason.
        #[n(5)]
        audit: AuditInfo,
    },
    /// A task was scheduled.
    #[n(6)]
    TaskScheduled {
        /// The task.
        #[n(0)]
        key: EffectKey,
        /// Its type.
        #[n(1)]
        name: String,
    },
    /// A task was cancelled or detached.
    #[n(7)]
    TaskCancelled {
        /// The task.
        #[n(0)]
        key: EffectKey,
        /// Why.
        #[n(1)]
        cause: CancelCause,
    },
    /// A detached task ended.
    #[n(8)]
    DetachedTaskEnded {
        /// The task.
        #[n(0)]
        key: EffectKey,
        /// The code of its failure, if it failed.
        #[n(1)]
        code: Option<String>,
    },
    /// A child was started.
    #[n(9)]
    ChildStarted {
        /// The effect that started it.
        #[n(0)]
        key: EffectKey,
        /// The name of its definition.
        #[n(1)]
        definition: String,
    },
    /// An incident was raised.
    #[n(10)]
    IncidentRaised {
        /// The incident.
        #[n(0)]
        incident: IncidentId,
        /// The failure.
        #[n(1)]
        failure: Failure,
    },
    /// An incident was closed.
    #[n(11)]
    IncidentClosed {
        /// The incident.
        #[n(0)]
        incident: IncidentId,
        /// Actor and reason; `None` if the definition closed it.
        #[n(1)]
        audit: Option<AuditInfo>,
    },
    /// A record written by the definition.
    #[n(12)]
    Note {
        /// The kind of record.
        #[n(0)]
        kind: String,
        /// Its content.
        #[n(1)]
        data: Json,
    },
    /// An operator's command to the instance.
    #[n(13)]
    Command {
        /// The name of its event, or of the step it submitted.
        #[n(0)]
        name: String,
        /// Actor and reason.
        #[n(1)]
        audit: AuditInfo,
    },
    /// The instance ended.
    #[n(14)]
    Ended {
        /// `completed`, `failed` or `cancelled`.
        #[n(0)]
        phase: String,
        /// The code of its failure.
        #[n(1)]
        code: Option<String>,
    },
    /// The outcome is fixed; children are still to end.
    #[n(15)]
    Closing,
    /// A message was published.
    #[n(16)]
    Published {
        /// Its name.
        #[n(0)]
        name: String,
    },
    /// An attempt of a task failed, and another one follows.
    #[n(24)]
    AttemptFailed {
        /// The task.
        #[n(0)]
        key: EffectKey,
        /// Which attempt, from 1.
        #[n(1)]
        attempt: u32,
        /// The code of its failure.
        #[n(2)]
        code: String,
        /// The message of its failure.
        #[n(3)]
        message: String,
        /// When the next attempt may begin.
        #[n(4)]
        retry_at: Timestamp,
    },
    /// A lease expired; the attempt does not count.
    #[n(25)]
    LeaseExpired {
        /// The task.
        #[n(0)]
        key: EffectKey,
        /// The worker.
        #[n(1)]
        worker: String,
        /// How many leases in a row have expired.
        #[n(2)]
        expiries: u32,
    },
    /// A summary of older rows that were removed (O2). The time of this row is that of the newest.
    #[n(40)]
    Compacted {
        /// The time of the oldest.
        #[n(0)]
        since: Timestamp,
        /// How many turns they contained.
        #[n(1)]
        turns: u64,
        /// Timers that fired.
        #[n(2)]
        fired: u64,
        /// Timers that were cancelled.
        #[n(3)]
        cancelled: u64,
        /// Edits of timers.
        #[n(4)]
        edited: u64,
    },
}

/// Who did something, and why.
#[derive(Debug, Clone, PartialEq, Eq, Default, Encode, Decode)]
pub struct AuditInfo {
    /// The person or program.
    #[n(0)]
    pub actor: String,
    /// The reason they gave.
    #[n(1)]
    pub reason: String,
}

/// Why something open was cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub enum CancelCause {
    /// The definition left the scope that it belongs to.
    #[n(0)]
    ScopeLeft,
    /// The instance ended.
    #[n(1)]
    Ended,
    /// The task that it limits has ended.
    #[n(2)]
    TaskEnded,
    /// It continues without the instance.
    #[n(3)]
    Detached,
}

/// An operator's edit of a timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub enum Edit {
    /// Moved to another instant.
    #[n(0)]
    Moved,
    /// Moved to now, so that it fires.
    #[n(1)]
    FiredNow,
    /// Frozen.
    #[n(2)]
    Frozen,
    /// Released.
    #[n(3)]
    Released,
}

/// Packs the records of a turn.
pub fn pack(records: &[Record]) -> Vec<u8> {
    // Encoding into a Vec cannot fail.
    minicbor::to_vec(records).unwrap_or_default()
}

/// Reads what [`pack`] wrote.
pub fn unpack(bytes: &[u8]) -> Result<Vec<Record>, minicbor::decode::Error> {
    minicbor::decode(bytes)
}
