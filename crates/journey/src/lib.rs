//! The notation of YAML journeys: reading, checking and running them.
//!
//! A journey is a state machine in YAML: tasks, choices, waits, timers and parallel branches, with
//! expressions over one JSON context. Reading reports every problem with its position; running is
//! pure, so the same events give the same effects on every machine (I6).

mod advice;
mod check;
mod code;
mod definition;
mod graph;
mod json;
mod machine;
mod notation;
mod openapi;
mod read;
mod report;
mod settings;
pub mod surface;
mod yaml;

pub use notation::{JOURNEY_NOTATION, JourneyNotation};
pub use settings::{MetadataLimits, Settings};
