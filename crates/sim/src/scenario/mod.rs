//! Scenarios: tests as text, with an expected trace.
//!
//! A scenario is a Markdown file: a title, the rules it cites, definitions, a script of commands on
//! the virtual clock, and the expected trace. See `crates/sim/scenarios/README.md`.

mod check;
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

pub use check::difference;
pub use file::Scenario;
pub use player::{ScenarioRun, play, play_with_slow_turns};
