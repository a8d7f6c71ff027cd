//! The inputs and outputs of the machine.

use meantime_core::{DefinitionId, Fault, InstanceId, TaskId, Timestamp, Turn};

use super::definitions::Stored;
use super::job::Job;
use super::measure::Distribution;
use crate::command::{Command, Error, LeaseToken, Reply, Report, Wait};
use crate::store::{
    self, CompactRequest, DefinitionRow, DueQuery, FetchRequest, Fetched, InstanceRow, Membership,
    Notice, Partition, Plan, Recovered, TaskRow, TimerRow, To, UnitResult,
};

/// Identifies a caller that waits for a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket(pub u64);

/// An input of the machine.
#[derive(Debug)]
pub enum Input {
    /// The state of the store at the start. No other input comes before it.
    Recovered(Recovered, Vec<DefinitionRow>),
    /// A command of a caller.
    Command(Ticket, Box<Command>, Wait),
    /// The report on an engine task. The engine, unlike a worker, does not repeat it, so it is
    /// never rejected.
    Report(TaskId, LeaseToken, Report),
    /// A caller does not wait any longer and is answered with the current state.
    Abandon(Ticket),
    /// The answer to `Fetch`.
    Fetched(u64, Result<Fetched, store::Error>),
    /// The answer to `Advance`, in the order of the jobs; `None` for a job that takes long, whose
    /// turn follows as `SlowTurn`.
    Advanced(u64, Vec<Option<Result<Turn, Fault>>>),
    /// The turn of a job that `Advanced` left out: its batch and its index there. It comes after
    /// that answer.
    SlowTurn(u64, usize, Result<Turn, Fault>),
    /// The answer to `Commit`.
    Committed(u64, Result<Vec<UnitResult>, store::Error>),
    /// The answer to `Verify`: whether the batch took effect, and its results if it did.
    Verified(u64, bool, Vec<UnitResult>),
    /// The answer to `LoadTimers`.
    Timers(Result<Vec<TimerRow>, store::Error>),
    /// The answer to `LoadDefinition`: the compiled definition, if it can be loaded.
    Definition(DefinitionId, Box<Option<Stored>>),
    /// The answer to `LoadTree`: the instance and its live descendants, up to the first that is not
    /// idle by itself.
    Tree(InstanceId, Vec<InstanceRow>),
    /// The membership, from a heartbeat, and until when the node may rely on its lease, in real
    /// time. It comes every few seconds if the store is shared.
    Membership(Membership, Option<Timestamp>),
    /// The answer to `Recover`.
    Adopted(Recovered),
    /// Notices of other nodes.
    Notices(Vec<Notice>),
    /// The answer to `LoadDefinitions`.
    Definitions(Vec<DefinitionRow>),
    /// The store became unreachable, for this reason.
    StoreLost(String),
    /// The store is reachable.
    StoreRestored,
    /// Time has passed.
    Tick,
}

/// An output of the machine: something to perform.
#[derive(Debug)]
pub enum Output {
    /// Read the rows that a batch needs.
    Fetch(u64, FetchRequest),
    /// Compute turns; panics are caught.
    Advance(u64, Vec<Job>),
    /// Discard a slow turn: its batch, and the index of its job there.
    Drop(u64, usize),
    /// Commit a batch.
    Commit(u64, Fetched, Plan),
    /// Find out whether a batch took effect (I2); return the results with the answer.
    Verify {
        /// The batch.
        batch: u64,
        /// The number under which the store committed it.
        commit: u64,
        /// Its results, if it took effect.
        results: Vec<UnitResult>,
    },
    /// Read the next timers.
    LoadTimers(DueQuery),
    /// Read and compile a definition.
    LoadDefinition(DefinitionId),
    /// Read the list of definitions.
    LoadDefinitions,
    /// Read the unfinished work of the node's partition.
    Recover(Partition),
    /// Send notices to other nodes; there is no answer.
    Notify(Vec<(To, Notice)>),
    /// Read an instance and its live descendants, up to the first that is not idle by itself.
    LoadTree(InstanceId),
    /// Answer a caller.
    Reply(Ticket, Result<Reply, Error>),
    /// Compact the history of an instance; there is no answer.
    Compact(CompactRequest),
    /// Run an engine task.
    Dispatch(Box<TaskRow>),
    /// An instance is damaged: some of its rows cannot be decoded, for this reason.
    Damaged(InstanceId, String),
    /// An instance has ended because its deadline passed.
    TimedOut(TimedOut),
    /// Stop: the store cannot be trusted or used any more, for this reason.
    Fatal(Error),
}

/// An instance that has ended because its deadline passed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimedOut {
    /// The instance.
    pub instance: InstanceId,
    /// Its definition.
    pub definition: DefinitionId,
    /// The code that its definition declares for this, or the default code.
    pub code: String,
}

/// Counters since the machine was created.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Turns that were committed.
    pub turns: u64,
    /// Batches that were committed.
    pub batches: u64,
    /// Timers that fired.
    pub fired: u64,
    /// Stale fires: the timer had already fired, or was cancelled, moved or frozen (T9).
    pub stale_fires: u64,
    /// Effects, task outcomes and computed turns without effect, because what they refer to had
    /// ended or changed before.
    pub stale_changes: u64,
    /// Turns whose fence did not hold.
    pub conflicts: u64,
    /// Turns that could not be computed.
    pub faults: u64,
    /// Instances whose rows cannot be decoded.
    pub damaged: u64,
    /// Turns that left their batch because they took long.
    pub slow_turns: u64,
    /// Slow turns that were dropped because a cancel came first.
    pub slow_turns_dropped: u64,
    /// Signals and messages that returned to their channel.
    pub returned: u64,
    /// Reports with a stale token.
    pub leases_lost: u64,
    /// Leases that expired.
    pub leases_expired: u64,
    /// Commands rejected because too much was queued.
    pub overloaded: u64,
    /// Commits whose answer was lost.
    pub ambiguous: u64,
    /// How often the store became unreachable.
    pub store_outages: u64,
    /// How often it became reachable again.
    pub store_recoveries: u64,
    /// Turns that waited because another node had locked the instance.
    pub locked: u64,
    /// Tasks that workers claimed.
    pub claimed: u64,
    /// Those of them that were leased in the commit that created them.
    pub handed_off: u64,
    /// Attempts that failed and are retried.
    pub retried: u64,
    /// How often the wall clock was set; counted by the driver.
    pub clock_steps: u64,
    /// The lateness of timers, in milliseconds.
    pub lateness_ms: Distribution,
    /// Units in one commit.
    pub commit_units: Distribution,
    /// The duration of commits, in microseconds; counted by the driver.
    pub commit_us: Distribution,
}

/// Current levels.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Levels {
    /// Pending items that wait for a turn, and global commands.
    pub queued_turns: usize,
    /// Their payloads in bytes.
    pub queued_bytes: usize,
    /// Turns that left their batch and are being computed.
    pub slow_turns: usize,
    /// The age of the oldest batch in flight, in milliseconds of real time; `None` without batches.
    /// A batch takes milliseconds: an age of seconds means that nothing makes progress.
    pub oldest_batch_ms: Option<u64>,
    /// Workers that wait for tasks.
    pub waiting_claims: usize,
    /// Tasks that workers have leased.
    pub leases: usize,
    /// Callers that wait for an answer; counted by the driver.
    pub callers: usize,
    /// Engine tasks that are running; counted by the driver.
    pub engine_tasks: usize,
    /// Starts that were admitted and wait for their turn; counted by the driver.
    pub waiting_starts: usize,
}
