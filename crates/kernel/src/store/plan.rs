//! The plan of one transaction: units that take effect or fail independently.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use meantime_core::{
    Attribute, DefinitionId, EffectKey, Event, IncidentId, InstanceId, Start, TaskId, Timestamp,
    Trigger,
};

use crate::history::AuditInfo;

use super::{
    AnswerRow, ChannelKey, DefinitionPause, DefinitionRow, HistoryRow, InboxRow, IncidentRow,
    InstanceRow, MessageRow, OccurrenceRow, SubscriptionRow, TaskRow, TimerKey, TimerRow,
};

/// The rows that the next turns need.
#[derive(Debug, Clone, Default)]
pub struct FetchRequest {
    /// The time of the batch.
    pub now: Timestamp,
    /// Instances to turn.
    pub instances: Vec<Wanted>,
    /// Tasks that reports refer to.
    pub tasks: Vec<TaskId>,
    /// Claims of workers.
    pub claims: Vec<ClaimQuery>,
    /// Incidents to retry or resolve.
    pub incidents: Vec<IncidentId>,
    /// The largest number of inbox rows per instance.
    pub inbox_limit: usize,
}

/// An instance to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    /// The instance.
    pub id: InstanceId,
    /// Whether the row itself is wanted; a node that owns the store may have it in its cache.
    pub row: bool,
    /// Whether its inbox is wanted.
    pub inbox: bool,
}

/// A claim of a worker.
#[derive(Debug, Clone, Default)]
pub struct ClaimQuery {
    /// Types it can do; empty means any.
    pub types: Vec<String>,
    /// Queues it serves; empty means the default queue.
    pub queues: Vec<String>,
    /// How many tasks it wants.
    pub limit: usize,
    /// Tasks that other batches are handing out at this moment.
    pub busy: BTreeSet<TaskId>,
}

/// The rows that were read for a batch.
#[derive(Default)]
pub struct Fetched {
    /// One entry per wanted instance, in order.
    pub instances: Vec<FetchedInstance>,
    /// One entry per task, in order.
    pub tasks: Vec<Option<TaskRow>>,
    /// One list per claim: ready tasks by priority, then age.
    pub claims: Vec<Vec<TaskRow>>,
    /// One entry per incident, in order.
    pub incidents: Vec<Option<IncidentRow>>,
    /// Tasks whose rows cannot be decoded, among those that were requested or can be claimed, each
    /// with the reason.
    pub damaged_tasks: Vec<(TaskId, String)>,
    /// Keeps the rows locked until the commit. Dropping it releases the locks.
    pub hold: Option<Box<dyn Any + Send>>,
}

impl fmt::Debug for Fetched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fetched").field("instances", &self.instances.len()).finish_non_exhaustive()
    }
}

/// The rows that were read of one instance.
#[derive(Debug, Default)]
pub struct FetchedInstance {
    /// Its row, if it was wanted and exists.
    pub row: Option<InstanceRow>,
    /// The head of its inbox, without held events.
    pub inbox: Vec<InboxRow>,
    /// Another node has locked it; nothing was read.
    pub busy: bool,
    /// The part of the row or the inbox that cannot be decoded, if any. The row then holds the
    /// rest.
    pub damage: Option<String>,
}

/// The content of one transaction.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// The number of the commit, increasing; the store remembers the last one.
    pub batch: u64,
    /// The time of the commit.
    pub now: Timestamp,
    /// The units, in order.
    pub units: Vec<Unit>,
    /// The lease term in which its numbers were assigned; `None` if the store is not shared.
    pub lease_term: Option<u64>,
}

/// A part of a plan that takes effect as a whole or not at all.
#[derive(Debug, Clone, Default)]
pub struct Unit {
    /// Conditions on rows that must not exist yet.
    pub preconditions: Vec<Precondition>,
    /// The fence, with the first write.
    pub fence: Fence,
    /// Rows to write if the fence holds.
    pub writes: Vec<Write>,
    /// Writes that depend on what others have written.
    pub conditional_writes: Vec<ConditionalWrite>,
}

/// A condition on a row that must not exist yet; otherwise the unit is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Precondition {
    /// No live instance of the definition name has the key.
    KeyFree {
        /// The definition's name.
        definition: String,
        /// The business key.
        key: String,
    },
    /// The idempotency key is new; its answer is stored with the unit.
    NewRequest(AnswerRow),
}

