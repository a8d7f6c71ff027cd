//! What callers, workers, operators and housekeeping do: one file for each family.

mod act;
mod deploys;
pub(crate) mod load;
mod operators;
mod schedules;
mod sends;
mod settle;
mod starts;
mod upkeep;
mod workers;
