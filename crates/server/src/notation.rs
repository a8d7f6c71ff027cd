//! The notations of this build.

use std::sync::Arc;

use meantime_flow::Flow;
use meantime_kernel::machine::Notations;

/// Every notation that this build reads.
pub fn notations() -> Notations {
    Notations::default().with(meantime_flow::NOTATION, Arc::new(Flow))
}
