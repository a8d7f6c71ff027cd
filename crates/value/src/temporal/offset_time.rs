//! A time of day with an offset from UTC.

use jiff::civil;
use jiff::tz::Offset;

/// A time of day with an offset; two are equal only if both parts are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OffsetTime {
    /// The time of day.
    pub time: civil::Time,
    /// The offset.
    pub offset: Offset,
}

impl OffsetTime {
    /// Nanoseconds since midnight in UTC, which orders times.
    pub fn instant(self) -> i64 {
        nanoseconds(self.time) - i64::from(self.offset.seconds()) * 1_000_000_000
    }
}

/// Nanoseconds since midnight.
pub fn nanoseconds(time: civil::Time) -> i64 {
    let seconds =
        i64::from(time.hour()) * 3600 + i64::from(time.minute()) * 60 + i64::from(time.second());
    seconds * 1_000_000_000 + i64::from(time.subsec_nanosecond())
}
