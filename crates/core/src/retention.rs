//! The retention policy: how long ended instances and other finished data are kept.
//!
//! Periods count from the end of an instance, by definition name and outcome. Messages, message ids
//! and stored answers have their own expiry from the beginning, set by [`Limits`](crate::Limits).
//! Nothing here deletes anything; a store applies this policy.

use std::collections::BTreeMap;

use crate::time::{Span, TimeError, Timestamp, Zone};

/// How long something is kept after its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// For this many milliseconds. A fixed length keeps the order: what ended first expires first.
    For(i64),
    /// For ever.
    Forever,
}

/// From this instant a month has 31 days, three have 92 and a year has 366: a period that is parsed
/// from text is never shorter than the calendar would make it.
const LONG_MONTHS: Timestamp = Timestamp::from_millis(1_814_400_000_000);

impl Keep {
    /// A period in milliseconds.
    pub const fn millis(millis: i64) -> Self {
        Self::For(millis)
    }

    /// A period in days of 24 hours.
    pub const fn days(days: i64) -> Self {
        Self::For(days.saturating_mul(86_400_000))
    }

    /// Reads a duration that is not negative, or `forever`. A month counts 31 days, a year 366.
    pub fn parse(text: &str) -> Result<Self, TimeError> {
        if text == "forever" {
            return Ok(Self::Forever);
        }
        let end = Span::parse_delay(text)?.add_to(LONG_MONTHS, &Zone::utc())?;
        Ok(Self::For(end.saturating_since(LONG_MONTHS)))
    }

    /// The instant from which it may be deleted; `None` means never.
    pub fn until(&self, over_at: Timestamp) -> Option<Timestamp> {
        // A sum beyond the range of instants is never reached.
        over_at.checked_add_millis(self.as_millis()?)
    }

    /// The latest end such that it may be deleted now; `None` means never.
    pub fn over_before(&self, now: Timestamp) -> Option<Timestamp> {
        now.checked_add_millis(self.as_millis()?.checked_neg()?)
    }

    /// The length of the period; `None` means for ever.
    pub const fn as_millis(&self) -> Option<i64> {
        match self {
            Self::For(millis) => Some(*millis),
            Self::Forever => None,
        }
    }
}

/// The outcome of an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ending {
    /// It completed.
    Completed,
    /// It failed.
    Failed,
    /// It was cancelled.
    Cancelled,
}

/// Periods of one definition that differ from the general ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Periods {
    /// Of completed instances; `None` means the general period.
    pub completed: Option<Keep>,
    /// Of failed ones.
    pub failed: Option<Keep>,
    /// Of cancelled ones.
    pub cancelled: Option<Keep>,
}

/// How long finished data is kept. The default is 30 days for instances and occurrences, seven for
/// the outcomes of detached tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retention {
    /// Of completed instances.
    pub completed: Keep,
    /// Of failed instances.
    pub failed: Keep,
    /// Of cancelled instances.
    pub cancelled: Keep,
    /// Of definitions with their own periods, by name.
    pub definitions: BTreeMap<String, Periods>,
    /// Outcomes of detached tasks; never kept longer than their instance.
    pub detached_tasks: Keep,
    /// Outcomes of occurrences, from when they were decided.
    pub occurrences: Keep,
}

impl Default for Retention {
    fn default() -> Self {
        let month = Keep::days(30);
        Self {
            completed: month,
            failed: month,
            cancelled: month,
            definitions: BTreeMap::new(),
            detached_tasks: Keep::days(7),
            occurrences: month,
        }
    }
}

impl Retention {
    /// Nothing is ever deleted.
    pub fn forever() -> Self {
        let forever = Keep::Forever;
        Self {
            completed: forever,
            failed: forever,
            cancelled: forever,
            definitions: BTreeMap::new(),
            detached_tasks: forever,
            occurrences: forever,
        }
    }

    /// The same period for every instance.
    pub fn of_all(keep: Keep) -> Self {
        Self { completed: keep, failed: keep, cancelled: keep, ..Self::default() }
    }

