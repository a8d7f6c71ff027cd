//! Monitors whether the database can be reached, by one connection that stays open.
//!
//! ```text
//!   establish: connect ─► owner lock ─► session lock ─► LISTEN ─► connected
//!      ▲                                                  │ notifications, probes
//!      └── retry ◄── mark_lost: all calls fail at once ◄──┘ it broke, or a probe timed out
//! ```
//!
//! A closed connection is noticed at once. A silent one is probed when there is a reason: a call
//! takes long, a connection attempt failed, or readiness was asked for. An idle node sends no probe
//! (I12). Once the database counts as lost, running and new calls fail at once instead of waiting
//! for network timeouts.
//!
//! The connection holds an advisory lock whose number is stored in the node's lease. The server
//! releases it when the process ends, so other nodes notice the end of a process before its lease
//! expires (`node_lease.rs`).

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use meantime_kernel::store::{Connectivity, ConnectivityListener, Error};
use tokio::sync::{mpsc, oneshot, watch};

use super::connect::Connector;
use super::connection::{Connection, values};
use super::lock;
use super::notice::Notifier;
use super::options::Options;
use super::stats::PostgresCounters;
use crate::row::Columns;

const OWN: &str = "SELECT pg_advisory_lock($1)";
const SHARE: &str = "SELECT pg_advisory_lock_shared($1)";
const NUMBER: &str = "SELECT nextval('node_number')";
const HOLD: &str = "SELECT pg_advisory_lock($1)";
const PROBE: &str = "SELECT 1";

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[OWN, SHARE, NUMBER, HOLD, PROBE];

/// How long a probe may take before the database counts as lost. Shorter stalls have no effect.
const PROBE_TIMEOUT: Duration = Duration::from_secs(3);

/// How long [`ConnectionMonitor::ping`] waits for an answer.
const PING_TIMEOUT: Duration = Duration::from_secs(1);

/// How long one attempt to reconnect may take, and the pause between two attempts.
const RECONNECT_TIMEOUT: Duration = Duration::from_millis(1_500);
const RECONNECT_INTERVAL: Duration = Duration::from_millis(200);

/// The state that all connections share.
#[derive(Debug, Clone, Default)]
struct Status {
    /// How often the database was lost. Connections made before the latest loss are not reused.
    losses: u64,
    /// Why the database is unreachable; `None` while it is connected.
    lost: Option<String>,
    /// The session lock that the monitor's connection holds.
    session: Option<i64>,
}

/// Knows whether the database can be reached.
pub(super) struct ConnectionMonitor {
    status: watch::Sender<Status>,
    listener: Mutex<Option<ConnectivityListener>>,
    /// Requests to probe the connection, each with a channel for the result if a caller waits for
    /// it.
    probes: mpsc::UnboundedSender<Option<oneshot::Sender<()>>>,
    counters: Arc<PostgresCounters>,
}

/// The receiving end of probe requests.
pub(super) type ProbeRequests = mpsc::UnboundedReceiver<Option<oneshot::Sender<()>>>;

/// The monitor's connection with its locks.
pub(super) struct MonitorSession {
    connection: Connection,
    /// Notifications; ends with the connection.
    heard: mpsc::UnboundedReceiver<String>,
    session: i64,
}

impl ConnectionMonitor {
    pub(super) fn new(counters: Arc<PostgresCounters>) -> (Arc<Self>, ProbeRequests) {
        let (probes, requests) = mpsc::unbounded_channel();
        let (status, listener) = (watch::Sender::new(Status::default()), Mutex::default());
        (Arc::new(Self { status, listener, probes, counters }), requests)
    }

    /// How often the database was lost so far.
    pub(super) fn losses(&self) -> u64 {
        self.status.borrow().losses
    }

    /// The session lock by which other nodes see this process.
    pub(super) fn session(&self) -> Option<i64> {
        self.status.borrow().session
    }

