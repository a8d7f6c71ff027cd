//! Flow scripts: a subset of JavaScript on a machine that can be saved at every `await`.
//!
//! Nothing here reads a clock, a random number, a file or a socket (I6). Every evaluation counts
//! its operations and its memory, and the same input gives the same result on every machine.

mod ast;
mod awaitable;
mod check;
mod compile;
mod embed;
mod evaluate;
mod front_matter;
mod host;
mod lex;
mod library;
mod parse;
mod problem;
mod promise;
mod pure_host;
mod saved;
mod session;
mod span;
mod vm;

pub use compile::{Program, Workflow};
pub use embed::{Embedded, EmbeddedEnvironment, EmbeddedResult, compile_embedded};
pub use evaluate::{Evaluation, evaluate};
pub use front_matter::{FrontMatter, front_matter};
pub use host::{
    EffectKind, EffectRequest, EffectStartError, Host, Operation, Settlement, StartedEffect,
};
pub use problem::Code;
pub use saved::{FORMAT, reads_format};
pub use session::{Compiled, PendingAwaitable, SourceTimer, SourceTimerTime, compile_script};
pub use span::SourceMap;
pub use vm::{Machine, StopReason};
