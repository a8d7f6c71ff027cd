//! The notations that this build supports.

use std::sync::Arc;

use meantime_bpmn::Bpmn;
use meantime_flow::Flow;
use meantime_journey::{JOURNEY_NOTATION, JourneyNotation};
use meantime_kernel::machine::Notations;

/// All notations, with default settings.
pub fn notations() -> Notations {
    Notations::default()
        .with(meantime_bpmn::NOTATION, Arc::new(Bpmn))
        .with(meantime_flow::NOTATION, Arc::new(Flow))
        .with(JOURNEY_NOTATION, Arc::new(JourneyNotation::default()))
}