    /// The period of an instance.
    pub fn keep(&self, definition: &str, ending: Ending) -> Keep {
        let own = self.definitions.get(definition).copied().unwrap_or_default();
        match ending {
            Ending::Completed => own.completed.unwrap_or(self.completed),
            Ending::Failed => own.failed.unwrap_or(self.failed),
            Ending::Cancelled => own.cancelled.unwrap_or(self.cancelled),
        }
    }

    /// The shortest period of the definition over all outcomes, in milliseconds; `None` means for
    /// ever.
    pub fn shortest_of(&self, definition: &str) -> Option<i64> {
        let endings = [Ending::Completed, Ending::Failed, Ending::Cancelled];
        let periods = endings.into_iter().map(|ending| self.keep(definition, ending));
        periods.filter_map(|keep| keep.as_millis()).min()
    }

    /// The shortest period of any instance, in milliseconds; `None` means for ever.
    pub fn shortest(&self) -> Option<i64> {
        let own = self.definitions.values();
        let own = own.flat_map(|it| [it.completed, it.failed, it.cancelled]).flatten();
        let general = [self.completed, self.failed, self.cancelled];
        own.chain(general).filter_map(|keep| keep.as_millis()).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        Timestamp::parse(text).unwrap()
    }

    #[test]
    fn thirty_days_unless_said_otherwise() {
        let policy = Retention::default();
        for ending in [Ending::Completed, Ending::Failed, Ending::Cancelled] {
            let until = policy.keep("any", ending).until(at("2026-01-01T00:00:00Z"));
            assert_eq!(until, Some(at("2026-01-31T00:00:00Z")));
        }
        assert_eq!(policy.shortest(), Some(30 * 86_400_000));
    }

    #[test]
    fn a_definition_overrides_single_outcomes() {
        let mut policy = Retention::default();
        let own = Periods {
            completed: Some(Keep::parse("PT1H").unwrap()),
            failed: Some(Keep::Forever),
            cancelled: None,
        };
        policy.definitions.insert("order".to_owned(), own);
        assert_eq!(policy.keep("order", Ending::Completed), Keep::parse("PT1H").unwrap());
        assert_eq!(policy.keep("order", Ending::Failed), Keep::Forever);
        assert_eq!(policy.keep("order", Ending::Cancelled), Keep::days(30));
        assert_eq!(policy.keep("other", Ending::Completed), Keep::days(30));
        assert_eq!(policy.shortest(), Some(3_600_000));
        assert_eq!(policy.shortest_of("other"), Some(30 * 86_400_000));
    }

    #[test]
    fn months_and_years_are_never_too_short() {
        for (text, days) in [("P1M", 31), ("P2M", 62), ("P3M", 92), ("P6M", 184), ("P1Y", 366)] {
            assert_eq!(Keep::parse(text), Ok(Keep::days(days)), "{text}");
        }
        assert_eq!(Keep::parse("P30D"), Ok(Keep::days(30)));
        assert_eq!(Keep::parse("forever"), Ok(Keep::Forever));
        assert!(Keep::parse("-P1D").is_err() && Keep::parse("30 days").is_err());
    }

    #[test]
    fn what_may_go_now_is_what_is_over_by_now() {
        let now = at("2026-02-28T12:00:00Z");
        assert_eq!(Keep::millis(0).over_before(now), Some(now));
        let before = Keep::days(7).over_before(now);
        assert_eq!(before, Some(at("2026-02-21T12:00:00Z")));
        assert_eq!(before.and_then(|at| Keep::days(7).until(at)), Some(now));
        assert_eq!((Keep::Forever.over_before(now), Keep::Forever.until(now)), (None, None));
    }

    #[test]
    fn what_is_kept_for_ever_has_no_shortest_period() {
        assert_eq!(Retention::forever().shortest(), None);
        assert_eq!(Retention::forever().shortest_of("any"), None);
    }
}
