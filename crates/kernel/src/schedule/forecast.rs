//! Everything that will fire in a window, computed by the same functions that fire it (O3).
//!
//! The result is a page: the earliest entries after a cursor, however many schedules and timers
//! there are. Counts are exact and need memory for the counts only.

use std::collections::BTreeMap;

use meantime_core::{DefinitionId, InstanceId, TimerId, Timestamp};

use super::outlook::Outlook;
use crate::store::{TimerKind, TimerRow};

/// An entry of a forecast. Its order is that of the forecast, and it serves as a cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct DueKey {
    /// When it is due.
    pub at: Timestamp,
    /// What is due.
    pub of: DueOf,
}

/// What is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DueOf {
    /// A timer, a deadline or a task's deadline.
    Timer(TimerId),
    /// An occurrence of a schedule.
    Occurrence(InstanceId, Timestamp),
}

/// Details of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Due {
    /// Of a timer.
    Timer {
        /// Its kind.
        kind: TimerKind,
        /// Its definition.
        definition: DefinitionId,
        /// The element.
        element: String,
    },
    /// Of an occurrence.
    Occurrence {
        /// The definition that it starts.
        definition: String,
    },
}

/// A page of a forecast: the earliest entries of a window, after a cursor.
#[derive(Debug)]
pub struct Forecast {
    from: Timestamp,
    to: Timestamp,
    after: Option<DueKey>,
    /// One more than the size of the page, to know whether there are more.
    limit: usize,
    earliest: BTreeMap<DueKey, Due>,
}

impl Forecast {
    /// An empty page of at most `limit` entries.
    pub fn new(from: Timestamp, to: Timestamp, after: Option<DueKey>, limit: usize) -> Self {
        let (limit, earliest) = (limit.saturating_add(1), BTreeMap::new());
        Self { from, to, after, limit, earliest }
    }

    /// Adds an armed timer. Timers of schedules are left out: their outlook covers them.
    pub fn add_timer(&mut self, row: &TimerRow) {
        let key = DueKey { at: row.due_at, of: DueOf::Timer(row.id) };
        if row.frozen || row.due_at < self.from || row.due_at >= self.to || !self.wants(key) {
            return;
        }
        let (kind, definition, element) = (row.kind, row.definition, row.element.clone());
        self.put(key, Due::Timer { kind, definition, element });
    }

    /// Adds the future runs of a schedule, with the name of the definition that it starts.
    pub fn add_schedule(&mut self, schedule: InstanceId, outlook: &Outlook<'_>, definition: &str) {
        let from = self.after.map_or(self.from, |after| after.at.max(self.from));
        for fire in outlook.fires(from, self.to) {
            let key = DueKey { at: fire.at, of: DueOf::Occurrence(schedule, fire.scheduled_at) };
            if self.wants(key) {
                self.put(key, Due::Occurrence { definition: definition.to_owned() });
            } else if self.after.is_none_or(|after| key > after) {
                break;
            }
        }
    }

    /// The entries in order, and whether there are more.
    pub fn finish(mut self) -> (Vec<(DueKey, Due)>, bool) {
        let is_more = self.earliest.len() == self.limit;
        if is_more {
            self.earliest.pop_last();
        }
        (self.earliest.into_iter().collect(), is_more)
    }

    fn wants(&self, key: DueKey) -> bool {
        let last = self.earliest.last_key_value().filter(|_| self.earliest.len() == self.limit);
        self.after.is_none_or(|after| key > after) && last.is_none_or(|(last, _)| key < *last)
    }

    fn put(&mut self, key: DueKey, due: Due) {
        self.earliest.insert(key, due);
        if self.earliest.len() > self.limit {
            self.earliest.pop_last();
        }
    }
}

/// How much will be due in each part of a window.
#[derive(Debug)]
pub struct Buckets {
    from: Timestamp,
    to: Timestamp,
    bucket_ms: i64,
    counts: Vec<u64>,
}

impl Buckets {
    /// How many parts a window has; 0 if it is empty.
    pub fn parts(from: Timestamp, to: Timestamp, bucket_ms: i64) -> u64 {
        let window = u64::try_from(to.saturating_since(from)).unwrap_or(0);
        window.div_ceil(u64::try_from(bucket_ms.max(1)).unwrap_or(1))
    }

    /// Parts of a window, all of them empty.
    pub fn new(from: Timestamp, to: Timestamp, bucket_ms: i64) -> Self {
        let bucket_ms = bucket_ms.max(1);
        let parts = usize::try_from(Self::parts(from, to, bucket_ms)).unwrap_or(usize::MAX);
        Self { from, to, bucket_ms, counts: vec![0; parts] }
    }

    /// Adds a count to a part.
    pub fn add(&mut self, part: usize, count: u64) {
        if let Some(it) = self.counts.get_mut(part) {
            *it = it.saturating_add(count);
        }
    }

    /// Adds the future runs of a schedule: occurrence by occurrence, or part by part if there are
    /// many.
    pub fn add_schedule(&mut self, outlook: &Outlook<'_>) {
        let parts = u64::try_from(self.counts.len()).unwrap_or(u64::MAX);
        if outlook.count(self.from, self.to) <= parts {
            for fire in outlook.fires(self.from, self.to) {
                let part = fire.at.saturating_since(self.from) / self.bucket_ms;
                self.add(usize::try_from(part).unwrap_or(usize::MAX), 1);
            }
            return;
        }
        for part in 0..self.counts.len() {
            let begin = self.begin(part);
            let end = begin.saturating_add_millis(self.bucket_ms).min(self.to);
            self.add(part, outlook.count(begin, end));
        }
    }

    /// The beginning of each part and its count. Empty parts are included, so that a chart has no
    /// gaps.
    pub fn finish(self) -> Vec<(Timestamp, u64)> {
        let begin = |part| self.begin(part);
        self.counts.iter().enumerate().map(|(part, count)| (begin(part), *count)).collect()
    }

    fn begin(&self, part: usize) -> Timestamp {
        let part = i64::try_from(part).unwrap_or(i64::MAX);
        self.from.saturating_add_millis(self.bucket_ms.saturating_mul(part))
    }
}
