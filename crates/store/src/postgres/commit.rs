//! Commits one plan in one transaction.
//!
//! ```text
//!   fences not locked yet ─┐
//!   advisory locks ────────┼─► one round trip ─► resolve, in memory ─► all writes ─► COMMIT
//!   lookups of the plan ───┘   (often none)                            one trip      one trip
//! ```
//!
//! The transaction is the one that `fetch` opened, or a new one. If that transaction was lost
//! before COMMIT was sent, nothing was written, and the plan is tried again in a new transaction.
//! Its fences are checked again there, so the locks of `fetch` save work and are not needed for
//! safety.

use std::collections::BTreeSet;
use std::sync::Arc;

use meantime_core::TaskId;
use meantime_kernel::store::{Error, Fence, Plan, ResolvedPlan, Unit, UnitResult, Write};

use super::batch::CommitRows;
use super::changes::Changes;
use super::connection::{Call, QueryAnswer, QueryError};
use super::feed::{Feed, UnderWay};
use super::fetch::{Hold, Locked};
use super::find::Find;
use super::pool::{Pool, PooledConnection};
use super::stats::PostgresCounters;
use super::{instance, lock, task};

/// How often a plan is tried.
const ATTEMPTS: usize = 4;

/// The parts that a commit needs.
pub(super) struct Committer {
    pub(super) pool: Arc<Pool>,
    pub(super) commit_rows: Arc<CommitRows>,
    pub(super) feed: Arc<Feed>,
    pub(super) counters: Arc<PostgresCounters>,
}

/// Why a transaction had no effect, or may have had none.
enum Undone {
    /// Units that insert an instance whose id is in use: they are conflicts.
    Fetched(BTreeSet<usize>),
    /// Nothing was written.
    Failed(QueryError),
    /// COMMIT was sent and its answer was lost (I2).
    InDoubt { results: Vec<UnitResult>, message: String },
}

impl From<QueryError> for Undone {
    fn from(failure: QueryError) -> Self {
        Self::Failed(failure)
    }
}

impl From<Error> for Undone {
    fn from(error: Error) -> Self {
        Self::Failed(error.into())
    }
}

impl Committer {
    pub(super) async fn commit(
        &self,
        mut hold: Option<Hold>,
        plan: &Plan,
        under_way: UnderWay,
    ) -> Result<Vec<UnitResult>, Error> {
        let mut left_out = BTreeSet::new();
        for attempt in 1.. {
            match self.attempt(hold.take(), plan, &left_out).await {
                Ok(results) => {
                    PostgresCounters::add(&self.counters.commits, 1);
                    PostgresCounters::add(&self.counters.units, results.len());
                    return Ok(results);
                }
                // Inserts are only checked by the statement itself, so the whole transaction is
                // repeated without the units whose id is in use.
                Err(Undone::Fetched(units)) => left_out.extend(units),
                Err(Undone::Failed(failure)) => {
                    if !failure.is_worth_retrying || attempt >= ATTEMPTS {
                        // The caller may wake another node for the same rows as soon as it gets the
                        // error, so the locks of this transaction must be released before.
                        self.pool.wait_for_rollbacks().await;
                        return Err(failure.error);
                    }
                    // The failure may be a restart of the server: idle connections are then broken
                    // too.
                    self.pool.forget();
                }
                Err(Undone::InDoubt { results, message }) => {
                    PostgresCounters::add(&self.counters.in_doubt, 1);
                    // Readers of the history must wait for the rows of this commit until it is
                    // decided.
                    self.commit_rows.stays_under_way(plan.batch, under_way);
                    return Err(Error::Ambiguous { results, message });
                }
            }
            PostgresCounters::add(&self.counters.replays, 1);
        }
        Err(Error::Bug("attempts never end".to_owned()))
    }

    async fn attempt(
        &self,
        hold: Option<Hold>,
        plan: &Plan,
        left_out: &BTreeSet<usize>,
    ) -> Result<Vec<UnitResult>, Undone> {
        // Taken before any lock: without a valid lease term the plan must not be written (I5).
        let row_number = self.commit_rows.take(plan.lease_term)?;
        let mut transaction = match hold {
            Some(Hold { pooled, locked }) => Transaction { pooled, locked, is_open: true },
            None => {
                let (pooled, locked) = (self.pool.acquire().await?, Locked::default());
                Transaction { pooled, locked, is_open: false }
            }
        };
        let resolved = transaction.resolve(plan, left_out).await?;
        let changes = changes_of(plan, &resolved, &transaction.locked);
        let mut calls = transaction.opening();
        let first = calls.len();
        calls.extend(changes.calls());
        // The mark is part of the same transaction: it finds the row closed if the lease was freed
        // meanwhile, and `check` then rolls back.
        let counts = &changes.instances.counts;
        calls.push(row_number.mark(plan.batch, plan.now, changes.seq, counts));
        let answers = transaction.pooled.run(&calls).await?;
        check(&changes, plan, answers.get(first..).unwrap_or_default())?;
        let results = resolved.results.clone();
        match transaction.pooled.commit().await {
            Ok(()) => Ok(results),
            Err(failure) if failure.is_in_doubt => {
                row_number.keep(plan.batch);
                Err(Undone::InDoubt { results, message: failure.error.to_string() })
            }
            Err(failure) => Err(failure.into()),
        }
    }
}

/// A transaction that is open, or will be opened with its first statement.
struct Transaction {
    pooled: PooledConnection,
    locked: Locked,
    is_open: bool,
}

