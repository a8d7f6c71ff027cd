//! What callers, workers, operators and housekeeping do: one file for each family.

mod act;
mod deploys;
mod load;
mod operators;
mod schedules;
mod sends;
mod settle;
mod starts;
mod upkeep;
mod workers;

pub(super) use load::Load;
