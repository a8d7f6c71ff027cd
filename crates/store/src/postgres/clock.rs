//! The clock of the database: the only statement that asks for the time. Nodes on several machines
//! use it, because their own clocks differ (I7). Nothing that is stored depends on it, except
//! leases.

use super::connection::Call;

const READ: &str = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint";

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[READ];

/// Milliseconds since 1970.
pub(super) fn read() -> Call<'static> {
    Call::plain(READ)
}
