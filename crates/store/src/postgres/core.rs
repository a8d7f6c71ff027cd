//! The parts of the store, and the calls that need more than one statement.

use std::collections::BTreeSet;
use std::sync::Arc;

use meantime_core::{InstanceId, Timestamp};
use meantime_kernel::store::{
    CompactRequest, Error, HistoryRow, Partition, PurgeRequest, Purged, Recovered,
};
use tokio::runtime::Handle;
use tokio::sync::Mutex;

use super::batch::{self, CommitRows};
use super::commit::Committer;
use super::connect::Connector;
use super::feed::Feed;
use super::migration::{MIGRATIONS, migrate};
use super::monitor::{ConnectionMonitor, MonitorSession};
use super::node_lease::MissingSessions;
use super::notice::Notifier;
use super::options::{LeaseClock, Options};
use super::pool::Pool;
use super::stats::PostgresCounters;
use super::{check, compact, feed, history, inbox, instance, node, purge, sweep, task};
use crate::row::Columns;
use crate::sweep::Sweep;

const SCHEMA: &str = "SELECT current_schema()::text";

/// Connections for short reads.
const DIRECT: usize = 2;

/// Everything except the thread that it runs on.
pub(super) struct Core {
    pub(super) options: Options,
    pub(super) writers: Arc<Pool>,
    /// For single rows and for the kernel: lists cannot use up these connections.
    pub(super) direct: Arc<Pool>,
    /// For lists.
    pub(super) readers: Arc<Pool>,
    pub(super) committer: Committer,
    pub(super) counters: Arc<PostgresCounters>,
    pub(super) notifier: Arc<Notifier>,
    pub(super) monitor: Arc<ConnectionMonitor>,
    pub(super) missing_sessions: MissingSessions,
    sweep: Mutex<Sweep>,
}

impl Core {
    pub(super) async fn open(options: Options, runtime: Handle) -> Result<Self, Error> {
        let counters = Arc::new(PostgresCounters::default());
        let (monitor, probes) = ConnectionMonitor::new(Arc::clone(&counters));
        let connector = Connector::new(&options, Arc::clone(&counters), Arc::clone(&monitor))?;
        let connector = Arc::new(connector);
        migrate(&connector.connect().await?, MIGRATIONS).await?;
        let session =
            MonitorSession::establish(&connector, &options, options.connect_timeout).await?;
        let pool = |size: usize| {
            Pool::new(Arc::clone(&connector), Arc::clone(&monitor), size, runtime.clone())
        };
        let (writers, readers) = (pool(options.writers), pool(options.readers));
        let direct = pool(DIRECT);
        let commit_rows = Arc::new(CommitRows::default());
        if !options.shared {
            commit_rows.set_lease_term(Some(register_alone(&writers).await?));
        }
        let found = session.connection().run(&[node::get(None)]).await?;
        let known = found.first().map(node::read).transpose()?.unwrap_or_default();
        let schema =
            session.connection().one(SCHEMA, Vec::new()).await?.first(|row| row.text(0))?;
        let notifier = Arc::new(Notifier::new(&schema.unwrap_or_default()));
        let pool = Arc::clone(&writers);
        let feed = Arc::new(Feed::default());
        feed.begin_after(known.seq);
        let committer = Committer { pool, commit_rows, feed, counters: Arc::clone(&counters) };
        monitor.mark_connected(&session);
        let standing = Arc::clone(&monitor).run(
            connector,
            options.clone(),
            Arc::clone(&notifier),
            session,
            probes,
        );
        drop(runtime.spawn(standing));
        let (missing_sessions, sweep) = (MissingSessions::default(), Mutex::default());
        Ok(Self {
            options,
            writers,
            direct,
            readers,
            committer,
            counters,
            notifier,
            monitor,
            missing_sessions,
            sweep,
        })
    }

    pub(super) async fn recover(&self, partition: Partition) -> Result<Recovered, Error> {
        let lease_term = self.committer.commit_rows.lease_term();
        let pooled = self.direct.acquire().await?;
        let calls =
            [node::get(lease_term), inbox::owners(partition), instance::unfinished(partition)];
        let answers = pooled.run(&calls).await?;
        let [found, owners, unfinished] = answers.as_slice() else {
            return Err(Error::Bug("a statement without an answer".to_owned()));
        };
        let recovered = node::read(found)?;
        let mut ready: BTreeSet<InstanceId> = inbox::read_owners(owners)?.into_iter().collect();
        ready.extend(instance::read_unfinished(unfinished)?);
        let waiting = pooled.run(&[task::waiting(recovered.clock, partition)]).await?;
        let tasks = waiting.first().map(task::read_waiting).transpose()?.unwrap_or_default();
        Ok(Recovered { ready: ready.into_iter().collect(), tasks, ..recovered })
    }

