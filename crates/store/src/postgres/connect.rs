//! Creates connections with the same session settings.

use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use meantime_kernel::store::Error;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio_postgres::config::SslMode;
use tokio_postgres::error::SqlState;
use tokio_postgres::{AsyncMessage, Client, Config, Socket};

use super::connection::Connection;
use super::error::from_postgres;
use super::monitor::ConnectionMonitor;
use super::options::Options;
use super::stats::PostgresCounters;
use super::tls::{TlsParameters, TlsStream};

/// The oldest supported version of the server.
const OLDEST_SERVER_VERSION: u32 = 13;

/// How much longer than the server's own timeout we wait for an answer.
const ANSWER_GRACE: Duration = Duration::from_secs(5);

/// Creates connections to one database.
#[derive(Clone)]
pub(super) struct Connector {
    config: Config,
    tls: TlsParameters,
    /// The first statements of every session.
    session: String,
    connect_timeout: Duration,
    patience: Duration,
    counters: Arc<PostgresCounters>,
    monitor: Arc<ConnectionMonitor>,
    /// The runtime on which connections run, whoever opens them first: the runtime of a caller may
    /// have a low priority, or end. Without one, the caller's runtime is used.
    runtime: Option<Handle>,
}

impl Connector {
    pub(super) fn new(
        options: &Options,
        counters: Arc<PostgresCounters>,
        monitor: Arc<ConnectionMonitor>,
    ) -> Result<Self, Error> {
        let (address, tls) = TlsParameters::split(&options.url)?;
        let mut config = Config::from_str(&address)
            .map_err(|error| Error::Unavailable(format!("the address of the database: {error}")))?;
        tls.set_mode(&mut config);
        config.connect_timeout(options.connect_timeout);
        config.tcp_user_timeout(options.tcp_user_timeout);
        config.keepalives_idle(options.tcp_user_timeout);
        // Nodes recognise each other's transactions by this name.
        let name = match config.get_application_name() {
            Some(name) if !name.starts_with("meantime") => format!("meantime/{name}"),
            Some(name) => name.to_owned(),
            None => "meantime".to_owned(),
        };
        config.application_name(name);
        let session = session(options);
        // A handshake takes several answers, each of which may take its time.
        let connect_timeout = options.connect_timeout * 2;
        let patience = options.statement_timeout + ANSWER_GRACE;
        let runtime = Handle::try_current().ok();
        Ok(Self { config, tls, session, connect_timeout, patience, counters, monitor, runtime })
    }

    /// Opens a connection and checks the version of the server.
    pub(super) async fn connect(&self) -> Result<Connection, Error> {
        self.connect_and_hear(None).await
    }

    /// Opens a connection; notifications go to a channel, which ends with the connection.
    pub(super) async fn connect_and_hear(
        &self,
        heard: Option<mpsc::UnboundedSender<String>>,
    ) -> Result<Connection, Error> {
        let (connector, patience) = (self.clone(), self.connect_timeout);
        let making = async move {
            let made = tokio::time::timeout(patience, connector.make(heard));
            made.await.unwrap_or_else(|_| {
                Err(Error::Unavailable("the database does not answer a new connection".to_owned()))
            })
        };
        let Some(runtime) = &self.runtime else { return making.await };
        let gone = |_| Err(Error::Unavailable("the engine stops".to_owned()));
        runtime.spawn(making).await.unwrap_or_else(gone)
    }

    /// Connects, with TLS as the address requests it.
    async fn dial(&self) -> Result<(Client, tokio_postgres::Connection<Socket, TlsStream>), Error> {
        if self.config.get_ssl_mode() == SslMode::Disable {
            // The files of TLS are not needed then.
            let connected = self.config.connect(TlsParameters::default().connector()?).await;
            return connected.map_err(|error| from_postgres(&error));
        }
        let connector = self.tls.connector()?;
        let error = match self.config.connect(connector.clone()).await {
            Ok(connected) => return Ok(connected),
            Err(error) => error,
        };
        if self.tls.may_fall_back() && is_about_tls(&error) {
            let mut config = self.config.clone();
            config.ssl_mode(SslMode::Disable);
            if let Ok(connected) = config.connect(connector).await {
                return Ok(connected);
            }
        }
        Err(from_postgres(&error))
    }