/// The fence of a unit: the condition under which it takes effect.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Fence {
    /// No condition.
    #[default]
    Free,
    /// A new instance: its row must not exist.
    Insert(Arc<InstanceRow>),
    /// The instance must still be at this turn; the row replaces it.
    Turn {
        /// The new row.
        row: Arc<InstanceRow>,
        /// The turn number that the stored row must have.
        expected: u64,
    },
    /// The instance must still be at this turn; its row is not written.
    Unchanged {
        /// The instance.
        instance: InstanceId,
        /// The turn.
        turn_no: u64,
    },
    /// The task must not have been claimed since; the row replaces it.
    Task {
        /// The new row.
        row: Box<TaskRow>,
        /// The number of claims that the stored row must have.
        claims: u32,
    },
}

/// One row to write.
#[derive(Debug, Clone, PartialEq)]
pub enum Write {
    /// A new instance that waits for its first turn.
    InsertInstance(Box<InstanceRow>),
    /// Appends history.
    History(HistoryRow),
    /// Puts an event into an inbox, or replaces it.
    PutInbox(Box<InboxRow>),
    /// Removes an event that a turn has taken.
    DeleteInbox {
        /// The instance.
        instance: InstanceId,
        /// The number of the event.
        seq: u64,
    },
    /// Releases all events that an incident holds.
    ReleaseInbox {
        /// The instance.
        instance: InstanceId,
        /// The incident.
        incident: IncidentId,
    },
    /// Deletes the held events of an instance that ended.
    ClearHeld {
        /// The instance.
        instance: InstanceId,
    },
    /// Deletes everything open of a damaged instance that ended: its timers, tasks, subscriptions
    /// and events, whatever its own lists say. A store may have to scan whole tables for it.
    ClearOpen {
        /// The instance.
        instance: InstanceId,
    },
    /// Writes a ledger row of a schedule.
    PutOccurrence(OccurrenceRow),
    /// Arms a timer.
    InsertTimer(TimerRow),
    /// Removes a timer.
    DeleteTimer(TimerKey),
    /// Moves, freezes or releases a timer; its other fields stay.
    MoveTimer {
        /// Its current key.
        from: TimerKey,
        /// Its new key.
        to: TimerKey,
    },
    /// Schedules a task.
    InsertTask(Box<TaskRow>),
    /// Changes a task that must not have been claimed since (I5).
    UpdateTask {
        /// The new row.
        row: Box<TaskRow>,
        /// The number of claims that the stored row must have.
        claims: u32,
    },
    /// Ends or cancels a task.
    DeleteTask {
        /// The task.
        id: TaskId,
        /// The number of claims that the stored row must have, if it matters.
        claims: Option<u32>,
    },
    /// Detaches a task whose instance ends. It stays detached even if its row is replaced by a
    /// writer that read it before.
    DetachTask(TaskId),
    /// Counts one more live instance below a root.
    JoinTree {
        /// The root.
        root: InstanceId,
    },
    /// Counts one live instance less below a root.
    LeaveTree {
        /// The root.
        root: InstanceId,
    },
    /// Stores a message.
    PutMessage(MessageRow),
    /// Removes a message from its channel.
    DeleteMessage {
        /// The channel.
        channel: ChannelKey,
        /// The number of the message.
        seq: u64,
    },
    /// Deletes expired messages of a channel.
    ExpireMessages {
        /// The channel.
        channel: ChannelKey,
        /// Those that expired at or before this instant.
        now: Timestamp,
    },
    /// Deletes all signals kept for an instance that ended.
    ClearSignals {
        /// The instance.
        instance: InstanceId,
    },
    /// Stores a subscription to a shared channel.
    PutSubscription(SubscriptionRow),
    /// Ends a subscription.
    DeleteSubscription {
        /// The channel.
        channel: ChannelKey,
        /// The number of the subscription.
        seq: u64,
    },
    /// Raises an incident.
    PutIncident(IncidentRow),
    /// Closes an incident; the history keeps its records.
    DeleteIncident(IncidentId),
    /// Closes all incidents of an instance that ended.
    ClearIncidents {
        /// The instance.
        instance: InstanceId,
    },
    /// Adds tags and attributes by which the instance can be found.
    PutTags {
        /// The instance.
        instance: InstanceId,
        /// Plain tags.
        tags: Vec<String>,
        /// Named values.
        attributes: Vec<Attribute>,
    },
    /// Inserts a new version of a definition.
    InsertDefinition(Box<DefinitionRow>),
    /// Marks a version as undeployed: it starts no new instances.
    RetireDefinition(DefinitionId),
    /// Sets or ends the pause of all versions of a name.
    PauseDefinition {
        /// The name.
        name: String,
        /// The pause; `None` ends it.
        pause: Option<DefinitionPause>,
    },
    /// Sets the triggers of a name.
    SetTriggers {
        /// The definition's name.
        name: String,
        /// The version that they start.
        definition: DefinitionId,
        /// The triggers.
        triggers: Vec<Trigger>,
    },
    /// Stores the answer to an idempotency key.
    PutAnswer(AnswerRow),
    /// Stores a message id.
    PutMessageId {
        /// The sender's id.
        id: String,
        /// When it may be deleted.
        expires_at: Timestamp,
    },
    /// An operator resumes a restored store.
    Resume {
        /// When.
        at: Timestamp,
        /// Actor and reason.
        audit: AuditInfo,
    },
}

