//! A connection for the entities: prepared statements, sent together, answered in order.

use std::collections::HashMap;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;

use futures_util::TryStreamExt;
use meantime_kernel::store::Error;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Row, Statement};

use super::error::{from_postgres, is_in_doubt, is_lost, is_worth_retrying};
use super::monitor::ConnectionMonitor;
use super::stats::PostgresCounters;

/// After this time without an answer, the connection to the database is probed.
const SLOW_CALL: Duration = Duration::from_secs(1);

/// A parameter of a statement.
pub(super) type Param<'a> = Box<dyn ToSql + Sync + Send + 'a>;

/// One statement to run.
pub(super) struct Call<'a> {
    sql: &'static str,
    params: Vec<Param<'a>>,
}

impl<'a> Call<'a> {
    pub(super) fn new(sql: &'static str, params: Vec<Param<'a>>) -> Self {
        Self { sql, params }
    }

    /// A statement without parameters.
    pub(super) fn plain(sql: &'static str) -> Self {
        Self { sql, params: Vec::new() }
    }
}

/// The result of a statement.
#[derive(Debug)]
pub(super) struct QueryAnswer {
    pub(super) rows: Vec<Row>,
    /// How many rows it changed, or found.
    pub(super) count: u64,
}

impl QueryAnswer {
    /// Reads every row.
    pub(super) fn read<T>(
        &self,
        read: impl FnMut(&Row) -> Result<T, Error>,
    ) -> Result<Vec<T>, Error> {
        self.rows.iter().map(read).collect()
    }

    /// Reads the first row, if there is one.
    pub(super) fn first<T>(
        &self,
        read: impl FnOnce(&Row) -> Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        self.rows.first().map(read).transpose()
    }
}

/// A failure of statements.
#[derive(Debug)]
pub(super) struct QueryError {
    pub(super) error: Error,
    /// Whether a repetition in another transaction may succeed at once.
    pub(super) is_worth_retrying: bool,
    /// Whether a failed COMMIT may have taken effect.
    pub(super) is_in_doubt: bool,
}

impl From<Error> for QueryError {
    fn from(error: Error) -> Self {
        Self { error, is_worth_retrying: false, is_in_doubt: false }
    }
}

impl From<QueryError> for Error {
    fn from(failure: QueryError) -> Self {
        failure.error
    }
}

/// One connection, used by one transaction at a time.
pub(super) struct Connection {
    client: Client,
    statements: Mutex<HashMap<&'static str, Statement>>,
    /// An answer was late, or the connection broke: it is not used again.
    broken: AtomicBool,
    patience: Duration,
    counters: Arc<PostgresCounters>,
    monitor: Arc<ConnectionMonitor>,
    /// How often the database had been lost when the connection was opened.
    losses: u64,
}

impl Connection {
    /// `patience` is the time limit of an answer, longer than the server's limit of a statement.
    pub(super) fn new(
        client: Client,
        patience: Duration,
        counters: Arc<PostgresCounters>,
        monitor: Arc<ConnectionMonitor>,
        losses: u64,
    ) -> Self {
        let (statements, broken) = (Mutex::default(), AtomicBool::new(false));
        Self { client, statements, broken, patience, counters, monitor, losses }
    }

    /// Whether it can be used again.
    pub(super) fn is_sound(&self) -> bool {
        let is_old = self.monitor.losses() != self.losses;
        !self.client.is_closed() && !is_old && !self.broken.load(Ordering::Relaxed)
    }

    /// Runs statements in order. All of them are sent before the first answer is read, so they take
    /// one round trip together. Returns the first failure.
    pub(super) async fn run(&self, calls: &[Call<'_>]) -> Result<Vec<QueryAnswer>, QueryError> {
        let work = async {
            self.prepare(calls).await?;
            let mut answers: Vec<_> = calls.iter().map(|call| Box::pin(self.ask(call))).collect();
            in_order(&mut answers).await
        };
        let done = tokio::select! {
            biased;
            done = self.answered(work) => done,
            () = self.monitor.lost_since(self.losses) => None,
        };
        let result = done.unwrap_or_else(|| {
            self.broken.store(true, Ordering::Relaxed);
            let error = Error::Unavailable("the database does not answer".to_owned());
            Err(QueryError { error, is_worth_retrying: false, is_in_doubt: true })
        });
        self.counters.ran(calls.len());
        result
    }

    /// Waits for an answer with a time limit. A slow answer causes a probe of the connection.
    async fn answered<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        let mut work = std::pin::pin!(work);
        let mut waited = Duration::ZERO;
        while waited < self.patience {
            match tokio::time::timeout(SLOW_CALL, work.as_mut()).await {
                Ok(done) => return Some(done),
                Err(_) => self.monitor.request_probe(),
            }
            waited += SLOW_CALL;
        }
        None
    }

