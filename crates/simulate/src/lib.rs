//! Runs definitions on a virtual clock: the real kernel on the in-memory store, and stubs for what
//! workers, people and other systems do.
//!
//! ```text
//!   definitions, input ─► kernel (memory store, virtual clock) ─► history ─► trace
//!                            ▲            │ tasks, calls, waits
//!                            └── stubs ◄──┘  each answers after its latency
//!                                            the clock moves to the next timer or answer
//! ```
//!
//! [`simulate`] answers "what will happen?"; [`explore`] follows every outcome that the stubs
//! declare; [`Simulation`] is moved step by step, as tests do ([`run_tests`]).

mod case;
mod case_step;
mod compare;
mod explore;
mod report;
mod run;
mod stub;
mod stub_match;
mod timeline;
mod trace;
mod yaml;

pub use case::{CaseResult, TestFile, TestFilter, read_test_file, run_tests};
pub use explore::{Branch, explore, simulate};
pub use report::{FailureReport, InstanceReport, SimulationReport, Waits};
pub use run::{Choice, Simulation, SimulationEnd, SimulationError, SimulationSpec};
pub use stub::{Stubs, read_stubs};
pub use timeline::{to_ics, to_mermaid};
pub use trace::{TraceEvent, to_text};
pub use yaml::YamlProblem;
