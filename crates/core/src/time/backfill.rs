//! The occurrences of a range, also before the beginning of their rule.
//!
//! A backfill refers to the grid of a schedule, not to the day on which the schedule was created: a
//! grid of intervals continues before its anchor, always computed from the anchor (S1), and a cron
//! expression also matches earlier times. The count of a rule is ignored here; its end applies.

use minicbor::{Decode, Encode};

use super::grid::Grid;
use super::{First, Rule, Timestamp};

/// The rest of a range to backfill, with the next occurrence first.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Backfill {
    #[n(0)]
    rule: Rule,
    #[n(1)]
    from: Timestamp,
    #[n(2)]
    to: Timestamp,
}

impl Backfill {
    /// The occurrences of a rule from one instant up to another, exclusive.
    pub const fn new(rule: Rule, from: Timestamp, to: Timestamp) -> Self {
        Self { rule, from, to }
    }

    /// The end of the range, exclusive.
    pub const fn end(&self) -> Timestamp {
        self.to
    }

    /// How many are left.
    pub fn left(&self) -> u64 {
        let to = self.to.min(self.until().saturating_add_millis(1));
        if to <= self.from {
            return 0;
        }
        match &self.rule {
            Rule::Once { at } => u64::from(self.from <= *at && *at < to),
            Rule::Cron { cron, zone, .. } => cron.count(zone, self.from, to),
            Rule::Every { .. } => {
                let Some(grid) = self.grid() else { return 0 };
                let ahead = grid.position(to) - grid.position(self.from);
                let behind = behind_from(&grid, self.from) - behind_from(&grid, to);
                ahead.saturating_add(behind)
            }
        }
    }

    fn first(&self) -> Option<Timestamp> {
        let found = match &self.rule {
            Rule::Once { at } => Some(*at).filter(|at| *at >= self.from),
            Rule::Cron { cron, zone, .. } => cron.next(zone, self.from),
            Rule::Every { .. } => {
                let grid = self.grid()?;
                match behind_from(&grid, self.from) {
                    0 => grid.at(grid.position(self.from)),
                    behind => grid.behind(nearest(&grid) + behind - 1),
                }
            }
        };
        found.filter(|at| *at < self.to && *at <= self.until())
    }

    fn until(&self) -> Timestamp {
        let (Rule::Every { until, .. } | Rule::Cron { until, .. }) = &self.rule else {
            return Timestamp::MAX;
        };
        until.unwrap_or(Timestamp::MAX)
    }

    fn grid(&self) -> Option<Grid<'_>> {
        let Rule::Every { anchor, interval, zone, first, .. } = &self.rule else { return None };
        Some(Grid { anchor: *anchor, interval, zone, first: *first })
    }
}

impl Iterator for Backfill {
    type Item = Timestamp;

    fn next(&mut self) -> Option<Timestamp> {
        let next = self.first();
        self.from = next.map_or(self.to, |at| at.saturating_add_millis(1));
        next
    }
}

/// How many intervals before the anchor the nearest instant is that the rule itself does not have.
fn nearest(grid: &Grid<'_>) -> u64 {
    match grid.first {
        First::AtAnchor => 1,
        First::AfterInterval => 0,
    }
}

/// How many instants of the grid are at or after an instant and before the beginning of the rule.
fn behind_from(grid: &Grid<'_>, from: Timestamp) -> u64 {
    let nearest = nearest(grid);
    let (mut low, mut high) = (0, grid.intervals_between(from, grid.anchor) + 1);
    while low < high {
        let middle = low + (high - low) / 2;
        if grid.behind(nearest + middle).is_some_and(|at| at >= from) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::{Cron, Span, Zone, occurrences};

    fn at(text: &str) -> Timestamp {
        Timestamp::parse(text).expect("an instant")
    }

    fn days(backfill: Backfill) -> Vec<String> {
        let count = backfill.left();
        let days: Vec<String> = backfill.map(|at| at.to_string()[..10].to_owned()).collect();
        assert_eq!(u64::try_from(days.len()), Ok(count), "{days:?}");
        days
    }

    #[test]
    fn month_ends_behind_the_anchor_are_computed_from_it() {
        let month = Span::parse("P1M").expect("a span");
        let anchor = at("2026-03-31T09:00:00Z");
        let rule = Rule::every(anchor, month, Zone::utc(), First::AtAnchor).expect("a rule");
        let range = Backfill::new(rule, at("2025-11-30T09:00:00Z"), at("2026-05-31T09:00:00Z"));
        let expected =
            ["2025-11-30", "2025-12-31", "2026-01-31", "2026-02-28", "2026-03-31", "2026-04-30"];
        assert_eq!(days(range), expected);
    }

    #[test]
    fn a_cycle_that_fires_first_after_its_interval_had_its_anchor_before() {
        let day = Span::parse("P1D").expect("a span");
        let anchor = at("2026-03-03T00:00:00Z");
        let rule = Rule::every(anchor, day, Zone::utc(), First::AfterInterval).expect("a rule");
        let range = Backfill::new(rule, at("2026-03-02T00:00:00Z"), at("2026-03-05T00:00:00Z"));
        assert_eq!(days(range), ["2026-03-02", "2026-03-03", "2026-03-04"]);
    }

    #[test]
    fn cron_matched_before_it_was_written_and_ends_where_its_rule_does() {
        let (cron, zone) = (Cron::parse("0 9 * * *").expect("cron"), Zone::utc());
        let rule = Rule::cron(cron, zone, at("2026-03-03T00:00:00Z"));
        let range = |rule: &Rule| {
            Backfill::new(rule.clone(), at("2026-03-01T09:00:00Z"), at("2026-03-05T09:00:00Z"))
        };
        assert_eq!(days(range(&rule)), ["2026-03-01", "2026-03-02", "2026-03-03", "2026-03-04"]);
        let ended = rule.ending(at("2026-03-03T09:00:00Z"));
        assert_eq!(days(range(&ended)), ["2026-03-01", "2026-03-02", "2026-03-03"]);
    }

    #[test]
    fn after_the_beginning_it_is_the_rule_itself() {
        let span = Span::parse("PT7H").expect("a span");
        let anchor = at("2026-03-03T00:00:00Z");
        let rule = Rule::every(anchor, span, Zone::utc(), First::AtAnchor).expect("a rule");
        let to = at("2026-04-03T00:00:00Z");
        let itself: Vec<Timestamp> =
            occurrences(&rule, Timestamp::MIN).map(|it| it.at).take_while(|at| *at < to).collect();
        assert_eq!(Backfill::new(rule, anchor, to).collect::<Vec<_>>(), itself);
    }

    #[test]
    fn an_empty_range_has_none() {
        let once = Rule::once(at("2026-03-03T00:00:00Z"));
        let range = |from, to| Backfill::new(once.clone(), at(from), at(to));
        assert_eq!(days(range("2026-03-03T00:00:00Z", "2026-03-03T00:00:00Z")).len(), 0);
        assert_eq!(days(range("2026-03-04T00:00:00Z", "2026-03-01T00:00:00Z")).len(), 0);
        assert_eq!(days(range("2026-03-03T00:00:00Z", "2026-03-04T00:00:00Z")), ["2026-03-03"]);
    }
}