    /// Runs one statement.
    pub(super) async fn one(
        &self,
        sql: &'static str,
        params: Vec<Param<'_>>,
    ) -> Result<QueryAnswer, QueryError> {
        let mut answers = self.run(&[Call::new(sql, params)]).await?;
        answers.pop().ok_or_else(|| Error::Bug("a statement without an answer".to_owned()).into())
    }

    /// Runs a text with several statements, without preparing it.
    pub(super) async fn script(&self, sql: &str) -> Result<(), QueryError> {
        self.client.batch_execute(sql).await.map_err(|error| self.failure(&error))
    }

    /// Prepares statements that this connection has not run before, so that all of them can be sent
    /// together and in order.
    async fn prepare(&self, calls: &[Call<'_>]) -> Result<(), QueryError> {
        for call in calls {
            if self.known(call.sql).is_none() {
                let statement = self.client.prepare(call.sql).await;
                let statement = statement.map_err(|error| self.failure(&error))?;
                self.statements().insert(call.sql, statement);
            }
        }
        Ok(())
    }

    async fn ask(&self, call: &Call<'_>) -> Result<QueryAnswer, QueryError> {
        let Some(statement) = self.known(call.sql) else {
            return Err(Error::Bug("a statement that was not prepared".to_owned()).into());
        };
        let params = call.params.iter().map(|param| -> &(dyn ToSql + Sync) { &**param });
        let work = async {
            let stream = self.client.query_raw(&statement, params).await?;
            let mut stream = std::pin::pin!(stream);
            let mut rows = Vec::new();
            while let Some(row) = stream.try_next().await? {
                rows.push(row);
            }
            Ok(QueryAnswer { rows, count: stream.rows_affected().unwrap_or_default() })
        };
        work.await.map_err(|error| self.failure(&error))
    }

    fn failure(&self, error: &tokio_postgres::Error) -> QueryError {
        if is_lost(error) {
            self.broken.store(true, Ordering::Relaxed);
        }
        QueryError {
            error: from_postgres(error),
            is_worth_retrying: is_worth_retrying(error),
            is_in_doubt: is_in_doubt(error),
        }
    }

    fn known(&self, sql: &'static str) -> Option<Statement> {
        self.statements().get(sql).cloned()
    }

    fn statements(&self) -> std::sync::MutexGuard<'_, HashMap<&'static str, Statement>> {
        // The map of statements is never left half changed.
        self.statements.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits for all futures. They are first polled in order, which is the order in which they are
/// sent.
async fn in_order<T, F: Future<Output = Result<T, QueryError>>>(
    futures: &mut [Pin<Box<F>>],
) -> Result<Vec<T>, QueryError> {
    let mut results: Vec<Option<Result<T, QueryError>>> = futures.iter().map(|_| None).collect();
    poll_fn(|cx| {
        let mut is_ready = true;
        for (future, result) in futures.iter_mut().zip(&mut results) {
            if result.is_none() {
                match future.as_mut().poll(cx) {
                    Poll::Ready(done) => *result = Some(done),
                    Poll::Pending => is_ready = false,
                }
            }
        }
        if is_ready { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    results.into_iter().flatten().collect()
}

/// Turns rows into arrays, one per column, for `unnest`.
macro_rules! arrays {
    ($rows:expr, |$row:ident| [$($value:expr),+ $(,)?]) => {
        vec![$(
            Box::new($rows.iter().map(|$row| $value).collect::<Vec<_>>())
                as $crate::postgres::connection::Param<'_>
        ),+]
    };
}
pub(super) use arrays;

/// Parameters of a statement.
macro_rules! values {
    ($($value:expr),* $(,)?) => {
        vec![$(Box::new($value) as $crate::postgres::connection::Param<'_>),*]
    };
}
pub(super) use values;
