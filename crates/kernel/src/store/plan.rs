//! What one transaction is to do: units that succeed or fail each for itself.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use meantime_core::{
    Attribute, DefinitionId, EffectKey, Event, IncidentId, InstanceId, Start, TaskId, Timestamp,
    Trigger,
};

use crate::history::AuditInfo;

use super::{
    AnswerRow, ChannelKey, DefinitionRow, HistoryRow, InboxRow, IncidentRow, InstanceRow,
    MessageRow, OccurrenceRow, SubscriptionRow, TaskRow, TimerKey, TimerRow,
};

/// What the next turns need to know.
#[derive(Debug, Clone, Default)]
pub struct FetchRequest {
    /// The time of the batch.
    pub now: Timestamp,
    /// Instances to turn.
    pub instances: Vec<Wanted>,
    /// Tasks that somebody reported on.
    pub tasks: Vec<TaskId>,
    /// Workers who ask for tasks.
    pub claims: Vec<ClaimQuery>,
    /// Incidents that somebody wants to retry or resolve.
    pub incidents: Vec<IncidentId>,
    /// How many inbox rows of one instance at most.
    pub inbox_limit: usize,
}

/// An instance to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    /// Which.
    pub id: InstanceId,
    /// Whether the row itself is wanted; a node that owns the store may know it already.
    pub row: bool,
    /// Whether its inbox is wanted.
    pub inbox: bool,
}

/// A worker asks for tasks.
#[derive(Debug, Clone, Default)]
pub struct ClaimQuery {
    /// Types it can do; empty is any.
    pub types: Vec<String>,
    /// Queues it serves; empty is the default queue.
    pub queues: Vec<String>,
    /// How many it wants.
    pub limit: usize,
    /// Tasks that are being handed out at this moment.
    pub busy: BTreeSet<TaskId>,
}

/// What was read for a batch of turns.
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
    /// Tasks whose rows cannot be decoded, among those that were asked for or can be claimed, each
    /// with what is wrong.
    pub damaged_tasks: Vec<(TaskId, String)>,
    /// Whatever keeps the rows locked until the commit. Dropping it lets go.
    pub hold: Option<Box<dyn Any + Send>>,
}

impl fmt::Debug for Fetched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fetched").field("instances", &self.instances.len()).finish_non_exhaustive()
    }
}

/// What was read of one instance.
#[derive(Debug, Default)]
pub struct FetchedInstance {
    /// Its row, when wanted and there.
    pub row: Option<InstanceRow>,
    /// The head of its inbox, without held events.
    pub inbox: Vec<InboxRow>,
    /// Another node has it at this moment; nothing was read.
    pub busy: bool,
    /// What of the row or the inbox cannot be decoded, if anything. The row then holds what can.
    pub damage: Option<String>,
}

/// One transaction.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// The number of the batch, increasing; the store remembers the last one.
    pub batch: u64,
    /// The time of the commit.
    pub now: Timestamp,
    /// What to do, in order.
    pub units: Vec<Unit>,
    /// The lease term in which its numbers were given; none where nobody shares the store.
    pub lease_term: Option<u64>,
}

/// Something that takes effect as a whole or not at all.
#[derive(Debug, Clone, Default)]
pub struct Unit {
    /// What must not be there yet.
    pub preconditions: Vec<Precondition>,
    /// The fence; the first write.
    pub fence: Fence,
    /// Rows to write once the guard holds.
    pub writes: Vec<Write>,
    /// Parts that depend on what others have written.
    pub conditional_writes: Vec<ConditionalWrite>,
}

/// What must not be there yet, else the unit is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Precondition {
    /// No live instance of the definition name has the key.
    KeyFree {
        /// The definition's name.
        definition: String,
        /// The business key.
        key: String,
    },
    /// The idempotency key is new; its answer is remembered with the unit.
    NewRequest(AnswerRow),
}

