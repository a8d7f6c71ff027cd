//! Which lines the log contains.

use tracing_subscriber::filter::{LevelFilter, Targets};

use super::trace::TRACE_TARGET;
use crate::audit::AUDIT_TARGET;

/// The lines of the log at a level: those of the engine, and warnings of its libraries. Who reads
/// past a read guard is on record at every level.
pub fn log_filter(level: LevelFilter) -> Targets {
    Targets::new()
        .with_default(LevelFilter::WARN)
        .with_target("meantime", level)
        .with_target(AUDIT_TARGET, LevelFilter::INFO)
        .with_target(TRACE_TARGET, LevelFilter::OFF)
}
