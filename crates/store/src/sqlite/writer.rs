//! The writer thread: group commit.
//!
//! All plans that were queued while the previous commit was syncing go into one transaction, so one
//! sync serves many turns; when the store is idle, a plan is committed at once (I11). Units fail
//! independently: a fence that does not hold skips its unit. Only two things roll the transaction
//! back: a fence among the writes of a unit, and an error. Then the rest is tried again without the
//! failing part.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use meantime_kernel::store::{Error, Fence, Plan, UnitResult};
use rusqlite::Connection;
use tokio::sync::oneshot;

use super::apply::{Stop, apply};
use super::checkpoint::Checkpoints;
use super::db::Db;
use super::error::{from_sqlite, is_in_doubt};
use super::identity::Identity;
use super::node::{self, Mark};
use super::open;
use super::options::Options;
use super::stats;
use super::stats::SqliteCounters;

/// The answer to a plan.
pub(super) type CommitAnswer = Result<Vec<UnitResult>, Error>;

/// How often a whole group is repeated before its plans are tried one by one.
const GROUP_REPLAYS: usize = 8;

/// The writer thread and its queue.
pub(super) struct WriterThread {
    queue: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

enum Job {
    Commit(Box<Plan>, oneshot::Sender<CommitAnswer>),
    SetMaxSize(Option<u64>, oneshot::Sender<Result<(), Error>>),
    /// A separate transaction, after the plans that wait.
    Transact(Transact),
}

type Transact = Box<dyn FnOnce(&mut WriteJob) + Send>;

impl WriterThread {
    pub(super) fn start(
        path: &Path,
        options: &Options,
        mut connection: Connection,
        counters: &Arc<SqliteCounters>,
        identity: &Arc<Identity>,
    ) -> Result<Self, Error> {
        let checkpoints = Checkpoints::start(path, options, &mut connection, counters)?;
        let (queue, jobs) = channel();
        let group_limit = options.group_limit.max(1);
        let (counters, identity) = (Arc::clone(counters), Arc::clone(identity));
        let work = WriteJob { checkpoints, connection, counters, identity, group_limit };
        let thread = std::thread::Builder::new()
            .name("meantime-writer".to_owned())
            .spawn(move || work.run(&jobs))
            .map_err(|error| Error::Unavailable(error.to_string()))?;
        Ok(Self { queue: Some(queue), thread: Some(thread) })
    }

    /// Queues a plan.
    pub(super) fn commit(&self, plan: Plan) -> oneshot::Receiver<CommitAnswer> {
        let (sender, receiver) = oneshot::channel();
        self.send(Job::Commit(Box::new(plan), sender));
        receiver
    }

    /// Sets the largest size of the file.
    pub(super) fn set_max_size(&self, bytes: Option<u64>) -> oneshot::Receiver<Result<(), Error>> {
        let (sender, receiver) = oneshot::channel();
        self.send(Job::SetMaxSize(bytes, sender));
        receiver
    }

    /// Queues a transaction that is not a plan. It runs after the plans that are waiting.
    pub(super) fn transact<T: Send + 'static>(
        &self,
        make: impl FnOnce(&Db<'_>) -> Result<T, Error> + Send + 'static,
    ) -> oneshot::Receiver<Result<T, Error>> {
        let (sender, receiver) = oneshot::channel();
        self.send(Job::Transact(Box::new(move |work| drop(sender.send(work.transact(make))))));
        receiver
    }

