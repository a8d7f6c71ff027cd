//! What callers, workers, operators and housekeeping do: one file for each family.

mod act;
mod deploys;
mod maintenance;
mod operators;
mod quiesce;
mod schedules;
mod sends;
mod starts;
pub(crate) mod state;
mod workers;
