//! The database's clock: the one statement that asks for the time. Nodes on several machines go by
//! it, because their own clocks differ (I7); nothing that is stored depends on it but leases.

use super::connection::Call;

const READ: &str = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint";

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[READ];

/// Milliseconds since 1970.
pub(super) fn read() -> Call<'static> {
    Call::plain(READ)
}