    /// Fails while the database is unreachable.
    pub(super) fn ensure_connected(&self) -> Result<(), Error> {
        let why = self.status.borrow().lost.clone();
        why.map_or(Ok(()), |why| Err(Error::Unavailable(why)))
    }

    /// Completes when the database is lost after `losses` was read.
    pub(super) async fn lost_since(&self, losses: u64) {
        let mut status = self.status.subscribe();
        // The channel cannot be closed: `self` owns the sender.
        let _ = status.wait_for(|it| it.losses != losses).await;
    }

    /// Probes the connection soon, because a call takes long.
    pub(super) fn request_probe(&self) {
        // The receiver is dropped only with the store.
        let _ = self.probes.send(None);
    }

    /// Probes the connection and waits for the result, for at most [`PING_TIMEOUT`].
    pub(super) async fn ping(&self) -> Result<(), Error> {
        self.ensure_connected()?;
        let (answer, answered) = oneshot::channel();
        // The receiver is dropped only with the store; the timeout covers that.
        let _ = self.probes.send(Some(answer));
        let is_there = matches!(tokio::time::timeout(PING_TIMEOUT, answered).await, Ok(Ok(())));
        self.ensure_connected()?;
        if is_there { Ok(()) } else { Err(no_answer()) }
    }

    /// Sets the receiver of losses and recoveries.
    pub(super) fn watch_connectivity(&self, listener: ConnectivityListener) {
        *self.listener.lock().unwrap_or_else(PoisonError::into_inner) = Some(listener);
        let why = self.status.borrow().lost.clone();
        if let Some(why) = why {
            self.notify(Connectivity::Lost(why));
        }
    }

    fn notify(&self, change: Connectivity) {
        let listener = self.listener.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(listener) = listener {
            listener(change);
        }
    }

    fn mark_lost(&self, why: String) {
        let is_news = self.status.borrow().lost.is_none();
        if is_news {
            PostgresCounters::add(&self.counters.losses, 1);
            self.status.send_modify(|it| {
                it.losses += 1;
                it.lost = Some(why.clone());
                it.session = None;
            });
            self.notify(Connectivity::Lost(why));
        }
    }

    pub(super) fn mark_connected(&self, session: &MonitorSession) {
        self.status.send_modify(|it| {
            it.lost = None;
            it.session = Some(session.session);
        });
        self.notify(Connectivity::Restored);
    }

    /// Keeps the connection open until the runtime ends.
    pub(super) async fn run(
        self: Arc<Self>,
        connector: Arc<Connector>,
        options: Options,
        notifier: Arc<Notifier>,
        mut session: MonitorSession,
        mut requests: ProbeRequests,
    ) {
        loop {
            match self.serve(&mut session, &notifier, &mut requests).await {
                // Reconnecting may succeed at once; then no call fails.
                SessionEnd::Broke => {}
                SessionEnd::Silent => self.mark_lost("the database does not answer".to_owned()),
            }
            drop(session);
            session = loop {
                let made = tokio::time::timeout(
                    RECONNECT_TIMEOUT,
                    MonitorSession::establish(&connector, &options, RECONNECT_TIMEOUT),
                );
                match made.await.unwrap_or_else(|_| Err(no_answer())) {
                    Ok(session) => break session,
                    Err(error) => self.mark_lost(error.to_string()),
                }
                // Pings that wait see the loss.
                while requests.try_recv().is_ok() {}
                pause().await;
            };
            self.mark_connected(&session);
        }
    }

