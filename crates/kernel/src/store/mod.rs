//! The trait behind which every store is implemented, and its data types.
//!
//! ```text
//!  machine ── FetchRequest ─► fetch ─► Fetched ─► (advance) ─► Plan ─► commit ─► UnitResult…
//!                               │                                         │
//!                               └── rows of the turns, locked if shared   └── one transaction
//! ```
//!
//! A store writes what it is given, atomically, in batches. It decides nothing: the conditional
//! writes of a plan are resolved by [`Plan::resolve`], pure code that every store calls inside its
//! transaction with the rows it found.

mod contract;
mod error;
mod layer;
mod membership;
mod memory;
mod plan;
mod read;
mod resolve;
mod row;
mod search;
mod upkeep;

pub use contract::{BoxFuture, Connectivity, ConnectivityListener, Store};
pub use error::{Class, Error};
pub use layer::Layer;
pub use membership::{Listener, Membership, NodeIndex, Notice, Partition, To};
pub use memory::MemoryStore;
pub(crate) use plan::encode_start;
pub use plan::{
    Accept, ClaimQuery, ConditionalWrite, Fence, FetchRequest, Fetched, FetchedInstance, Lookups,
    NewChild, NewDefinition, Plan, Precondition, Refusal, Unit, UnitDone, UnitResult, Wanted,
    Write,
};
pub use read::{
    DefinitionFilter, DueQuery, Page, Recovered, TaskFilter, TimerCount, TimerFilter, WaitingTask,
};
pub(crate) use resolve::binding_tag;
pub use resolve::{
    BROADCAST_STARTS, Channel as ChannelSnapshot, DefinitionHead, Fenced, Fences, MESSAGE_STARTS,
    ResolvedPlan, Snapshot, Tree,
};
pub use row::{
    AnswerRow, ChannelKey, ChannelKind, ChildRef, DefinitionPause, DefinitionRow, HistoryRow,
    InboxRow, IncidentCause, IncidentRow, InstanceMeta, InstanceRow, LeaseRow, Lineage, MessageRow,
    OccurrenceKey, OccurrenceRow, Phase, StartedBy, SubscriptionRow, Suspension, TaskRow,
    TaskState, TimerKey, TimerKind, TimerRow,
};
pub use search::{
    IncidentCount, InstanceCount, InstanceFilter, InstanceMatches, InstancePosition,
    InstanceSearch, InstanceSort,
};
pub use upkeep::{
    CompactRequest, OperationKind, OperationRow, PurgeRequest, Purged, RetentionDecision,
    next_epoch,
};
