//! The notations that scenarios are written in.

use std::sync::Arc;

use meantime_flow::Flow;
use meantime_kernel::machine::Notations;

use crate::probe::Probe;

/// Kinds of source blocks, which are also the names of their notations.
pub(super) const BLOCKS: [&str; 2] = ["probe", "flow"];

/// All of them.
pub(super) fn notations() -> Notations {
    Notations::default().with("probe", Arc::new(Probe)).with("flow", Arc::new(Flow))
}