/// The fence of a unit.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Fence {
    /// None: the unit depends on nothing.
    #[default]
    Free,
    /// A new instance.
    Insert(Box<InstanceRow>),
    /// The instance still stands at this turn; the row replaces it.
    Turn {
        /// The new row.
        row: Box<InstanceRow>,
        /// The turn it must still stand at.
        expected: u64,
    },
    /// The instance still stands at this turn; its row stays as it is.
    Unchanged {
        /// The instance.
        instance: InstanceId,
        /// The turn.
        turn_no: u64,
    },
    /// The task was not claimed since; the row replaces it.
    Task {
        /// The new row.
        row: Box<TaskRow>,
        /// How often it must have been claimed.
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
    /// Consumes an event.
    DeleteInbox {
        /// Whose.
        instance: InstanceId,
        /// Which.
        seq: u64,
    },
    /// Lets every held event of an incident go.
    ReleaseInbox {
        /// Whose.
        instance: InstanceId,
        /// Held by which incident.
        incident: IncidentId,
    },
    /// Drops the held events of an instance that ended.
    ClearHeld {
        /// Whose.
        instance: InstanceId,
    },
    /// Drops everything that is open for an instance that ended and was damaged: its timers, tasks,
    /// subscriptions and events, whatever its own list says. A store may have to look through whole
    /// tables for it.
    ClearOpen {
        /// Whose.
        instance: InstanceId,
    },
    /// Writes a line of a schedule's ledger.
    PutOccurrence(OccurrenceRow),
    /// Arms a timer.
    InsertTimer(TimerRow),
    /// Removes a timer.
    DeleteTimer(TimerKey),
    /// Moves, freezes or releases a timer; everything else about it stays.
    MoveTimer {
        /// Where it stands.
        from: TimerKey,
        /// Where it goes.
        to: TimerKey,
    },
    /// Schedules a task.
    InsertTask(Box<TaskRow>),
    /// Changes a task that was not claimed since (I5).
    UpdateTask {
        /// The new row.
        row: Box<TaskRow>,
        /// How often it must have been claimed.
        claims: u32,
    },
    /// Ends or cancels a task.
    DeleteTask {
        /// Which.
        id: TaskId,
        /// How often it must have been claimed, when that matters.
        claims: Option<u32>,
    },
    /// Leaves a task to itself when its instance ends. It stays so, also when its row is replaced
    /// by somebody who read it before.
    DetachTask(TaskId),
    /// One more live instance below a root.
    JoinTree {
        /// The root.
        root: InstanceId,
    },
    /// One live instance less below a root.
    LeaveTree {
        /// The root.
        root: InstanceId,
    },
    /// Keeps a message.
    PutMessage(MessageRow),
    /// Takes a message out of its buffer.
    DeleteMessage {
        /// The channel.
        channel: ChannelKey,
        /// Which.
        seq: u64,
    },
    /// Drops messages of a channel that are too old.
    ExpireMessages {
        /// The channel.
        channel: ChannelKey,
        /// Those that expired at or before.
        now: Timestamp,
    },
    /// Drops all signals kept for an instance that ended.
    ClearSignals {
        /// The instance.
        instance: InstanceId,
    },
    /// Waits on a shared channel.
    PutSubscription(SubscriptionRow),
    /// Stops waiting.
    DeleteSubscription {
        /// The channel.
        channel: ChannelKey,
        /// Which.
        seq: u64,
    },
    /// Raises an incident.
    PutIncident(IncidentRow),
    /// Closes an incident; the history keeps it.
    DeleteIncident(IncidentId),
    /// Closes all incidents of an instance that ended.
    ClearIncidents {
        /// The instance.
        instance: InstanceId,
    },
    /// Adds tags and attributes to find the instance by.
    PutTags {
        /// The instance.
        instance: InstanceId,
        /// Plain tags.
        tags: Vec<String>,
        /// Named values.
        attributes: Vec<Attribute>,
    },
    /// A new version.
    InsertDefinition(Box<DefinitionRow>),
    /// A version that starts nothing any more.
    RetireDefinition(DefinitionId),
    /// What the name starts by itself, from now on.
    SetTriggers {
        /// The definition's name.
        name: String,
        /// The version that is started.
        definition: DefinitionId,
        /// By what.
        triggers: Vec<Trigger>,
    },
    /// Remembers the answer to an idempotency key.
    PutAnswer(AnswerRow),
    /// Remembers a message id.
    PutMessageId {
        /// The sender's id.
        id: String,
        /// When it may be forgotten.
        expires_at: Timestamp,
    },
    /// Somebody confirmed that a restored copy may act.
    Resume {
        /// When.
        at: Timestamp,
        /// Who and why.
        audit: AuditInfo,
    },
}

