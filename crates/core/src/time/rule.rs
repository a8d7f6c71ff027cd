//! Recurrence rules: one instant, a grid of intervals, or cron.
//!
//! A [`Rule`] is everything that [`occurrences`](super::occurrences) needs: it is complete, holds
//! no position, and is stored as it is. Its CBOR form is positional; numbers may be added, never
//! reused.

use minicbor::{Decode, Encode};
use serde::{Deserialize, Serialize};

use super::{Cron, Span, TimeError, Timestamp, Zone};

/// A recurrence: the series of instants at which something is due.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Encode, Decode)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Rule {
    /// One instant.
    #[n(0)]
    Once {
        /// The instant.
        #[n(0)]
        at: Timestamp,
    },
    /// Occurrence n is `anchor + n · interval`, always computed from the anchor (S1).
    #[n(1)]
    Every {
        /// The beginning of the grid.
        #[n(0)]
        anchor: Timestamp,
        /// The step of the grid. Zero or negative gives no occurrences; [`Rule::every`] refuses it.
        #[n(1)]
        interval: Span,
        /// The zone in which calendar parts of the interval are added.
        #[n(2)]
        zone: Zone,
        /// Whether the anchor itself is an occurrence.
        #[n(3)]
        first: First,
        /// How many occurrences there are; `None` is without end.
        #[n(4)]
        #[serde(default, skip_serializing_if = "Option::is_none")]
        count: Option<u64>,
        /// The last instant at which there may be one.
        #[n(5)]
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<Timestamp>,
    },
    /// Every local time that matches a cron expression (S13).
    #[n(2)]
    Cron {
        /// The expression.
        #[n(0)]
        cron: Cron,
        /// The zone of the local times.
        #[n(1)]
        zone: Zone,
        /// Occurrences lie strictly after this instant and are numbered from it.
        #[n(2)]
        from: Timestamp,
        /// How many occurrences there are; `None` is without end.
        #[n(3)]
        #[serde(default, skip_serializing_if = "Option::is_none")]
        count: Option<u64>,
        /// The last instant at which there may be one.
        #[n(4)]
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<Timestamp>,
    },
}

/// Where a grid of intervals fires first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Encode, Decode)]
#[serde(rename_all = "snake_case")]
#[cbor(index_only)]
pub enum First {
    /// At the anchor itself: a schedule with a start (S8), a cycle with a start (B2).
    #[n(0)]
    AtAnchor,
    /// One interval later: a cycle without a start (B2).
    #[n(1)]
    AfterInterval,
}

impl Rule {
    /// One instant.
    pub const fn once(at: Timestamp) -> Self {
        Self::Once { at }
    }

    /// A grid without end. Refuses an interval that is zero or negative (S11).
    pub fn every(
        anchor: Timestamp,
        interval: Span,
        zone: Zone,
        first: First,
    ) -> Result<Self, TimeError> {
        if interval.is_zero() || interval.is_negative() {
            return Err(TimeError::InvalidInterval { text: interval.to_string() });
        }
        Ok(Self::Every { anchor, interval, zone, first, count: None, until: None })
    }

    /// Cron without end, strictly after `from`.
    pub const fn cron(cron: Cron, zone: Zone, from: Timestamp) -> Self {
        Self::Cron { cron, zone, from, count: None, until: None }
    }

    /// The rule with at most `limit` occurrences. One instant stays one instant.
    #[must_use]
    pub fn limited(mut self, limit: u64) -> Self {
        if let Self::Every { count, .. } | Self::Cron { count, .. } = &mut self {
            *count = Some(limit);
        }
        self
    }

    /// The rule without occurrences after `end`. One instant stays one instant.
    #[must_use]
    pub fn ending(mut self, end: Timestamp) -> Self {
        if let Self::Every { until, .. } | Self::Cron { until, .. } = &mut self {
            *until = Some(end);
        }
        self
    }

    /// Its beginning: its one instant, its anchor, or the first instant that cron examines.
    pub const fn begins(&self) -> Timestamp {
        match self {
            Self::Once { at } => *at,
            Self::Every { anchor, .. } => *anchor,
            Self::Cron { from, .. } => from.saturating_add_millis(1),
        }
    }

    /// The zone of its local times.
    pub fn zone(&self) -> Zone {
        match self {
            Self::Once { .. } => Zone::utc(),
            Self::Every { zone, .. } | Self::Cron { zone, .. } => zone.clone(),
        }
    }

    /// Why it is more frequent than a limit allows, as text (S11); zero and negative intervals are
    /// included.
    pub fn too_frequent(&self, least_ms: i64) -> Option<String> {
        let least = Span::from_millis(least_ms);
        match self {
            Self::Once { .. } => None,
            Self::Every { interval, .. } => {
                let is_short = interval.approx_millis() < least_ms;
                (interval.is_zero() || interval.is_negative() || is_short).then(|| {
                    format!("the interval {interval} is shorter than the shortest allowed, {least}")
                })
            }
            Self::Cron { cron, .. } => {
                let gap = cron.least_gap_ms();
                (gap < least_ms).then(|| {
                    let gap = Span::from_millis(gap);
                    format!("cron `{cron}` fires every {gap}, the shortest allowed is {least}")
                })
            }
        }
    }

    /// The rule with the beginning of another one, if they do not differ otherwise.
    #[must_use]
    pub fn begun_as(self, other: &Self) -> Self {
        let mut moved = self.clone();
        match (&mut moved, other) {
            (Self::Every { anchor, .. }, Self::Every { anchor: begun, .. }) => *anchor = *begun,
            (Self::Cron { from, .. }, Self::Cron { from: begun, .. }) => *from = *begun,
            _ => {}
        }
        if moved == *other { moved } else { self }
    }
}
