//! Scenarios: text in, trace out.
//!
//! A scenario is a Markdown file: a title, the rules it cites, probes, a script of commands on the
//! virtual clock, and the trace that must come out. See `crates/sim/scenarios/README.md`.

mod file;
mod look;
mod notations;
mod plan;
mod player;
mod script;
mod short;
mod trace;
mod watchdog;
mod work;

pub use file::Scenario;
pub use player::{Play, play, play_slowly};
