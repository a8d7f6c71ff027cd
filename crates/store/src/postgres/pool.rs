//! Connections, each used by one transaction or read at a time.

use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use meantime_kernel::store::Error;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use super::connect::Connector;
use super::connection::{Call, Connection, QueryError};
use super::monitor::ConnectionMonitor;

const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE";
pub(super) const SNAPSHOT: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
const COMMIT: &str = "COMMIT";
const ROLLBACK: &str = "ROLLBACK";

/// How long to wait for the rollback of dropped transactions.
const ROLLBACK_TIMEOUT: Duration = Duration::from_secs(1);

/// How long to wait for a free connection.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(10);

/// A bounded number of connections, opened when they are first needed.
pub(super) struct Pool {
    connector: Arc<Connector>,
    monitor: Arc<ConnectionMonitor>,
    permits: Arc<Semaphore>,
    idle: Mutex<Vec<Connection>>,
    rollbacks: watch::Sender<Rollbacks>,
    runtime: Handle,
}

/// How many transactions were dropped, and how many of them have been rolled back.
#[derive(Debug, Clone, Copy, Default)]
struct Rollbacks {
    begun: u64,
    done: u64,
}

impl Pool {
    pub(super) fn new(
        connector: Arc<Connector>,
        monitor: Arc<ConnectionMonitor>,
        size: usize,
        runtime: Handle,
    ) -> Arc<Self> {
        let permits = Arc::new(Semaphore::new(size.max(1)));
        let (idle, rollbacks) = (Mutex::default(), watch::Sender::new(Rollbacks::default()));
        Arc::new(Self { connector, monitor, permits, idle, rollbacks, runtime })
    }

    /// Acquires a connection, waiting until one is free. Dropped transactions of this process are
    /// rolled back first, so that it never meets its own locks.
    pub(super) async fn acquire(self: &Arc<Self>) -> Result<PooledConnection, Error> {
        self.monitor.ensure_connected()?;
        let losses = self.monitor.losses();
        // Waiting for a permit or a connection ends when the database is lost.
        tokio::select! {
            biased;
            pooled = self.find() => pooled,
            () = self.monitor.lost_since(losses) => {
                self.monitor.ensure_connected()?;
                Err(Error::Unavailable("the database was lost for a moment".to_owned()))
            }
        }
    }

    async fn find(self: &Arc<Self>) -> Result<PooledConnection, Error> {
        self.wait_for_rollbacks().await;
        let permit = Arc::clone(&self.permits).acquire_owned();
        let permit = tokio::time::timeout(ACQUIRE_TIMEOUT, permit).await;
        let busy = |_| Error::Unavailable("all connections of the store are in use".to_owned());
        let permit = permit.map_err(busy)?;
        let permit = permit.map_err(|_| Error::Unavailable("the store is closed".to_owned()))?;
        let connection = match self.sound() {
            Some(connection) => connection,
            None => self.connector.connect().await.inspect_err(|_| self.monitor.request_probe())?,
        };
        let (connection, pool) = (Some(connection), Arc::clone(self));
        Ok(PooledConnection { connection, pool, is_open: false, _permit: permit })
    }

    /// Waits until the transactions that this process has dropped so far are rolled back.
    pub(super) async fn wait_for_rollbacks(&self) {
        let Rollbacks { begun, done } = *self.rollbacks.borrow();
        if done >= begun {
            return;
        }
        let mut rollbacks = self.rollbacks.subscribe();
        let wait = rollbacks.wait_for(|it| it.done >= begun);
        // A connection that hangs is not waited for.
        drop(tokio::time::timeout(ROLLBACK_TIMEOUT, wait).await);
    }

    /// Drops idle connections: after a restart of the server all of them are broken.
    pub(super) fn forget(&self) {
        self.idle().clear();
    }

    fn sound(&self) -> Option<Connection> {
        let mut idle = self.idle();
        while let Some(connection) = idle.pop() {
            if connection.is_sound() {
                return Some(connection);
            }
        }
        None
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Connection>> {
        // The list of connections is never left half changed.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection that returns to its pool when it is dropped. An open transaction is rolled back
/// first.
pub(super) struct PooledConnection {
    connection: Option<Connection>,
    pool: Arc<Pool>,
    is_open: bool,
    _permit: OwnedSemaphorePermit,
}

impl PooledConnection {
    /// The statement that opens a transaction, to be sent before others.
    pub(super) fn begin(&mut self) -> Call<'static> {
        self.is_open = true;
        Call::plain(BEGIN)
    }

    /// Opens a transaction that sees one state, however long it reads.
    pub(super) async fn begin_snapshot(&mut self) -> Result<(), QueryError> {
        self.is_open = true;
        self.run(&[Call::plain(SNAPSHOT)]).await.map(drop)
    }

    /// Commits the open transaction.
    pub(super) async fn commit(&mut self) -> Result<(), QueryError> {
        let done = self.run(&[Call::plain(COMMIT)]).await.map(drop);
        self.is_open = done.is_err();
        done
    }
}

impl Deref for PooledConnection {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.connection.as_ref().expect("only dropping takes the connection out")
    }
}

impl Drop for PooledConnection {
    fn drop(&mut self) {
        let Some(connection) = self.connection.take().filter(Connection::is_sound) else { return };
        if !self.is_open {
            self.pool.idle().push(connection);
            return;
        }
        let pool = Arc::clone(&self.pool);
        pool.rollbacks.send_modify(|it| it.begun += 1);
        self.pool.runtime.spawn(async move {
            // If this fails, the connection is closed, which rolls back too.
            if connection.run(&[Call::plain(ROLLBACK)]).await.is_ok() {
                pool.idle().push(connection);
            }
            pool.rollbacks.send_modify(|it| it.done += 1);
        });
    }
}