/// A conditional part of a unit, settled inside the transaction.
#[derive(Debug, Clone, PartialEq)]
pub enum ConditionalWrite {
    /// Gives a message to whoever waits longest, starts an instance, or keeps it.
    Publish {
        /// The message.
        message: MessageRow,
        /// The sender's id and until when it is remembered: a second message is dropped.
        id: Option<(String, Timestamp)>,
        /// Where an instance would be started.
        accept: Accept,
    },
    /// Takes the oldest message, or waits.
    Subscribe {
        /// Who waits.
        subscription: SubscriptionRow,
        /// The inbox place of a match.
        seq: u64,
    },
    /// Puts a message back at its old place: its waiter was gone.
    Return {
        /// The message.
        message: MessageRow,
        /// The definition that did not take it.
        definition: String,
        /// Another place of the same instance that waits for this signal.
        waiter: Option<EffectKey>,
        /// Where an instance would be started; the inbox place of a match with the next waiter.
        accept: Accept,
    },
    /// Gives a signal to everyone who waits for it.
    Broadcast {
        /// The channel.
        channel: ChannelKey,
        /// What is sent.
        payload: meantime_core::Json,
        /// Where instances would be started.
        accept: Accept,
    },
    /// Starts a child, or answers with a conflict.
    StartChild {
        /// The effect.
        key: EffectKey,
        /// The name of its definition.
        definition: String,
        /// Its version; none is the latest.
        version: Option<u32>,
        /// The latest version with this label, when no version is named.
        label: Option<String>,
        /// The child, complete but for its definition.
        row: Box<InstanceRow>,
        /// The occurrence of the schedule that it is for: there is one run for each.
        scheduled_at: Option<Timestamp>,
        /// How many live instances there may be below the root.
        tree_limit: u64,
        /// The inbox place of the answer.
        seq: u64,
    },
    /// Makes a schedule, changes the one that exists, or answers with a conflict.
    PutSchedule {
        /// The effect to answer, or none when nobody waits.
        answer: Option<EffectKey>,
        /// The schedule, complete but for its definition. Its key is the binding's identity,
        /// unless it is another one beside those that exist.
        row: Box<InstanceRow>,
        /// The tag of schedules with the same identity that were made beside others.
        tag: String,
        /// The definition and version that it starts.
        target: (String, u32),
        /// What an existing one is told, if it may be changed.
        upsert: Option<Event>,
        /// The inbox places of the answer and of the change.
        seq: u64,
    },
    /// Asks children to end.
    CancelChildren {
        /// Of which instance.
        instance: InstanceId,
        /// Only the one that this effect started.
        only: Option<EffectKey>,
        /// Whether those that may outlive a normal end are spared.
        normal_end: bool,
        /// Why.
        reason: String,
        /// The inbox place.
        seq: u64,
    },
    /// Tells every live child something.
    NotifyChildren {
        /// Of which instance.
        instance: InstanceId,
        /// What happened.
        event: Event,
        /// The inbox place.
        seq: u64,
    },
    /// Tells the parent, if it is still there.
    Notify {
        /// The parent.
        parent: InstanceId,
        /// What happened.
        event: Event,
        /// The inbox place.
        seq: u64,
    },
    /// Offers the next kept message to a message start whose key became free.
    Offer {
        /// The channels of all its message starts.
        channels: Vec<ChannelKey>,
        /// The definition.
        definition: String,
        /// Where the instance would be started.
        accept: Accept,
    },
    /// Adds a version, unless it is the same as the latest.
    Deploy(Box<NewDefinition>),
    /// Retires a version; an earlier one takes over its triggers.
    Undeploy {
        /// The name.
        name: String,
        /// The version.
        version: u32,
        /// Ids for the schedules of the heir's timer starts.
        accept: Accept,
    },
}

