//! Operations of callers, workers, operators and retention: one file for each family.

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
