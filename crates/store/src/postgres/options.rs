//! Options of a PostgreSQL store.

use std::time::Duration;

/// The clock of leases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LeaseClock {
    /// The clock of the database: nodes on several machines agree on it (I7).
    #[default]
    Database,
    /// The clock of the caller, for simulations.
    Caller,
}

/// Options of a PostgreSQL store. The defaults are what a server should use.
#[derive(Clone, PartialEq, Eq)]
pub struct Options {
    /// The address of the database: `postgres://user@host/name`, or `host=… user=… dbname=…`.
    pub url: String,
    /// Whether several processes may use the database at the same time. If not, the first one
    /// excludes the others.
    pub shared: bool,
    /// The clock of leases.
    pub lease_clock: LeaseClock,
    /// How many turn transactions can be open at a time.
    pub writers: usize,
    /// How many reads can run at a time.
    pub readers: usize,
    /// How long to wait for a connection.
    pub connect_timeout: Duration,
    /// How long sent data may stay unacknowledged before a connection counts as lost.
    pub tcp_user_timeout: Duration,
    /// How long one statement may take.
    pub statement_timeout: Duration,
    /// How long a turn may keep its rows locked without sending anything. The database then
    /// releases them; the commit still succeeds if no other transaction has changed them.
    pub idle_timeout: Duration,
}

impl Options {
    /// The defaults, for a database.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            shared: true,
            lease_clock: LeaseClock::Database,
            writers: 8,
            readers: 4,
            connect_timeout: Duration::from_secs(3),
            tcp_user_timeout: Duration::from_secs(5),
            statement_timeout: Duration::from_secs(30),
            idle_timeout: Duration::from_secs(15),
        }
    }
}

impl std::fmt::Debug for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Without the address, which may contain a password.
        f.debug_struct("Options").field("shared", &self.shared).finish_non_exhaustive()
    }
}
