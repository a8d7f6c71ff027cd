//! The baselines on PostgreSQL: one connection, rows as arrays, a transaction in one round trip.

mod appended;
mod random;

pub(crate) use appended::AppendBaseline;
pub(crate) use random::RandomUpdateBaseline;
