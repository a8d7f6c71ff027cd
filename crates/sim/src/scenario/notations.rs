//! The notations that scenarios are written in.

use std::sync::Arc;

use meantime_core::Json;
use meantime_flow::Flow;
use meantime_journey::{JourneyNotation, Settings};
use meantime_kernel::machine::Notations;

use crate::probe::Probe;

/// Kinds of source blocks, which are also the names of their notations.
pub(super) const BLOCKS: [&str; 3] = ["probe", "flow", "journey"];

/// All of them.
pub(super) fn notations() -> Notations {
    Notations::default()
        .with("probe", Arc::new(Probe))
        .with("flow", Arc::new(Flow))
        .with("journey", Arc::new(JourneyNotation::new(settings())))
}

/// What journeys of scenarios are deployed with.
fn settings() -> Settings {
    let config = [("baseUrl", "\"http://bank.test\""), ("delay", "\"PT5M\"")];
    let config =
        config.map(|(key, value)| (key.to_owned(), Json::parse(value).unwrap_or_default()));
    Settings { config: config.into(), deploys: true, ..Settings::default() }
}
