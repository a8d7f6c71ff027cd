//! Defects to plant on purpose, so that the simulator can prove that it would find them.
//!
//! They exist only with the feature `is_injected-bugs`, which no shipped build has: without it
//! [`is_injected`] is always false, and the compiler drops what stands behind it. With it a test
//! chooses one of them for its own thread.

#[cfg(feature = "fault-injection")]
use std::cell::Cell;

/// A defect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InjectedBug {
    /// A fence that does not hold lets the unit through.
    SkipFence,
    /// Timers fire half a second before their instant.
    FireEarly,
    /// An occurrence that has had its run gets another one.
    DoubleOccurrence,
    /// An event for an instance that is in a batch wakes nobody.
    LoseWakeUp,
    /// Engine tasks run, and timers are armed in memory, before the commit.
    DispatchBeforeCommit,
    /// Callers are answered before the commit.
    AnswerBeforeCommit,
    /// Effects of later turns get the names of those of the first.
    ReuseActivation,
    /// Of the events that share a turn only two are taken.
    DropCoalescedEvent,
    /// A signal that was not taken does not return to its place.
    SwallowSignal,
    /// The deadline counts anew when an instance gives way.
    RecomputeDeadline,
    /// A timer that a definition cancels stays armed.
    ForgetLoser,
    /// A commit whose answer was lost is tried again without asking.
    RetryAmbiguousCommit,
    /// Who begins to wait does not look for messages that are there already.
    MissMatch,
    /// After a conflict the row that was to be written is remembered.
    StaleCacheAfterConflict,
    /// An instance that gave way is not continued.
    DropYield,
    /// A resolved incident is closed, and its place hears nothing of it.
    CloseWithoutResolving,
}

impl InjectedBug {
    /// Every one of them.
    pub const ALL: [Self; 16] = [
        Self::SkipFence,
        Self::FireEarly,
        Self::DoubleOccurrence,
        Self::LoseWakeUp,
        Self::DispatchBeforeCommit,
        Self::AnswerBeforeCommit,
        Self::ReuseActivation,
        Self::DropCoalescedEvent,
        Self::SwallowSignal,
        Self::RecomputeDeadline,
        Self::ForgetLoser,
        Self::RetryAmbiguousCommit,
        Self::MissMatch,
        Self::StaleCacheAfterConflict,
        Self::DropYield,
        Self::CloseWithoutResolving,
    ];
}

#[cfg(feature = "fault-injection")]
thread_local! {
    static INJECTED: Cell<Option<InjectedBug>> = const { Cell::new(None) };
}

/// Chooses the defect of this thread, or none.
#[cfg(feature = "fault-injection")]
pub fn inject(bug: Option<InjectedBug>) {
    INJECTED.set(bug);
}

/// Whether a defect was planted in this thread.
#[cfg(feature = "fault-injection")]
pub(crate) fn is_injected(bug: InjectedBug) -> bool {
    INJECTED.get() == Some(bug)
}

/// Never.
#[cfg(not(feature = "fault-injection"))]
pub(crate) const fn is_injected(_bug: InjectedBug) -> bool {
    false
}