/// Ids and inbox places set aside for what a transaction may accept.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Accept {
    /// Ids for new instances.
    pub ids: Vec<InstanceId>,
    /// The inbox place of a delivery.
    pub seq: u64,
}

/// A definition to deploy; its number and version are given by the commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewDefinition {
    /// The row, with number and version still zero.
    pub row: DefinitionRow,
    /// Ids for the schedules of its timer starts.
    pub accept: Accept,
}

/// What became of a unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UnitResult {
    /// It took effect.
    Done(UnitDone),
    /// Its fence did not hold; nothing of it was written.
    Conflict,
    /// Something that must be new was not; nothing of it was written.
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
    /// Too many definitions are started by the same signal.
    TooManyStarts,
}

/// What a unit brought about besides its own writes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UnitDone {
    /// Instances that got an event.
    pub woken: Vec<InstanceId>,
    /// Those of them that were cancelled.
    pub cancelled: Vec<InstanceId>,
    /// Instances that were accepted.
    pub accepted: Vec<InstanceId>,
    /// Their definitions, in the same order.
    pub accepted_definitions: Vec<DefinitionId>,
    /// Whether a message was kept for later.
    pub kept: bool,
    /// Whether a message was dropped because its id was seen before.
    pub duplicate: bool,
    /// The schedule that was made or changed.
    pub scheduled: Option<InstanceId>,
    /// Why a schedule was not made.
    pub conflict: Option<String>,
    /// Versions that were deployed, and whether each is new.
    pub deployed: Vec<(DefinitionId, u32, bool)>,
}

/// What settling a plan needs to see, collected so that a store can fetch it in few queries.
#[derive(Debug, Clone, Default)]
pub struct Lookups {
    /// Business keys: (definition name, key).
    pub keys: BTreeSet<(String, String)>,
    /// Idempotency keys.
    pub requests: BTreeSet<String>,
    /// Message ids.
    pub messages: BTreeSet<String>,
    /// Channels, with how many messages and subscriptions of each definition at most.
    pub channels: BTreeMap<ChannelKey, usize>,
    /// The definitions for which messages of a channel are wanted that they have not had.
    pub readers: BTreeMap<ChannelKey, BTreeSet<String>>,
    /// Messages that are wanted by their place.
    pub returned: BTreeSet<(ChannelKey, u64)>,
    /// Definition names: all their versions.
    pub definitions: BTreeSet<String>,
    /// Names of messages and signals that may start something.
    pub starts: BTreeSet<(super::ChannelKind, String)>,
    /// Parents whose live children are wanted.
    pub children: BTreeSet<InstanceId>,
    /// Instances that may have ended.
    pub live: BTreeSet<InstanceId>,
    /// Occurrences that may be taken: (schedule, instant).
    pub occurrences: BTreeSet<(InstanceId, Timestamp)>,
    /// Tags whose live instances are wanted.
    pub tags: BTreeSet<String>,
    /// Roots whose live descendants are to be counted.
    pub trees: BTreeSet<InstanceId>,
}

/// The encoded start of an instance that has not had its first turn.
pub(crate) fn encode_start(start: &Start) -> meantime_core::State {
    // Encoding into a Vec cannot fail.
    meantime_core::State::new(0, minicbor::to_vec(start).unwrap_or_default())
}
