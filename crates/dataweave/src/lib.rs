//! DataWeave: the expression language of journeys.
//!
//! A [`Script`] is compiled once and evaluated any number of times. The language is that of the
//! official engine; intended differences are listed in `docs/reference/dataweave.md`.
//!
//! Nothing here reads a clock, a random number, a file or a socket (I6). Every evaluation counts
//! its operations and its memory, and the same input gives the same result on every machine.
//!
//! ```
//! use meantime_core::Timestamp;
//! use meantime_dataweave::{EvalContext, EvalLimits, Script};
//! use meantime_value::json;
//!
//! let compilation = Script::compile("payload.items map $.price * $.quantity", &["payload"]);
//! let script = compilation.script.expect("no errors");
//! let payload = json::read(r#"{"items": [{"price": 0.1, "quantity": 3}]}"#).expect("JSON");
//! let context =
//!     EvalContext { now: Timestamp::from_millis(0), seed: 1, limits: EvalLimits::default() };
//! assert_eq!(script.evaluate_to_json(vec![payload], &context).expect("a result"), "[0.3]");
//! ```
//!
//! ```text
//! source ─ syntax ─► tree ─ compile ─► program ─ eval ─► value
//!                                         ▲        ▲
//!                            types, library        coerce, format, calendar
//! ```

mod calendar;
mod coerce;
mod compile;
mod diagnostic;
mod eval;
mod format;
mod library;
mod output;
mod program;
mod script;
mod syntax;
mod types;

pub use script::{Compilation, EvalContext, EvalError, EvalLimits, Evaluation, Script};