    async fn make(
        &self,
        heard: Option<mpsc::UnboundedSender<String>>,
    ) -> Result<Connection, Error> {
        let losses = self.monitor.losses();
        let (client, mut io) = self.dial().await?;
        let version = io.parameter("server_version").unwrap_or_default().to_owned();
        let encoding = io.parameter("server_encoding").unwrap_or_default().to_owned();
        tokio::spawn(async move {
            // The connection's end reaches the code that uses the client.
            while let Some(Ok(message)) = std::future::poll_fn(|cx| io.poll_message(cx)).await {
                if let (AsyncMessage::Notification(it), Some(heard)) = (message, &heard) {
                    // Without a receiver the connection is about to be closed.
                    let _ = heard.send(it.payload().to_owned());
                }
            }
        });
        check_server(&version, &encoding)?;
        PostgresCounters::add(&self.counters.connections, 1);
        let (counters, monitor) = (Arc::clone(&self.counters), Arc::clone(&self.monitor));
        let connection = Connection::new(client, self.patience, counters, monitor, losses);
        connection.script(&self.session).await?;
        Ok(connection)
    }
}

/// Whether a connection without TLS might succeed: the handshake failed, or the server does not
/// accept the role with TLS.
fn is_about_tls(error: &tokio_postgres::Error) -> bool {
    error.code() == Some(&SqlState::INVALID_AUTHORIZATION_SPECIFICATION)
        || error.to_string().contains("TLS handshake")
}

fn check_server(version: &str, encoding: &str) -> Result<(), Error> {
    let major = version.split(|c: char| !c.is_ascii_digit()).next();
    let major: Option<u32> = major.and_then(|digits| digits.parse().ok());
    if major.is_some_and(|major| major < OLDEST_SERVER_VERSION) {
        let text =
            format!("PostgreSQL {OLDEST_SERVER_VERSION} or later is needed, this is {version}");
        return Err(Error::Unavailable(text));
    }
    if encoding != "UTF8" {
        let text = format!("the database must have the encoding UTF8, this one has {encoding}");
        return Err(Error::Unavailable(text));
    }
    Ok(())
}

/// The settings of every session.
///
/// Plans are made once per statement and never from statistics: a table that was empty when its
/// statement was planned may hold a million rows a minute later, and every statement of a turn has
/// an index that fits. Durability is never weaker than a synced commit. The server checks a silent
/// client after a few seconds, so that the locks of a host that vanished are released.
fn session(options: &Options) -> String {
    let ms = |duration: Duration| duration.as_millis();
    format!(
        "SET statement_timeout = {}; SET tcp_keepalives_idle = 5; SET tcp_keepalives_interval = 2; \
         SET tcp_keepalives_count = 3; SET idle_in_transaction_session_timeout = {}; \
         SET plan_cache_mode = force_generic_plan; SET jit = off; SET enable_seqscan = off; \
         SET enable_bitmapscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off; SET client_min_messages = error; \
         SELECT set_config('synchronous_commit', 'on', false) \
         WHERE current_setting('synchronous_commit') = 'off'",
        ms(options.statement_timeout),
        ms(options.idle_timeout),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_is_too_old_or_has_another_encoding_is_refused() {
        assert!(check_server("13.4 (Debian 13.4-1)", "UTF8").is_ok());
        assert!(check_server("18devel", "UTF8").is_ok());
        assert!(check_server("12.9", "UTF8").is_err());
        assert!(check_server("16.1", "SQL_ASCII").is_err());
    }
}