    /// Forwards notifications, probes on request, and listens on the node's channels.
    async fn serve(
        &self,
        session: &mut MonitorSession,
        notifier: &Notifier,
        requests: &mut ProbeRequests,
    ) -> SessionEnd {
        let mut channels = notifier.channels();
        loop {
            let listen = notifier.listen_to(*channels.borrow_and_update());
            if let Some(sql) = listen {
                match tokio::time::timeout(PROBE_TIMEOUT, session.connection.script(&sql)).await {
                    Ok(Ok(())) => {}
                    Ok(Err(_)) => return SessionEnd::Broke,
                    Err(_) => return SessionEnd::Silent,
                }
            }
            loop {
                tokio::select! {
                    payload = session.heard.recv() => match payload {
                        Some(payload) => notifier.pass_on(&payload),
                        None => return SessionEnd::Broke,
                    },
                    changed = channels.changed() => {
                        if changed.is_err() {
                            return SessionEnd::Broke;
                        }
                        break;
                    }
                    request = requests.recv() => {
                        let mut waiting: Vec<_> = request.flatten().into_iter().collect();
                        while let Ok(another) = requests.try_recv() {
                            waiting.extend(another);
                        }
                        let there = session.connection.one(PROBE, Vec::new());
                        match tokio::time::timeout(PROBE_TIMEOUT, there).await {
                            // A ping may have timed out already.
                            Ok(Ok(_)) => for it in waiting {
                                let _ = it.send(());
                            },
                            Ok(Err(_)) => return SessionEnd::Broke,
                            Err(_) => return SessionEnd::Silent,
                        }
                    }
                }
            }
        }
    }
}

/// Why the monitor's connection cannot be used any more.
enum SessionEnd {
    Broke,
    Silent,
}

fn no_answer() -> Error {
    Error::Unavailable("the database does not answer".to_owned())
}

#[expect(clippy::disallowed_methods, reason = "nothing notifies of a database that comes back")]
async fn pause() {
    tokio::time::sleep(RECONNECT_INTERVAL).await;
}

impl MonitorSession {
    /// Connects and takes the locks. Waits at most `patience` for locks of another process.
    pub(super) async fn establish(
        connector: &Connector,
        options: &Options,
        patience: Duration,
    ) -> Result<Self, Error> {
        let (sender, heard) = mpsc::unbounded_channel();
        let connection = connector.connect_and_hear(Some(sender)).await?;
        own(&connection, options, patience).await?;
        let number = connection.one(NUMBER, Vec::new()).await?.first(|row| row.integer(0))?;
        let session = lock::hash("session", &number.unwrap_or_default().to_string());
        connection.one(HOLD, values![session]).await?;
        Ok(Self { connection, heard, session })
    }

    /// The connection, for reads while the store is opened.
    pub(super) fn connection(&self) -> &Connection {
        &self.connection
    }
}

/// Ensures that a database which is not shared has only one process.
async fn own(connection: &Connection, options: &Options, patience: Duration) -> Result<(), Error> {
    // The lock of a process that has just ended may not be released yet.
    connection.script(&format!("SET lock_timeout = {}", patience.as_millis())).await?;
    let sql = if options.shared { SHARE } else { OWN };
    let locked = connection.one(sql, values![lock::OWNER]).await;
    locked.map(drop).map_err(|failure| match failure.error {
        Error::Unavailable(text) if text.contains("55P03") => {
            let text = "another process uses the database, and one of the two does not share it";
            Error::Locked(text.to_owned())
        }
        error => error,
    })
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;
    use crate::postgres::pool::Pool;

    /// A reader that waited for a connection would wait for a timeout of the network.
    #[test]
    fn while_the_database_is_away_no_call_waits_for_a_connection() {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let _entered = runtime.enter();
        let counters = Arc::default();
        let (monitor, _probes) = ConnectionMonitor::new(Arc::clone(&counters));
        let options = Options::new("host=127.0.0.1 port=1 user=nobody dbname=none");
        let connector = Connector::new(&options, counters, Arc::clone(&monitor)).unwrap();
        let handle = runtime.handle().clone();
        let pool = Pool::new(Arc::new(connector), Arc::clone(&monitor), 1, handle);
        monitor.mark_lost("it is away".to_owned());
        // Polled once: a call that tried to connect would not have ended.
        let answer = pool.acquire().now_or_never().expect("it does not wait");
        let error = answer.err().expect("there is no connection");
        assert!(error.to_string().contains("it is away"), "{error}");
        assert!(monitor.ping().now_or_never().is_some_and(|answer| answer.is_err()));
    }
}
