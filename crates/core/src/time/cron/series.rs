//! Cron in a zone: maps matching civil times to instants (S13).
//!
//! Both interpretations of an expression are defined on whole seconds:
//!
//! - *elapsed time*: the instants at which local clocks show a matching time;
//! - *local times*: each matching civil time mapped to one instant, which is its own, its first of
//!   two, or the end of the gap it falls into. This map never decreases, so the occurrences between
//!   two instants are a range of civil times, less those that a gap folds into one.
//!
//! `next` and `count` follow the same definitions and agree: calling `next` from `a` until `b`
//! finds exactly `count(a, b)` occurrences.

use jiff::SignedDuration;
use jiff::civil::DateTime;

use super::super::zone::Resolved;
use super::super::{Timestamp, Zone};
use super::Cron;

const EPOCH: DateTime = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);

impl Cron {
    /// The first occurrence at or after `from`.
    pub(in crate::time) fn next(&self, zone: &Zone, from: Timestamp) -> Option<Timestamp> {
        let from = whole_seconds(from);
        let found =
            if self.elapsed { self.next_elapsed(zone, from) } else { self.next_local(zone, from) };
        Timestamp::try_from_millis(found?.checked_mul(1000)?).ok()
    }

    /// How many occurrences there are at or after `from` and before `to`.
    pub(in crate::time) fn count(&self, zone: &Zone, from: Timestamp, to: Timestamp) -> u64 {
        let (from, to) = (whole_seconds(from), whole_seconds(to));
        if self.elapsed {
            self.count_elapsed(zone, from, to)
        } else {
            self.count_local(zone, from, to)
        }
    }

    /// Searches the periods of constant offset one after the other.
    fn next_elapsed(&self, zone: &Zone, from: i64) -> Option<i64> {
        let mut from = from;
        loop {
            let offset = offset_at(zone, from);
            let found = self.calendar.next_from(from + offset)? - offset;
            match next_change(zone, from) {
                Some((change, _)) if found >= change => from = change,
                _ => return Some(found),
            }
        }
    }

    fn count_elapsed(&self, zone: &Zone, from: i64, to: i64) -> u64 {
        let (mut from, mut count) = (from, 0);
        while from < to {
            let offset = offset_at(zone, from);
            let end = next_change(zone, from).map_or(to, |(change, _)| change.min(to));
            count += self.calendar.count(from + offset, end + offset);
            from = end;
        }
        count
    }

    fn next_local(&self, zone: &Zone, from: i64) -> Option<i64> {
        let civil = self.calendar.next_from(first_civil(zone, from))?;
        instant_of(zone, civil)
    }

    fn count_local(&self, zone: &Zone, from: i64, to: i64) -> u64 {
        if from >= to {
            return 0;
        }
        let mut count = self.calendar.count(first_civil(zone, from), first_civil(zone, to));
        let mut before = from - 1;
        while let Some((change, offset)) = next_change(zone, before).filter(|(at, _)| *at < to) {
            let (start, end) = (change + offset_at(zone, change - 1), change + offset);
            if start < end {
                // The whole gap and the time at its end map to one instant.
                let folded = self.calendar.count(start, end + 1);
                count = count.saturating_sub(folded.saturating_sub(1));
            }
            before = change;
        }
        count
    }
}

/// The first civil time whose instant is at or after `from`.
fn first_civil(zone: &Zone, from: i64) -> i64 {
    // With the offset of the second before, a gap that ends here belongs to what follows, and the
    // second pass of a fold that begins here belongs to what is past.
    let civil = from + offset_at(zone, from - 1);
    match resolve(zone, civil) {
        // Within the second pass: the rest of the fold fired in the first one.
        Some(Resolved::Twice { first, .. }) if civil - i64::from(first) < from => {
            match next_change(zone, civil - i64::from(first)) {
                Some((change, _)) => change + i64::from(first),
                None => civil,
            }
        }
        _ => civil,
    }
}

/// The instant of a civil time: the first of two, or the end of the gap that holds it.
fn instant_of(zone: &Zone, civil: i64) -> Option<i64> {
    match resolve(zone, civil)? {
        Resolved::Once(offset) => Some(civil - i64::from(offset)),
        Resolved::Twice { first, .. } => Some(civil - i64::from(first)),
        Resolved::Never { after, .. } => {
            next_change(zone, civil - i64::from(after)).map(|(change, _)| change)
        }
    }
}

/// Rounds up: occurrences are at whole seconds.
fn whole_seconds(at: Timestamp) -> i64 {
    (at.as_millis() + 999).div_euclid(1000)
}

fn resolve(zone: &Zone, civil: i64) -> Option<Resolved> {
    let civil = EPOCH.checked_add(SignedDuration::from_secs(civil)).ok()?;
    Some(zone.resolve(civil))
}

fn offset_at(zone: &Zone, at: i64) -> i64 {
    i64::from(zone.offset_at(Timestamp::from_millis(at.saturating_mul(1000))))
}

fn next_change(zone: &Zone, after: i64) -> Option<(i64, i64)> {
    let (at, offset) = zone.next_change(Timestamp::from_millis(after.saturating_mul(1000)))?;
    Some((at.as_millis().div_euclid(1000), i64::from(offset)))
}