impl Transaction {
    /// The statement that opens the transaction, unless it is open.
    fn opening(&mut self) -> Vec<Call<'static>> {
        let is_open = std::mem::replace(&mut self.is_open, true);
        if is_open { Vec::new() } else { vec![self.pooled.begin()] }
    }

    /// Reads everything that the plan depends on, under locks, and resolves it.
    async fn resolve<'p>(
        &mut self,
        plan: &'p Plan,
        left_out: &BTreeSet<usize>,
    ) -> Result<ResolvedPlan<'p>, Undone> {
        let fenced = plan.fenced();
        let instances = fenced.instances.into_iter();
        let instances: Vec<_> =
            instances.filter(|id| !self.locked.turns.contains_key(id)).collect();
        let tasks = fenced.tasks.into_iter();
        let tasks: Vec<_> = tasks.filter(|id| !self.locked.claims.contains_key(id)).collect();
        let lookups = plan.lookups();
        let find = Find::new(&lookups, plan.now);
        let mut calls = Vec::new();
        if !instances.is_empty() {
            calls.push(instance::lock(&instances));
        }
        if !tasks.is_empty() {
            calls.extend([task::lock(&tasks), task::which(&tasks)]);
        }
        // After the row locks, which never wait, and before the lookups: what they read cannot
        // change until the commit.
        let locks = lock::calls(plan, &lookups);
        let first = calls.len() + locks.len();
        calls.extend(locks);
        calls.extend(find.calls());
        let mut answers = Vec::new();
        if !calls.is_empty() {
            let opening = self.opening();
            let skip = opening.len();
            let calls: Vec<Call<'_>> = opening.into_iter().chain(calls).collect();
            answers = self.pooled.run(&calls).await?.split_off(skip);
        }
        let found = answers.split_off(first.min(answers.len()));
        let busy = self.locked.add(!instances.is_empty(), !tasks.is_empty(), &answers)?;
        let mut found = find.read(found.into_iter())?;
        let mut standing = self.locked.fences();
        let admits = |unit: &Unit| Ok(!touches(unit, &busy) && standing.admit(unit));
        Ok(plan.resolve(left_out, &mut found, admits)?)
    }
}

impl Locked {
    /// Adds the rows that were locked now; returns the tasks that other transactions have locked.
    fn add(
        &mut self,
        has_instances: bool,
        has_tasks: bool,
        answers: &[QueryAnswer],
    ) -> Result<BTreeSet<TaskId>, Error> {
        let mut answers = answers.iter();
        if has_instances && let Some(answer) = answers.next() {
            self.add_instances(answer)?;
        }
        let mut busy = BTreeSet::new();
        if has_tasks && let (Some(locked), Some(there)) = (answers.next(), answers.next()) {
            self.claims.extend(task::read_claims(locked)?);
            busy.extend(task::read_ids(there)?);
            busy.retain(|id| !self.claims.contains_key(id));
        }
        Ok(busy)
    }
}

/// Whether a unit changes one of the tasks.
fn touches(unit: &Unit, tasks: &BTreeSet<TaskId>) -> bool {
    if tasks.is_empty() {
        return false;
    }
    let guarded = matches!(&unit.fence, Fence::Task { row, .. } if tasks.contains(&row.id));
    guarded
        || unit.writes.iter().any(|write| match write {
            Write::UpdateTask { row, .. } => tasks.contains(&row.id),
            Write::DeleteTask { id, .. } | Write::DetachTask(id) => tasks.contains(id),
            _ => false,
        })
}

/// All changes, unit by unit: the fence first, then the writes.
fn changes_of<'a>(plan: &'a Plan, resolved: &'a ResolvedPlan<'_>, locked: &Locked) -> Changes<'a> {
    let mut changes = Changes::default();
    let mut writes = resolved.writes.iter().peekable();
    for (number, (unit, result)) in plan.units.iter().zip(&resolved.results).enumerate() {
        if matches!(result, UnitResult::Done(_)) {
            changes.fence(&unit.fence, locked);
        }
        while let Some((_, write)) = writes.next_if(|(of, _)| *of == number) {
            changes.write(write);
        }
    }
    changes
}

/// Compares the results of the statements with what they must have done.
fn check(changes: &Changes<'_>, plan: &Plan, answers: &[QueryAnswer]) -> Result<(), Undone> {
    let (inserts, turns) = changes.instances.counts();
    let mut answers = answers.iter();
    if inserts > 0
        && let Some(answer) = answers.next()
    {
        let taken = changes.instances.taken_ids(answer)?;
        if !taken.is_empty() {
            let inserts = |unit: &Unit| match &unit.fence {
                Fence::Insert(row) => taken.contains(&row.id),
                _ => false,
            };
            let units = plan.units.iter().enumerate().filter(|(_, unit)| inserts(unit));
            let units: BTreeSet<usize> = units.map(|(number, _)| number).collect();
            let first = taken.first().map(ToString::to_string).unwrap_or_default();
            return Err(if units.is_empty() {
                Error::Bug(format!("the id {first} was given out twice")).into()
            } else {
                Undone::Fetched(units)
            });
        }
    }
    // The rows were locked and their turn numbers compared: a different count is a bug, not a
    // conflict.
    if turns > 0
        && let Some(answer) = answers.next()
        && answer.count != u64::try_from(turns).unwrap_or(u64::MAX)
    {
        return Err(Error::Bug("an instance moved although it was locked".to_owned()).into());
    }
    // The last statement marks the commit row. No row means that it was closed: the node has lost
    // its lease.
    match answers.next_back() {
        Some(mark) if mark.count == 1 => Ok(()),
        _ => Err(Error::Unavailable("the node has lost its lease".to_owned()).into()),
    }
}