/// A part of a unit that depends on what others have written; resolved inside the transaction.
#[derive(Debug, Clone, PartialEq)]
pub enum ConditionalWrite {
    /// Delivers a message to the longest waiting subscriptions, starts instances, and keeps it.
    Publish {
        /// The message.
        message: MessageRow,
        /// The sender's id and until when it is remembered: a second message with it is dropped.
        id: Option<(String, Timestamp)>,
        /// Ids for instances that it may start.
        accept: Accept,
    },
    /// Takes the oldest message, or waits.
    Subscribe {
        /// The subscription.
        subscription: SubscriptionRow,
        /// The inbox number of a match.
        seq: u64,
    },
    /// Returns a message to its channel under its old number: its subscription was gone.
    Return {
        /// The message.
        message: MessageRow,
        /// The definition that did not take it.
        definition: String,
        /// Another element of the same instance that waits for this signal.
        waiter: Option<EffectKey>,
        /// Ids for an instance that it may start; the inbox number of a match with the next
        /// subscription.
        accept: Accept,
    },
    /// Delivers a signal to everyone who waits for it.
    Broadcast {
        /// The channel.
        channel: ChannelKey,
        /// The payload.
        payload: meantime_core::Json,
        /// Ids for instances that it may start.
        accept: Accept,
    },
    /// Starts a child, or answers with a conflict.
    StartChild(NewChild),
    /// Creates a schedule, changes the existing one, or answers with a conflict.
    PutSchedule {
        /// The effect to answer; `None` for a command.
        answer: Option<EffectKey>,
        /// The schedule, complete except for its definition. Its key is its identity, unless it is
        /// an additional one beside those that exist.
        row: Box<InstanceRow>,
        /// The tag of schedules with the same identity that exist beside each other.
        tag: String,
        /// The definition and version that it starts.
        target: (String, u32),
        /// The event for an existing schedule, if it may be changed.
        upsert: Option<Event>,
        /// The inbox number of the answer and of the change.
        seq: u64,
    },
    /// Cancels children.
    CancelChildren {
        /// The parent.
        instance: InstanceId,
        /// Only the child that this effect started.
        only: Option<EffectKey>,
        /// Whether children that may outlive a normal end are spared.
        normal_end: bool,
        /// The reason.
        reason: String,
        /// The inbox number.
        seq: u64,
    },
    /// Delivers an event to every live child.
    NotifyChildren {
        /// The parent.
        instance: InstanceId,
        /// The event.
        event: Event,
        /// The inbox number.
        seq: u64,
    },
    /// Delivers an event to the parent, if it is live.
    Notify {
        /// The parent.
        parent: InstanceId,
        /// The event.
        event: Event,
        /// The inbox number.
        seq: u64,
    },
    /// Offers the next stored message to a message start whose business key became free.
    Offer {
        /// The channels of all its message triggers.
        channels: Vec<ChannelKey>,
        /// The definition.
        definition: String,
        /// An id for the instance that it may start.
        accept: Accept,
    },
    /// Adds a version, unless its content is that of the latest.
    Deploy(Box<NewDefinition>),
    /// Undeploys a version; an earlier one takes over its triggers.
    Undeploy {
        /// The name.
        name: String,
        /// The version.
        version: u32,
        /// Ids for the timer schedules of the version that takes over.
        accept: Accept,
    },
    /// Pauses all versions of a name, or ends the pause.
    PauseDefinition {
        /// The name.
        name: String,
        /// The pause; `None` ends it.
        pause: Option<DefinitionPause>,
    },
}

