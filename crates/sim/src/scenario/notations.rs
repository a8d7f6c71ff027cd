//! The notations that scenarios are written in.

use std::sync::Arc;

use meantime_bpmn::Bpmn;
use meantime_core::Json;
use meantime_flow::Flow;
use meantime_journey::{JourneyNotation, Settings};
use meantime_kernel::machine::Notations;

use super::journey_shorthand;
use crate::probe::Probe;

#[path = "../../../bpmn/tests/support/short.rs"]
mod arrows;

/// Kinds of source blocks, which are also the names of their notations.
pub(super) const NOTATION_BLOCKS: [&str; 4] = ["probe", "flow", "journey", "bpmn"];

/// All notations of scenarios.
pub(super) fn notations() -> Notations {
    Notations::default()
        .with("probe", Arc::new(Probe))
        .with("flow", Arc::new(Flow))
        .with("journey", Arc::new(JourneyNotation::new(settings())))
        .with(meantime_bpmn::NOTATION, Arc::new(Bpmn))
}

/// The server settings with which journeys of scenarios are deployed.
fn settings() -> Settings {
    let config = [
        ("baseUrl", "\"http://bank.test\""),
        ("delay", "\"PT5M\""),
        ("stubs", "\"http://stubs.test\""),
    ];
    let config =
        config.map(|(key, value)| (key.to_owned(), Json::parse(value).unwrap_or_default()));
    let profiles = std::collections::BTreeSet::from(["default".to_owned()]);
    Settings {
        config: config.into(),
        secrets: ["secret/bank".to_owned()].into(),
        key_profiles: profiles.clone(),
        jwt_profiles: profiles,
        deploys: true,
        ..Settings::default()
    }
}

/// The source to deploy: some notations have a shorthand in scenarios.
pub(super) fn expand_shorthand(notation: &str, text: String) -> String {
    match notation {
        "journey" => journey_shorthand::journey(&text),
        "bpmn" => arrows::full(&text),
        _ => text,
    }
}
