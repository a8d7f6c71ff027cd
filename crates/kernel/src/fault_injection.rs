//! Bugs that a test can switch on, to prove that the simulator finds them.
//!
//! They exist only with the feature `fault-injection`, which no shipped build has: without it
//! [`is_injected`] is always false, and the compiler removes the code behind it. With it a test
//! chooses one bug for its own thread.

#[cfg(feature = "fault-injection")]
use std::cell::Cell;

/// A bug that can be injected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InjectedBug {
    /// A unit takes effect although its fence does not hold.
    SkipFence,
    /// Timers fire half a second before their instant.
    FireEarly,
    /// An occurrence that has had its run gets another one.
    DoubleOccurrence,
    /// An event for an instance that is in a batch does not make it ready.
    LoseWakeUp,
    /// Engine tasks run, and timers are armed in memory, before the commit.
    DispatchBeforeCommit,
    /// Callers are answered before the commit.
    AnswerBeforeCommit,
    /// Effects of later turns reuse the keys of the first turn.
    ReuseActivation,
    /// Only the first two events of a turn are delivered.
    DropCoalescedEvent,
    /// A signal that was not taken does not return to the inbox.
    SwallowSignal,
    /// The deadline is measured again when an instance yields.
    RecomputeDeadline,
    /// A timer that a definition cancels stays armed.
    ForgetLoser,
    /// A commit whose answer was lost is repeated without `is_committed`.
    RetryAmbiguousCommit,
    /// A new subscription does not look for messages that are already stored.
    MissMatch,
    /// After a conflict the rejected row stays in the cache.
    StaleCacheAfterConflict,
    /// An instance that yielded is not continued.
    DropYield,
    /// A resolved incident is closed without an event for the instance.
    CloseWithoutResolving,
}

impl InjectedBug {
    /// Every bug.
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

/// Switches one bug on for this thread, or all of them off.
#[cfg(feature = "fault-injection")]
pub fn inject(bug: Option<InjectedBug>) {
    INJECTED.set(bug);
}

/// Whether a bug is switched on in this thread.
#[cfg(feature = "fault-injection")]
pub(crate) fn is_injected(bug: InjectedBug) -> bool {
    INJECTED.get() == Some(bug)
}

/// Always false without the feature.
#[cfg(not(feature = "fault-injection"))]
pub(crate) const fn is_injected(_bug: InjectedBug) -> bool {
    false
}
