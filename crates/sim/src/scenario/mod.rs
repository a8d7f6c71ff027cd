//! Scenarios: text in, trace out.
//!
//! A scenario is a Markdown file: a title, the rules it cites, probes, a script of commands on the
//! virtual clock, and the trace that must come out. See `crates/sim/scenarios/README.md`.

mod file;
mod inspect;
mod journey_shorthand;
mod notations;
mod player;
mod schedules;
mod script;
mod tasks;
mod trace;
mod watchdog;

pub use file::Scenario;
pub use player::{ScenarioRun, play, play_with_slow_turns};
