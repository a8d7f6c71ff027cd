//! What happened, one packed row per turn: the instance's history and the ledger of due moments.
//!
//! Every due moment leaves exactly one closing record: fired, cancelled or moved (O2). Encoded
//! field numbers are a storage format: never reuse one.

use meantime_core::{EffectKey, Failure, IncidentId, Json, StartCause, Timestamp};
use minicbor::{Decode, Encode};

use crate::store::TimerKind;

/// One thing that happened in a turn.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub enum Record {
    /// The instance was accepted.
    #[n(0)]
    Started {
        /// By whom.
        #[n(0)]
        cause: StartCause,
        /// With what.
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
        /// What it is for.
        #[n(1)]
        kind: TimerKind,
        /// Where.
        #[n(2)]
        element: String,
        /// When it is due.
        #[n(3)]
        due_at: Timestamp,
    },
    /// A due moment came.
    #[n(3)]
    TimerFired {
        /// The timer.
        #[n(0)]
        key: EffectKey,
        /// What it is for.
        #[n(1)]
        kind: TimerKind,
        /// When it was due.
        #[n(2)]
        due_at: Timestamp,
        /// Who fired it, and why; none if it fired by itself.
        #[n(3)]
        audit: Option<AuditInfo>,
    },
    /// A due moment will not come.
    #[n(4)]
    TimerCancelled {
        /// The timer.
        #[n(0)]
        key: EffectKey,
        /// What it is for.
        #[n(1)]
        kind: TimerKind,
        /// When it would have been due.
        #[n(2)]
        due_at: Timestamp,
        /// Why.
        #[n(3)]
        cause: CancelCause,
    },
    /// Somebody moved, froze or released a due moment.
    #[n(5)]
    TimerEdited {
        /// The timer.
        #[n(0)]
        key: EffectKey,
        /// What it is for.
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
        /// Who did it and why.
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
    /// A task was cancelled or left to itself.
    #[n(7)]
    TaskCancelled {
        /// The task.
        #[n(0)]
        key: EffectKey,
        /// Why.
        #[n(1)]
        cause: CancelCause,
    },
    /// A task that nobody awaited ended.
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
        /// What happened.
        #[n(1)]
        failure: Failure,
    },
    /// An incident is over.
    #[n(11)]
    IncidentClosed {
        /// The incident.
        #[n(0)]
        incident: IncidentId,
        /// Who closed it; none is the definition itself.
        #[n(1)]
        audit: Option<AuditInfo>,
    },
    /// A line written by the definition.
    #[n(12)]
    Note {
        /// What kind of line.
        #[n(0)]
        kind: String,
        /// Its content.
        #[n(1)]
        data: Json,
    },
    /// Somebody did something to the instance.
    #[n(13)]
    Command {
        /// What: `cancel`, `setVariables`.
        #[n(0)]
        name: String,
        /// Who and why.
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
        /// What it says.
        #[n(3)]
        message: String,
        /// When the next attempt may begin.
        #[n(4)]
        retry_at: Timestamp,
    },
    /// A worker did not report in time; its attempt is not counted.
    #[n(25)]
    LeaseExpired {
        /// The task.
        #[n(0)]
        key: EffectKey,
        /// Who had it.
        #[n(1)]
        worker: String,
        /// How many leases in a row have expired.
        #[n(2)]
        expiries: u32,
    },
    /// Older rows were dropped; this stands for them (O2). The row's time is that of the newest.
    #[n(40)]
    Compacted {
        /// When the oldest of them happened.
        #[n(0)]
        since: Timestamp,
        /// How many turns they told of.
        #[n(1)]
        turns: u64,
        /// Due moments that came.
        #[n(2)]
        fired: u64,
        /// Due moments that were cancelled.
        #[n(3)]
        cancelled: u64,
        /// Edits of due moments.
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
    /// What they said.
    #[n(1)]
    pub reason: String,
}

/// Why something armed was cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub enum CancelCause {
    /// The definition left the scope that it belongs to.
    #[n(0)]
    ScopeLeft,
    /// The instance ended.
    #[n(1)]
    Ended,
    /// The task it guards is over.
    #[n(2)]
    TaskEnded,
    /// It runs on without the instance.
    #[n(3)]
    Detached,
}

/// What somebody did to a timer.
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
