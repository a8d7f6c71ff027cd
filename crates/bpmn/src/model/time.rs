//! Timer definitions.

use meantime_core::time::Zone;

use crate::expression::Expression;

/// Exactly one of date, duration and cycle (B1).
#[derive(Debug, Clone)]
pub(crate) struct TimerDefinition {
    pub(crate) kind: TimerKind,
    /// A literal that was checked at deploy, or an expression.
    pub(crate) text: Expression,
    /// Where calendar parts and cron live (T3).
    pub(crate) zone: Zone,
}

/// Which of the three.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TimerKind {
    Date,
    Duration,
    Cycle,
}
