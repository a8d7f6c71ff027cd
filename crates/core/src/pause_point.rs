//! Points in a long computation at which its thread may pause.
//!
//! Code that counts operations passes such a point about every thousand of them. What happens there
//! depends on the thread: the kernel lets threads that compute slow turns sleep briefly from time
//! to time, so that work of the operating system on their core does not wait for them. Most threads
//! do nothing. A pause has no inputs and outputs, so it cannot change what is computed.

use std::cell::Cell;

/// Operations between two points.
const INTERVAL: u64 = 1 << 10;

thread_local! {
    static PAUSE: Cell<Option<fn()>> = const { Cell::new(None) };
}

/// Sets what this thread does at its pause points.
pub fn install(pause: fn()) {
    PAUSE.set(Some(pause));
}

/// Passes a point if the count of operations, which went from `before` to `after`, crossed one.
#[inline]
pub fn pass(before: u64, after: u64) {
    if before ^ after >= INTERVAL {
        here();
    }
}

/// A pause point for work that is not counted in operations, such as reading a row.
#[cold]
pub fn here() {
    if let Some(pause) = PAUSE.get() {
        pause();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    thread_local! {
        static PAUSES: Cell<u32> = const { Cell::new(0) };
    }

    #[test]
    fn a_thread_that_asked_for_it_pauses_about_every_thousand_operations() {
        let count = |from: u64, to: u64| {
            PAUSES.set(0);
            let step = if from < to { 1 } else { -1 };
            let mut at = from;
            while at != to {
                let next = at.saturating_add_signed(step);
                pass(at, next);
                at = next;
            }
            PAUSES.get()
        };
        assert_eq!(count(0, 10_000), 0, "nobody asked for it");
        install(|| PAUSES.set(PAUSES.get() + 1));
        assert_eq!(count(0, 10_000), 9);
        assert_eq!(count(10_000, 0), 9, "budgets count down");
    }
}
