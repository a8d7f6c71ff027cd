//! The one trait behind which every store lives, and what crosses it.
//!
//! ```text
//!   machine ── TakeRequest ──► take ──► Taken ──► (advance) ──► Plan ──► commit ──► UnitResult…
//!                                │                                          │
//!                                └── what turns need, locked if shared       └── one transaction
//! ```
//!
//! A store writes what it is given, atomically, in batches. It decides nothing: the conditional
//! parts of a plan are settled by [`Plan::settle`], pure code that every store calls inside its
//! transaction with the rows it found.

mod connectivity;
mod contract;
mod error;
mod layer;
mod membership;
mod memory;
mod plan;
mod read;
mod row;
mod settle;
mod upkeep;

pub use connectivity::{Connectivity, ConnectivityListener};
pub use contract::{Pending, Store};
pub use error::{Class, Error};
pub use layer::Layer;
pub use membership::{Listener, Membership, NodeIndex, Notice, Share, To};
pub use memory::MemoryStore;
pub(crate) use plan::encode_start;
pub use plan::{
    Accept, Ask, ClaimQuery, Guard, Lookups, NewDefinition, Plan, Refusal, Require, TakeRequest,
    Taken, TakenInstance, Unit, UnitDone, UnitResult, Wanted, Write,
};
pub use read::{
    DefinitionFilter, DueQuery, InstanceFilter, Page, Recovered, TaskFilter, TimerCount,
    TimerFilter, WaitingTask,
};
pub use row::{
    AnswerRow, ChannelKey, ChannelKind, ChildRef, DefinitionRow, Extra, HistoryRow, InboxRow,
    IncidentCause, IncidentRow, InstanceRow, LeaseRow, Lineage, MessageRow, OccurrenceKey,
    OccurrenceRow, Phase, StartedBy, SubscriptionRow, TaskRow, TaskState, TimerKey, TimerKind,
    TimerRow,
};
pub(crate) use settle::binding_tag;
pub use settle::{
    BROADCAST_STARTS, Channel as FoundChannel, DefinitionHead, Fenced, Fences, Found,
    MESSAGE_STARTS, Settled, Tree,
};
pub use upkeep::{
    CompactRequest, OperationKind, OperationRow, PurgeRequest, Purged, look_again, next_epoch,
};
