//! The grid of an interval: occurrence n is `anchor + n · interval`, from the anchor (S1).
//!
//! Adding n intervals at once, instead of one after the other, keeps 31 January, 28 February, 31
//! March from drifting to the 28th. Invariant: instants never decrease with n, so that a position
//! in the grid can be found by binary search.

use super::{First, Span, Timestamp, Zone};

/// More than all changes of a zone's offset can add up to.
const SLACK_MS: i64 = 2 * 86_400_000;

/// A grid without its limits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Grid<'a> {
    pub(super) anchor: Timestamp,
    pub(super) interval: &'a Span,
    pub(super) zone: &'a Zone,
    pub(super) first: First,
}

impl Grid<'_> {
    /// The instant of an occurrence, or `None` beyond the range of instants.
    pub(super) fn at(&self, number: u64) -> Option<Timestamp> {
        if self.interval.is_negative() || self.interval.is_zero() {
            return None;
        }
        let intervals = match self.first {
            First::AtAnchor => number,
            First::AfterInterval => number.checked_add(1)?,
        };
        self.interval.times(intervals).ok()?.add_to(self.anchor, self.zone).ok()
    }

    /// The instant this many intervals before the anchor, or `None` beyond the range of instants.
    pub(super) fn behind(&self, intervals: u64) -> Option<Timestamp> {
        if self.interval.is_negative() || self.interval.is_zero() {
            return None;
        }
        self.interval.times(intervals).ok()?.negated().add_to(self.anchor, self.zone).ok()
    }

    /// A lower bound of the number of intervals between two instants.
    pub(super) fn intervals_between(&self, from: Timestamp, to: Timestamp) -> u64 {
        let step = self.interval.approx_millis().max(1);
        let elapsed = to.saturating_since(from).saturating_add(SLACK_MS);
        // `step` is rounded down, so this many intervals lead past the bound.
        u64::try_from(elapsed / step).unwrap_or(0)
    }

    /// The lowest number whose instant is at or after `from`, or beyond the range of instants.
    pub(super) fn position(&self, from: Timestamp) -> u64 {
        self.first_not(from, |at| at < from)
    }

    /// The lowest number whose instant is after `until`, or beyond the range of instants.
    pub(super) fn past(&self, until: Timestamp) -> u64 {
        self.first_not(until, |at| at <= until)
    }

    /// The lowest number for which `before` is false; `before` holds at most up to `bound`.
    fn first_not(&self, bound: Timestamp, before: impl Fn(Timestamp) -> bool) -> u64 {
        let (mut low, mut high) = (0, self.intervals_between(self.anchor, bound) + 1);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.at(middle).is_some_and(&before) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }
}
