//! An IANA time zone, from the database compiled into the program.
//!
//! The zone files of the host are never read: two nodes with different systems must compute the
//! same instants. Inside the module a zone provides three functions (the offset at an instant, the
//! instants of a civil time, and the next change of the offset), and all other calendar arithmetic
//! is built on them.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;
use std::sync::LazyLock;

use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone, TimeZoneDatabase};

use super::{TimeError, Timestamp};

static DATABASE: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);

/// An IANA time zone. Cheap to clone; compared, ordered and printed by its name.
#[derive(Clone)]
pub struct Zone(TimeZone);

impl Zone {
    /// Coordinated Universal Time, the default zone (T3).
    pub const UTC: Self = Self(TimeZone::UTC);

    /// Coordinated Universal Time.
    pub const fn utc() -> Self {
        Self::UTC
    }

    /// The zone's IANA name, in the spelling of the zone database. Aliases keep their own name.
    pub fn name(&self) -> &str {
        self.0.iana_name().unwrap_or("UTC")
    }

    /// Finds a zone by its IANA name, in any letter case.
    pub fn parse(name: &str) -> Result<Self, TimeError> {
        // `Etc/Unknown` is in the database as a marker for "no zone known", which is not a zone.
        match DATABASE.get(name) {
            Ok(zone) if !zone.is_unknown() && zone.iana_name().is_some() => Ok(Self(zone)),
            _ => Err(TimeError::UnknownZone { name: name.to_owned(), meant: likely(name) }),
        }
    }

    /// Seconds that local clocks are ahead of UTC at an instant.
    pub(super) fn offset_at(&self, at: Timestamp) -> i32 {
        self.0.to_offset(to_jiff(at)).seconds()
    }

    /// The local civil time at an instant.
    pub(super) fn civil(&self, at: Timestamp) -> Option<DateTime> {
        at.civil(self.offset_at(at))
    }

    /// How a civil time maps to instants: once, twice or never.
    pub(super) fn resolve(&self, civil: DateTime) -> Resolved {
        match self.0.to_ambiguous_timestamp(civil).offset() {
            AmbiguousOffset::Unambiguous { offset } => Resolved::Once(offset.seconds()),
            AmbiguousOffset::Fold { before, after } => {
                Resolved::Twice { first: before.seconds(), second: after.seconds() }
            }
            AmbiguousOffset::Gap { before, after } => {
                Resolved::Never { before: before.seconds(), after: after.seconds() }
            }
        }
    }

    /// The first change of the offset strictly after an instant, with the new offset. Changes of
    /// only the name or the daylight flag are skipped.
    pub(super) fn next_change(&self, after: Timestamp) -> Option<(Timestamp, i32)> {
        let held = self.offset_at(after);
        self.0
            .following(to_jiff(after))
            .map(|change| (from_jiff(change.timestamp()), change.offset().seconds()))
            .find(|(at, offset)| *offset != held && *at > after)
    }
}

/// The offsets, in seconds ahead of UTC, under which a civil time exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Resolved {
    /// An ordinary time.
    Once(i32),
    /// Clocks were set back: it occurs twice.
    Twice { first: i32, second: i32 },
    /// Clocks were set forward over it.
    Never { before: i32, after: i32 },
}

fn to_jiff(at: Timestamp) -> jiff::Timestamp {
    // The last instant of jiff is slightly earlier than ours; no zone has a change planned in
    // between, so the nearest instant has the same offset.
    let bound = jiff::Timestamp::MAX.as_millisecond();
    jiff::Timestamp::from_millisecond(at.as_millis().min(bound)).unwrap_or(jiff::Timestamp::MAX)
}

fn from_jiff(at: jiff::Timestamp) -> Timestamp {
    Timestamp::from_millis(at.as_millisecond())
}

/// The zone that a mistyped name probably meant: the same city in another region, or the closest
/// spelling.
fn likely(name: &str) -> Option<String> {
    if name.is_empty() || name.len() > 40 {
        return None;
    }
    let wanted = name.to_ascii_lowercase().replace(' ', "_");
    let city = |zone: &str| zone.rsplit('/').next().unwrap_or_default().to_owned();
    let mut best: Option<(usize, String)> = None;
    for zone in DATABASE.available() {
        let known = zone.as_str().to_ascii_lowercase();
        let distance = if city(&known) == city(&wanted) { 1 } else { edits(&wanted, &known) };
        if best.as_ref().is_none_or(|(least, _)| distance < *least) {
            best = Some((distance, zone.as_str().to_owned()));
        }
    }
    best.filter(|(distance, _)| *distance <= 3.min(wanted.len() / 3)).map(|(_, zone)| zone)
}

/// The edit distance between two names.
fn edits(from: &str, to: &str) -> usize {
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.bytes().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        for (cell, b) in row.iter_mut().skip(1).zip(to.bytes()) {
            let replaced = diagonal + usize::from(a != b);
            diagonal = *cell;
            left = replaced.min(diagonal + 1).min(left + 1);
            *cell = left;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or_default()
}

impl FromStr for Zone {
    type Err = TimeError;

    fn from_str(name: &str) -> Result<Self, TimeError> {
        Self::parse(name)
    }
}

impl Default for Zone {
    fn default() -> Self {
        Self::UTC
    }
}

impl PartialEq for Zone {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for Zone {}

impl PartialOrd for Zone {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Zone {
    fn cmp(&self, other: &Self) -> Ordering {
        self.name().cmp(other.name())
    }
}

impl Hash for Zone {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name().hash(state);
    }
}

impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Debug for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
