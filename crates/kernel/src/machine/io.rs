//! What goes into the machine and what comes out.

use meantime_core::{DefinitionId, Fault, InstanceId, TaskId, Timestamp, Turn};

use super::definitions::Stored;
use super::job::Job;
use super::measure::Distribution;
use crate::command::{Command, Error, LeaseToken, Reply, Report, Wait};
use crate::store::{
    self, CompactRequest, DefinitionRow, DueQuery, FetchRequest, Fetched, InstanceRow, Membership,
    Notice, Partition, Plan, Recovered, TaskRow, TimerRow, To, UnitResult,
};

/// Names a caller who waits for a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket(pub u64);

/// Something the machine is told.
#[derive(Debug)]
pub enum Input {
    /// What the store knows, at the start. Nothing else happens before.
    Recovered(Recovered, Vec<DefinitionRow>),
    /// Somebody wants something.
    Command(Ticket, Box<Command>, Wait),
    /// The engine is through with a task of its own. Unlike a worker it does not come again, so
    /// this is never refused and never forgotten.
    Report(TaskId, LeaseToken, Report),
    /// A caller does not wait any longer; it is answered with what there is.
    Abandon(Ticket),
    /// The answer to `Take`.
    Fetched(u64, Result<Fetched, store::Error>),
    /// The answer to `Advance`, in the order of the jobs. None for a job that takes long: its turn
    /// follows as `SlowTurn`.
    Advanced(u64, Vec<Option<Result<Turn, Fault>>>),
    /// The turn of a job that `Advanced` left out: its batch, and its number there. Comes after
    /// that answer.
    SlowTurn(u64, usize, Result<Turn, Fault>),
    /// The answer to `Commit`.
    Committed(u64, Result<Vec<UnitResult>, store::Error>),
    /// The answer to `Verify`: whether the batch took effect, and what it then decided.
    Verified(u64, bool, Vec<UnitResult>),
    /// The answer to `LoadTimers`.
    Timers(Result<Vec<TimerRow>, store::Error>),
    /// The answer to `LoadDefinition`: its notation and the compiled form, if it can be loaded.
    Definition(DefinitionId, Box<Option<Stored>>),
    /// The answer to `LoadTree`: the instance and its live descendants, up to the first that
    /// does not rest by itself.
    Tree(InstanceId, Vec<InstanceRow>),
    /// Who shares the store, from a heartbeat, and until when the node may rely on it, in real
    /// time. Comes every few seconds, if the store is shared.
    Membership(Membership, Option<Timestamp>),
    /// The answer to `Recover`.
    Adopted(Recovered),
    /// Other nodes have told something.
    Notices(Vec<Notice>),
    /// The answer to `LoadDefinitions`.
    Definitions(Vec<DefinitionRow>),
    /// The store is out of reach, for this reason.
    StoreLost(String),
    /// The store can be reached.
    StoreRestored,
    /// Time has passed.
    Tick,
}

/// Something the machine wants done.
#[derive(Debug)]
pub enum Output {
    /// Read what a batch needs.
    Fetch(u64, FetchRequest),
    /// Compute turns, each call caught.
    Advance(u64, Vec<Job>),
    /// A slow turn is not wanted any more: its batch, and the number of its job there.
    Drop(u64, usize),
    /// Commit a batch.
    Commit(u64, Fetched, Plan),
    /// Find out whether a batch took effect (I2); hand the results back with the answer.
    Verify {
        /// The batch.
        batch: u64,
        /// The number under which the store committed it.
        commit: u64,
        /// What it decided, if it took effect.
        results: Vec<UnitResult>,
    },
    /// Read the next timers.
    LoadTimers(DueQuery),
    /// Read and compile a definition.
    LoadDefinition(DefinitionId),
    /// Read what definitions there are.
    LoadDefinitions,
    /// Read what lies in the node's partition of the work.
    Recover(Partition),
    /// Tell other nodes something; nobody waits for it.
    Notify(Vec<(To, Notice)>),
    /// Read an instance and its live descendants, up to the first that does not rest by itself.
    LoadTree(InstanceId),
    /// Answer a caller.
    Reply(Ticket, Result<Reply, Error>),
    /// Cut the history of an instance short; nobody waits for it.
    Compact(CompactRequest),
    /// Run an engine task.
    Dispatch(Box<TaskRow>),
    /// An instance was set aside, because rows of it cannot be decoded; says what is wrong.
    Damaged(InstanceId, String),
    /// An instance has ended with its deadline.
    TimedOut(TimedOut),
    /// Stop: the store cannot be trusted any more, or not be used. Says why.
    Fatal(Error),
}

/// An instance that has ended with its deadline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimedOut {
    /// Which.
    pub instance: InstanceId,
    /// What it ran.
    pub definition: DefinitionId,
    /// The code that its definition declares for that, or the usual one.
    pub code: String,
}

/// What the machine has counted since it was made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Turns that took effect.
    pub turns: u64,
    /// Batches that were committed.
    pub batches: u64,
    /// Timers that fired.
    pub fired: u64,
    /// Fires that found nothing to fire (T9).
    pub stale_fires: u64,
    /// Turns whose fence did not hold.
    pub conflicts: u64,
    /// Turns that could not be computed.
    pub faults: u64,
    /// Instances that were set aside, because rows of them cannot be decoded.
    pub damaged: u64,
    /// Turns that took so long that their batch did not wait for them.
    pub slow_turns: u64,
    /// Signals and messages that returned to their buffer.
    pub returned: u64,
    /// Reports with a token that was no longer good.
    pub leases_lost: u64,
    /// Leases that expired.
    pub leases_expired: u64,
    /// Commands refused because too much was waiting.
    pub overloaded: u64,
    /// Commits whose answer was lost.
    pub ambiguous: u64,
    /// How often the store went out of reach.
    pub store_outages: u64,
    /// How often it was found again.
    pub store_recoveries: u64,
    /// Turns that another node's lock put off.
    pub locked: u64,
    /// Tasks that were handed out to workers.
    pub claimed: u64,
    /// Attempts that failed and are followed by another one.
    pub retried: u64,
    /// How often the wall clock was set; counted by the driver.
    pub clock_steps: u64,
    /// How late timers fired, in milliseconds.
    pub lateness_ms: Distribution,
    /// Units in one commit.
    pub commit_units: Distribution,
    /// How long commits took, in microseconds; counted by the driver.
    pub commit_us: Distribution,
}

/// How much there is of something right now.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Levels {
    /// Turns that wait for a commit.
    pub queued_turns: usize,
    /// Their payloads in bytes.
    pub queued_bytes: usize,
    /// Turns being computed that their batch did not wait for.
    pub slow_turns: usize,
    /// How long the oldest batch has been under way, in milliseconds of real time; none when there
    /// is none. A batch is read, computed and committed in milliseconds: one that is seconds old
    /// means that nothing progresses.
    pub oldest_batch_ms: Option<u64>,
    /// Workers that wait for tasks.
    pub waiting_claims: usize,
    /// Tasks in the hands of workers.
    pub leases: usize,
    /// Callers who wait for an answer; counted by the driver.
    pub callers: usize,
    /// Engine tasks that are being run; counted by the driver.
    pub engine_tasks: usize,
    /// Starts that were let in and wait for their turn; counted by the driver.
    pub waiting_starts: usize,
}