/// Ids and an inbox number that are reserved for what a transaction may start or deliver.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Accept {
    /// Ids for new instances.
    pub ids: Vec<InstanceId>,
    /// The inbox number of a delivery.
    pub seq: u64,
}

/// A child to start.
#[derive(Debug, Clone, PartialEq)]
pub struct NewChild {
    /// The effect that starts it.
    pub key: EffectKey,
    /// The name of its definition.
    pub definition: String,
    /// Its version; `None` means the latest.
    pub version: Option<u32>,
    /// The latest version with this label, if no version is named.
    pub label: Option<String>,
    /// The child, complete except for its definition.
    pub row: Box<InstanceRow>,
    /// The occurrence of the schedule that it is for: each has one run.
    pub scheduled_at: Option<Timestamp>,
    /// The largest number of live instances below the root.
    pub tree_limit: u64,
    /// The inbox number of the answer.
    pub seq: u64,
}

/// A definition to deploy; the commit assigns its number and version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewDefinition {
    /// The row, with number and version zero.
    pub row: DefinitionRow,
    /// Ids for the schedules of its timer triggers.
    pub accept: Accept,
}

/// The result of a unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UnitResult {
    /// It took effect.
    Done(UnitDone),
    /// Its fence did not hold; nothing of it was written.
    Conflict,
    /// A precondition did not hold; nothing of it was written.
    Refused(Refusal),
}

/// Why a unit was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// A live instance has the key.
    KeyTaken(InstanceId),
    /// The same request was answered before.
    Repeated(InstanceId),
    /// The idempotency key was used for a different request.
    KeyReused,
    /// There is no such definition or version.
    UnknownDefinition,
    /// Too many definitions start with the same message or signal.
    TooManyStarts,
}

/// What a unit caused besides its own writes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UnitDone {
    /// Instances that got an event.
    pub woken: Vec<InstanceId>,
    /// Those of them that were cancelled.
    pub cancelled: Vec<InstanceId>,
    /// Instances that were started.
    pub accepted: Vec<InstanceId>,
    /// Their definitions, in the same order.
    pub accepted_definitions: Vec<DefinitionId>,
    /// Whether a message was kept for later.
    pub kept: bool,
    /// Whether a message was dropped because its id was seen before.
    pub duplicate: bool,
    /// The schedule that was created or changed.
    pub scheduled: Option<InstanceId>,
    /// Why a schedule was not created.
    pub conflict: Option<String>,
    /// Versions that were deployed, and whether each is new.
    pub deployed: Vec<(DefinitionId, u32, bool)>,
}

/// What resolving a plan needs to know, collected so that a store can read it in few queries.
#[derive(Debug, Clone, Default)]
pub struct Lookups {
    /// Business keys: (definition name, key).
    pub keys: BTreeSet<(String, String)>,
    /// Idempotency keys.
    pub requests: BTreeSet<String>,
    /// Message ids.
    pub messages: BTreeSet<String>,
    /// Channels, with the largest number of messages, and of subscriptions per definition, to read.
    pub channels: BTreeMap<ChannelKey, usize>,
    /// Definitions for which messages of a channel are wanted that they have not received.
    pub readers: BTreeMap<ChannelKey, BTreeSet<String>>,
    /// Messages that are wanted by their number.
    pub returned: BTreeSet<(ChannelKey, u64)>,
    /// Definition names: all their versions.
    pub definitions: BTreeSet<String>,
    /// Names of messages and signals that may start instances.
    pub starts: BTreeSet<(super::ChannelKind, String)>,
    /// Parents whose live children are wanted.
    pub children: BTreeSet<InstanceId>,
    /// Instances that may have ended.
    pub live: BTreeSet<InstanceId>,
    /// Occurrences that may have a run: (schedule, instant).
    pub occurrences: BTreeSet<(InstanceId, Timestamp)>,
    /// Tags whose live instances are wanted.
    pub tags: BTreeSet<String>,
    /// Roots whose live descendants are to be counted.
    pub trees: BTreeSet<InstanceId>,
}

/// The encoded start of an instance before its first turn.
pub(crate) fn encode_start(start: &Start) -> meantime_core::State {
    // Encoding into a Vec cannot fail.
    meantime_core::State::new(0, minicbor::to_vec(start).unwrap_or_default())
}
