//! One file per scenario. Each runs to its end and adds its figures to the report.

mod flood;
mod flow;
mod growth;
mod nodes;
mod sleeping;
mod state;
mod task;
mod timers;
mod turns;

pub(crate) use flood::flood;
pub(crate) use flow::flow;
pub(crate) use growth::growth;
pub(crate) use nodes::nodes;
pub(crate) use sleeping::sleeping;
pub(crate) use state::state;
pub(crate) use task::task;
pub(crate) use timers::timers;
pub(crate) use turns::turns;
