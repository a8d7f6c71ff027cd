//! The notation of YAML journeys: reading, checking and running them.
//!
//! A journey is a state machine written in YAML: tasks, choices, waits, timers, parallel branches,
//! with expressions that compute on one JSON context. Reading gives every problem at its place;
//! running is pure, so the same events give the same effects on every machine (I6).

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