    fn send(&self, job: Job) {
        // If the thread has ended, the job is dropped with its sender, and the receiver gets an
        // error.
        if let Some(queue) = &self.queue {
            drop(queue.send(job));
        }
    }
}

impl Drop for WriterThread {
    fn drop(&mut self) {
        // The thread commits what is queued, then ends.
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

/// The state of the thread. Checkpoints end before the connection closes, because the last
/// connection to close checkpoints the log.
struct WriteJob {
    checkpoints: Checkpoints,
    connection: Connection,
    counters: Arc<SqliteCounters>,
    identity: Arc<Identity>,
    group_limit: usize,
}

/// Why a transaction had no effect, or may have had none.
enum Undone {
    /// A fence among the writes of a unit of a plan did not hold.
    Fence { plan: usize, unit: usize },
    /// Nothing was written.
    Failed(Error),
    /// COMMIT failed in a way that leaves its effect unknown (I2).
    InDoubt { results: Vec<Vec<UnitResult>>, message: String },
}

impl WriteJob {
    fn run(mut self, jobs: &Receiver<Job>) {
        let mut plans = Vec::new();
        let mut senders = Vec::new();
        let mut others: Vec<Transact> = Vec::new();
        let mut units = 0;
        let mut next = jobs.recv().ok();
        while let Some(job) = next.take() {
            match job {
                Job::SetMaxSize(bytes, sender) => {
                    drop(sender.send(open::set_max_size(&self.connection, bytes)));
                }
                Job::Transact(other) => others.push(other),
                Job::Commit(plan, sender) => {
                    units += plan.units.len();
                    plans.push(*plan);
                    senders.push(sender);
                }
            }
            next = if units < self.group_limit { jobs.try_recv().ok() } else { None };
            if next.is_none() {
                let answers = self.commit(&plans);
                senders
                    .drain(..)
                    .zip(answers)
                    .for_each(|(sender, answer)| drop(sender.send(answer)));
                plans.clear();
                units = 0;
                for other in others.drain(..) {
                    other(&mut self);
                }
                self.checkpoints.after_commit(&self.connection);
                next = jobs.recv().ok();
            }
        }
    }

    /// Commits plans together as far as possible.
    fn commit(&mut self, plans: &[Plan]) -> Vec<CommitAnswer> {
        if plans.is_empty() {
            return Vec::new();
        }
        let mut left_out = vec![BTreeSet::new(); plans.len()];
        let replays = if plans.len() == 1 { usize::MAX } else { GROUP_REPLAYS };
        for _ in 0..replays {
            match self.transaction(plans, &left_out) {
                Ok(results) => return results.into_iter().map(Ok).collect(),
                Err(Undone::Fence { plan, unit }) => {
                    left_out.get_mut(plan).map(|units| units.insert(unit));
                }
                Err(Undone::InDoubt { results, message }) => {
                    // The log may hold a part of the transaction: this process must not append to
                    // it, and the recovery of the next one decides.
                    self.counters.fail();
                    let doubt = |results| Error::Ambiguous { results, message: message.clone() };
                    return results.into_iter().map(|results| Err(doubt(results))).collect();
                }
                Err(Undone::Failed(error)) if plans.len() == 1 => return vec![Err(error)],
                // One of the plans causes the error: alone, only that plan fails.
                Err(Undone::Failed(_)) => break,
            }
            SqliteCounters::add(&self.counters.replays, 1);
        }
        plans.iter().flat_map(|plan| self.commit(std::slice::from_ref(plan))).collect()
    }

    /// Runs a separate transaction that is not a plan.
    fn transact<T>(
        &mut self,
        change: impl FnOnce(&Db<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.check_failed()?;
        let db = Db::new(&self.connection);
        let work = || {
            db.run("BEGIN IMMEDIATE", [])?;
            let made = change(&db)?;
            match self.connection.prepare_cached("COMMIT").and_then(|mut it| it.execute([])) {
                Ok(_) => self.identity.check().map(|()| made),
                Err(error) if is_in_doubt(&error) => {
                    // The caller checks again after the restart; nobody else was answered.
                    self.counters.fail();
                    Err(Error::Failed(error.to_string()))
                }
                Err(error) => Err(from_sqlite(&error)),
            }
        };
        let made = work();
        if !self.connection.is_autocommit() {
            drop(db.run("ROLLBACK", []));
        }
        if made.is_ok() {
            SqliteCounters::add(&self.counters.commits, 1);
            SqliteCounters::add(&self.counters.statements, db.statements() + 1);
        }
        made
    }

    fn check_failed(&self) -> Result<(), Error> {
        if self.counters.has_failed() {
            let message = "writing to the disk failed: restart the process to recover";
            return Err(Error::Failed(message.to_owned()));
        }
        self.identity.check_known()
    }

    fn transaction(
        &mut self,
        plans: &[Plan],
        left_out: &[BTreeSet<usize>],
    ) -> Result<Vec<Vec<UnitResult>>, Undone> {
        self.check_failed().map_err(Undone::Failed)?;
        let db = Db::new(&self.connection);
        let work = || {
            let mut mark = Mark::default();
            db.run("BEGIN IMMEDIATE", []).map_err(Undone::Failed)?;
            let mut results = Vec::with_capacity(plans.len());
            for (number, (plan, left_out)) in plans.iter().zip(left_out).enumerate() {
                let result = apply(&db, plan, left_out, &mut mark);
                results.push(result.map_err(|stop| match stop {
                    Stop::Fence(unit) => Undone::Fence { plan: number, unit },
                    Stop::Failed(error) => Undone::Failed(error),
                })?);
            }
            node::advance(&db, &mark).map_err(Undone::Failed)?;
            match self.connection.prepare_cached("COMMIT").and_then(|mut it| it.execute([])) {
                // A commit to a file that cannot be found again is not acknowledged.
                Ok(_) => self.identity.check().map(|()| results).map_err(Undone::Failed),
                Err(error) if is_in_doubt(&error) => {
                    Err(Undone::InDoubt { results, message: error.to_string() })
                }
                Err(error) => Err(Undone::Failed(from_sqlite(&error))),
            }
        };
        let outcome = work();
        // After some errors, such as a full disk, SQLite has already rolled back.
        if !self.connection.is_autocommit() {
            // If this fails, the transaction is still open, and the next BEGIN fails.
            drop(db.run("ROLLBACK", []));
        }
        if let Ok(results) = &outcome {
            self.count(plans, results, db.statements());
        }
        outcome
    }

    fn count(&self, plans: &[Plan], results: &[Vec<UnitResult>], statements: u64) {
        let number = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        let units = || plans.iter().zip(results).flat_map(|(plan, it)| plan.units.iter().zip(it));
        let turns = units().filter(|(unit, result)| {
            matches!(unit.fence, Fence::Insert(_) | Fence::Turn { .. })
                && matches!(result, UnitResult::Done(_))
        });
        let stats::SqliteCounters { commits, plans: count, units: all, turns: turned, .. } =
            &*self.counters;
        SqliteCounters::add(commits, 1);
        SqliteCounters::add(count, number(plans.len()));
        SqliteCounters::add(all, number(units().count()));
        SqliteCounters::add(turned, number(turns.count()));
        // COMMIT itself counts with the statement that began the transaction.
        SqliteCounters::add(&self.counters.statements, statements + 1);
    }
}