    /// Reads up to the point after which rows may still appear.
    pub(super) async fn history_since(
        &self,
        after: u64,
        limit: usize,
    ) -> Result<Vec<HistoryRow>, Error> {
        let pooled = self.readers.acquire().await?;
        // The horizon must be known before the rows are read: otherwise a row below it could appear
        // between the two reads and be skipped.
        let horizon = if self.options.shared && self.options.lease_clock == LeaseClock::Database {
            let here = self.committer.feed.oldest();
            let answers = pooled.run(&[feed::oldest()]).await?;
            let elsewhere = answers.first().map(feed::read_horizon).transpose()?;
            here.min(elsewhere.unwrap_or_default())
        } else {
            self.committer.feed.horizon()
        };
        Ok(history::since(&pooled, after, horizon, limit).await?)
    }

    /// One transaction finds expired data and deletes some of it. If another node is doing the
    /// same, nothing is done here.
    pub(super) async fn purge(&self, request: &PurgeRequest) -> Result<Purged, Error> {
        let mut sweep = self.sweep.lock().await;
        let mut pooled = self.writers.acquire().await?;
        let begin = pooled.begin();
        let answers = pooled.run(&[begin, purge::alone()]).await?;
        let is_alone = answers.last().map(purge::is_alone).transpose()?.unwrap_or_default();
        if !is_alone {
            let next = Some(request.now.saturating_add_millis(1_000));
            return Ok(Purged { next, ..Purged::default() });
        }
        // If this fails, or the caller drops the future, the scan starts again from the beginning:
        // only time is lost.
        let mut walk = std::mem::take(&mut *sweep);
        sweep::find_expired(&pooled, &mut walk, request).await?;
        let doomed: Vec<i64> = walk.doomed.iter().take(request.limit).copied().collect();
        let is_due = |at: Option<Timestamp>| at.is_some_and(|at| at <= request.now);
        let mut purged = Purged::default();
        let retention = &request.retention;
        if !doomed.is_empty() || is_due(purge::next(&pooled, retention).await?) {
            let (gone, removed) =
                purge::purge(&pooled, &doomed, retention, request.now, request.limit).await?;
            walk.doomed.drain(..gone);
            purged = removed;
        }
        let instances = sweep::next(&pooled, &walk, request).await?;
        purged.next = instances.into_iter().chain(purge::next(&pooled, retention).await?).min();
        pooled.commit().await?;
        *sweep = walk;
        Ok(purged)
    }

    pub(super) async fn compact(&self, request: &CompactRequest) -> Result<usize, Error> {
        let pooled = self.readers.acquire().await?;
        let mut cut = compact::find(&pooled, request).await?;
        drop(pooled);
        let mut count = 0;
        while let Some(next) = cut {
            let mut pooled = self.writers.acquire().await?;
            let begin = pooled.begin();
            pooled.run(&[begin]).await?;
            let (dropped, rest) =
                compact::step(&pooled, request.instance, next, request.limit).await?;
            pooled.commit().await?;
            count += dropped;
            cut = rest;
        }
        Ok(count)
    }

    pub(super) async fn check(&self) -> Result<Vec<String>, Error> {
        let mut pooled = self.readers.acquire().await?;
        pooled.begin_snapshot().await?;
        check::check(&pooled).await
    }
}

/// Registers the only process of a database that is not shared. Commits of other processes are
/// rejected from now on.
async fn register_alone(pool: &Arc<Pool>) -> Result<i64, Error> {
    let mut pooled = pool.acquire().await?;
    let begin = pooled.begin();
    pooled.run(&[begin]).await?;
    let lease_term = batch::register(&pooled).await?;
    // Rows that were closed before are deleted; those that are closed now may still be looked up.
    pooled.run(&[batch::fold(Timestamp::MAX), batch::close_others(lease_term)]).await?;
    pooled.commit().await?;
    Ok(lease_term)
}
