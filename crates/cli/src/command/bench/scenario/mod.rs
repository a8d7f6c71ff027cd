//! One file per scenario. Each runs to its end and adds its figures to the report.

mod flood;
mod growth;
mod sleeping;
mod state;
mod task;
mod timers;
mod turns;

pub(super) use flood::flood;
pub(super) use growth::growth;
pub(super) use sleeping::sleeping;
pub(super) use state::state;
pub(super) use task::task;
pub(super) use timers::timers;
pub(super) use turns::turns;
