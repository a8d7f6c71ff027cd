//! The one function from a rule to its occurrences, which preview, firing and forecast share.
//!
//! Invariants: occurrences come in strictly increasing order; starting after any instant gives the
//! same instants and numbers as starting at the beginning and skipping; finding the place to start
//! does not walk over the occurrences before it.

use super::grid::Grid;
use super::{Cron, Rule, Timestamp, Zone};

/// One member of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Occurrence {
    /// Position in the series of this rule, from 0. In a grid that fires first one interval after
    /// its anchor, number 0 is at `anchor + interval`.
    pub number: u64,
    /// When it is due.
    pub at: Timestamp,
}

/// All occurrences strictly after an instant, in order. They end when the rule ends, or when the
/// next one is beyond [`Timestamp::MAX`].
///
/// Two numbers of a grid can refer to the same instant, such as `P1D` in a zone that once skipped a
/// whole day. That instant occurs once, with the lower number; the other number is skipped.
pub fn occurrences(rule: &Rule, after: Timestamp) -> Occurrences<'_> {
    match after.checked_add_millis(1) {
        Some(from) => starting(rule, from),
        None => Occurrences { series: Series::Ended, limit: 0, until: after },
    }
}

/// The first occurrence at or after an instant.
pub fn occurrence_at_or_after(rule: &Rule, at: Timestamp) -> Option<Occurrence> {
    starting(rule, at).next()
}

/// How many occurrences there are strictly after `from` and not after `to`, with the first and the
/// last of them. The time it takes does not grow with their number: logarithmic for intervals, and
/// for cron proportional to the months in between.
pub fn skipped(
    rule: &Rule,
    from: Timestamp,
    to: Timestamp,
) -> (u64, Option<Occurrence>, Option<Occurrence>) {
    skipped_at_most(rule, from, to, u64::MAX)
}

/// Like [`skipped`], for the earliest of them, up to a limit: the last one is found without
/// iterating over those before it.
pub fn skipped_at_most(
    rule: &Rule,
    from: Timestamp,
    to: Timestamp,
    most: u64,
) -> (u64, Option<Occurrence>, Option<Occurrence>) {
    let mut all = occurrences(rule, from);
    let until = to.min(all.until);
    let limit = all.limit;
    if most == 0 {
        return (0, None, None);
    }
    let Some(first) = all.next().filter(|first| first.at <= until) else {
        return (0, None, None);
    };
    let limit = limit.min(first.number.saturating_add(most));
    let last = match all.series {
        Series::Grid { grid, .. } => last_in_grid(&grid, first, until, limit),
        Series::Cron { cron, zone, .. } => last_of_cron(cron, zone, first, until, limit),
        Series::Once(_) | Series::Ended => first,
    };
    (last.number - first.number + 1, Some(first), Some(last))
}

/// Iterator over the occurrences of a rule; see [`occurrences`].
#[derive(Debug, Clone)]
pub struct Occurrences<'a> {
    series: Series<'a>,
    /// Numbers are below this limit.
    limit: u64,
    /// Instants are not after this one.
    until: Timestamp,
}

/// The rest of the series. `from` is the lower bound of the next instant.
#[derive(Debug, Clone)]
enum Series<'a> {
    Ended,
    Once(Timestamp),
    Grid { grid: Grid<'a>, number: u64, from: Timestamp },
    Cron { cron: &'a Cron, zone: &'a Zone, number: u64, from: Timestamp },
}

fn starting(rule: &Rule, from: Timestamp) -> Occurrences<'_> {
    let (series, count, until) = match rule {
        Rule::Once { at } if *at < from => (Series::Ended, &None, &None),
        Rule::Once { at } => (Series::Once(*at), &None, &None),
        Rule::Every { anchor, interval, zone, first, count, until } => {
            let grid = Grid { anchor: *anchor, interval, zone, first: *first };
            (Series::Grid { grid, number: grid.position(from), from }, count, until)
        }
        Rule::Cron { cron, zone, from: start, count, until } => {
            let series = start.checked_add_millis(1).map_or(Series::Ended, |start| {
                let number = cron.count(zone, start, from);
                Series::Cron { cron, zone, number, from: from.max(start) }
            });
            (series, count, until)
        }
    };
    let (limit, until) = (count.unwrap_or(u64::MAX), until.unwrap_or(Timestamp::MAX));
    Occurrences { series, limit, until }
}

impl Iterator for Occurrences<'_> {
    type Item = Occurrence;

    fn next(&mut self) -> Option<Occurrence> {
        let found = self.series.advance();
        let found = found.filter(|next| next.number < self.limit && next.at <= self.until);
        if found.is_none() {
            self.series = Series::Ended;
        }
        found
    }
}

impl std::iter::FusedIterator for Occurrences<'_> {}

impl Series<'_> {
    fn advance(&mut self) -> Option<Occurrence> {
        match self {
            Self::Ended => None,
            Self::Once(at) => {
                let at = *at;
                *self = Self::Ended;
                Some(Occurrence { number: 0, at })
            }
            Self::Grid { grid, number, from } => loop {
                let next = Occurrence { number: *number, at: grid.at(*number)? };
                *number += 1;
                // An instant below `from` is a second number of the previous instant.
                if next.at >= *from {
                    *from = next.at.saturating_add_millis(1);
                    return Some(next);
                }
            },
            Self::Cron { cron, zone, number, from } => {
                let next = Occurrence { number: *number, at: cron.next(zone, *from)? };
                *number += 1;
                *from = next.at.saturating_add_millis(1);
                Some(next)
            }
        }
    }
}

/// The last occurrence up to `until` and below `limit`; `first` is one of them.
fn last_in_grid(grid: &Grid<'_>, first: Occurrence, until: Timestamp, limit: u64) -> Occurrence {
    let mut number = grid.past(until).min(limit).saturating_sub(1);
    // Of two numbers with the same instant the lower one counts.
    while number > first.number && grid.at(number - 1) == grid.at(number) {
        number -= 1;
    }
    match grid.at(number) {
        Some(at) if number > first.number => Occurrence { number, at },
        _ => first,
    }
}

/// The last occurrence up to `until` and below `limit`; `first` is one of them.
fn last_of_cron(
    cron: &Cron,
    zone: &Zone,
    first: Occurrence,
    until: Timestamp,
    limit: u64,
) -> Occurrence {
    let count = |from, to: Timestamp| cron.count(zone, from, to.saturating_add_millis(1));
    let wanted = count(first.at, until).min(limit - first.number).max(1);
    // Searches the earliest instant by which all wanted occurrences have come; `missing` of them
    // are at `low` or later.
    let (mut low, mut high, mut missing) = (first.at, until, wanted);
    while low < high {
        let middle = low.saturating_add_millis(high.saturating_since(low) / 2);
        let found = count(low, middle);
        if found < missing {
            (low, missing) = (middle.saturating_add_millis(1), missing - found);
        } else {
            high = middle;
        }
    }
    Occurrence { number: first.number + wanted - 1, at: low }
}
