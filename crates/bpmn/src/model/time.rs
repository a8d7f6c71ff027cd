//! Timer definitions.

use meantime_core::time::Zone;

use crate::expression::Expression;

/// Exactly one of date, duration and cycle (B1).
#[derive(Debug, Clone)]
pub(crate) struct TimerDefinition {
    pub(crate) kind: TimerKind,
    /// A literal that was checked at deploy, or an expression.
    pub(crate) text: Expression,
    /// The time zone of calendar durations and cron (T3).
    pub(crate) zone: Zone,
}

/// The kinds of timer definitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TimerKind {
    Date,
    Duration,
    Cycle,
}
