//! ISO 8601 text of dates, times, offsets and zones, as `java.time` reads and writes it.

use jiff::Zoned;
use jiff::civil::{Date, DateTime, Time};
use jiff::tz::{AmbiguousOffset, Offset, TimeZone};

use super::OffsetTime;

/// Parses from the front of a text.
struct Reader<'a> {
    rest: &'a str,
}

impl<'a> Reader<'a> {
    fn new(text: &'a str) -> Self {
        Self { rest: text }
    }

    fn take(&mut self, expected: char) -> Option<()> {
        self.rest = self.rest.strip_prefix(expected)?;
        Some(())
    }

    /// Exactly this many digits.
    fn number(&mut self, digits: usize) -> Option<i16> {
        let text = self.rest.get(..digits)?;
        if !text.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        self.rest = &self.rest[digits..];
        text.parse().ok()
    }

    fn small(&mut self) -> Option<i8> {
        i8::try_from(self.number(2)?).ok()
    }

    fn date(&mut self) -> Option<Date> {
        let negative = self.take('-').is_some();
        let year = self.number(4)?;
        self.take('-')?;
        let month = self.small()?;
        self.take('-')?;
        let day = self.small()?;
        Date::new(if negative { -year } else { year }, month, day).ok()
    }

    /// `10:15`, `10:15:30`, `10:15:30.5`.
    fn time(&mut self) -> Option<Time> {
        let hour = self.small()?;
        self.take(':')?;
        let minute = self.small()?;
        if self.take(':').is_none() {
            return Time::new(hour, minute, 0, 0).ok();
        }
        let second = self.small()?;
        let mut nanos = 0;
        if self.take('.').is_some() {
            let digits = self.rest.bytes().take_while(u8::is_ascii_digit).count();
            let text = self.rest.get(..digits).filter(|_| (1..=9).contains(&digits))?;
            nanos = format!("{text:0<9}").parse().ok()?;
            self.rest = &self.rest[digits..];
        }
        Time::new(hour, minute, second, nanos).ok()
    }

    /// `Z`, `+01:00`, `-03:00:30`.
    fn offset(&mut self) -> Option<Offset> {
        if self.take('Z').is_some() || self.take('z').is_some() {
            return Some(Offset::UTC);
        }
        let sign = if self.take('-').is_some() {
            -1
        } else {
            self.take('+')?;
            1
        };
        let mut seconds = i32::from(self.number(2)?) * 3600;
        self.take(':')?;
        seconds += i32::from(self.number(2)?) * 60;
        if self.take(':').is_some() {
            seconds += i32::from(self.number(2)?);
        }
        (seconds <= 18 * 3600).then(|| Offset::from_seconds(sign * seconds).ok())?
    }

    fn region(&mut self) -> Option<TimeZone> {
        self.take('[')?;
        let end = self.rest.find(']')?;
        let zone = parse_time_zone(&self.rest[..end])?;
        self.rest = &self.rest[end + 1..];
        Some(zone)
    }

    fn end<T>(&self, value: T) -> Option<T> {
        self.rest.is_empty().then_some(value)
    }
}

/// `2024-01-31`; a time and zone after it are allowed and dropped.
pub fn parse_date(text: &str) -> Option<Date> {
    let mut reader = Reader::new(text);
    let date = reader.date()?;
    if reader.rest.is_empty() {
        return Some(date);
    }
    parse_local_date_time(text).map(DateTime::date)
}

/// `10:15`, `10:15:30.5`; a date before it is allowed and dropped.
pub fn parse_local_time(text: &str) -> Option<Time> {
    let mut reader = Reader::new(text);
    match reader.time() {
        Some(time) => {
            if !reader.rest.is_empty() {
                reader.offset()?;
            }
            reader.end(time)
        }
        None => parse_local_date_time(text).map(DateTime::time),
    }
}

/// `10:15:30+01:00`; a date before it is allowed and dropped.
pub fn parse_time(text: &str) -> Option<OffsetTime> {
    let mut reader = Reader::new(text);
    if let Some(time) = reader.time() {
        let offset = reader.offset()?;
        return reader.end(OffsetTime { time, offset });
    }
    let zoned = parse_date_time(text)?;
    Some(OffsetTime { time: zoned.time(), offset: zoned.offset() })
}

/// `2024-01-31T10:15:30`; an offset after it is allowed and dropped.
pub fn parse_local_date_time(text: &str) -> Option<DateTime> {
    let mut reader = Reader::new(text);
    let local = local_date_time(&mut reader)?;
    if !reader.rest.is_empty() {
        reader.offset()?;
        if !reader.rest.is_empty() {
            reader.region()?;
        }
    }
    reader.end(local)
}

fn local_date_time(reader: &mut Reader<'_>) -> Option<DateTime> {
    let date = reader.date()?;
    reader.take('T').or_else(|| reader.take('t'))?;
    Some(date.to_datetime(reader.time()?))
}

/// `2024-01-31T10:15:30+01:00`, with or without a zone in brackets; without an offset it is UTC.
pub fn parse_date_time(text: &str) -> Option<Zoned> {
    let mut reader = Reader::new(text);
    let local = local_date_time(&mut reader)?;
    if reader.rest.is_empty() {
        return at_zone(local, &TimeZone::UTC);
    }
    let offset = reader.offset()?;
    if reader.rest.is_empty() {
        return at_zone(local, &TimeZone::fixed(offset));
    }
    let zone = reader.region()?;
    let timestamp = offset.to_timestamp(local).ok()?;
    reader.end(timestamp.to_zoned(zone))
}

/// A date and time in a zone. In a gap the time moves forward by its length, in an overlap the
/// earlier offset applies.
pub fn at_zone(local: DateTime, zone: &TimeZone) -> Option<Zoned> {
    let offset = match zone.to_ambiguous_timestamp(local).offset() {
        AmbiguousOffset::Unambiguous { offset } => offset,
        AmbiguousOffset::Gap { before, .. } | AmbiguousOffset::Fold { before, .. } => before,
    };
    Some(offset.to_timestamp(local).ok()?.to_zoned(zone.clone()))
}

/// An offset or the name of a region.
pub fn parse_time_zone(text: &str) -> Option<TimeZone> {
    let mut reader = Reader::new(text);
    if let Some(offset) = reader.offset() {
        return reader.end(TimeZone::fixed(offset));
    }
    if text == "UTC" || text == "GMT" || text == "UT" {
        return TimeZone::get(text).ok();
    }
    TimeZone::get(text).ok()
}

/// `Z`, `+01:00`.
pub fn format_offset(offset: Offset) -> String {
    let seconds = offset.seconds();
    if seconds == 0 {
        return "Z".to_owned();
    }
    let sign = if seconds < 0 { '-' } else { '+' };
    let (hours, minutes) = (seconds.abs() / 3600, seconds.abs() % 3600 / 60);
    match seconds.abs() % 60 {
        0 => format!("{sign}{hours:02}:{minutes:02}"),
        rest => format!("{sign}{hours:02}:{minutes:02}:{rest:02}"),
    }
}

/// `10:15:30`, with as many digits of a second as there are.
pub fn format_time(time: Time) -> String {
    let (hour, minute, second) = (time.hour(), time.minute(), time.second());
    let nanos = time.subsec_nanosecond();
    if nanos == 0 {
        return format!("{hour:02}:{minute:02}:{second:02}");
    }
    let digits = format!("{nanos:09}");
    format!("{hour:02}:{minute:02}:{second:02}.{}", digits.trim_end_matches('0'))
}

/// `2024-01-31T10:15:30`.
pub fn format_local_date_time(value: DateTime) -> String {
    format!("{}T{}", value.date(), format_time(value.time()))
}

/// `2024-01-31T10:15:30+01:00`, without the name of the zone.
pub fn format_date_time(zoned: &Zoned) -> String {
    format!("{}{}", format_local_date_time(zoned.datetime()), format_offset(zoned.offset()))
}

/// The name of a region, or an offset.
pub fn format_time_zone(zone: &TimeZone) -> String {
    if let Some(name) = zone.iana_name().filter(|name| *name != "UTC") {
        return name.to_owned();
    }
    match zone.to_fixed_offset() {
        Ok(offset) => format_offset(offset),
        Err(_) => zone.iana_name().unwrap_or("Z").to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn date_times_round_trip() {
        for (text, written) in [
            ("2024-01-31T10:00Z", "2024-01-31T10:00:00Z"),
            ("2024-01-31T10:00:00.120+05:30", "2024-01-31T10:00:00.12+05:30"),
            ("2024-01-31T10:00:00", "2024-01-31T10:00:00Z"),
            ("2024-01-31T10:00:00-05:00[America/New_York]", "2024-01-31T10:00:00-05:00"),
        ] {
            assert_eq!(format_date_time(&parse_date_time(text).unwrap()), written);
        }
        for text in ["2024-1-5T10:00Z", "2024-02-30T10:00Z", "2024-01-31T10:00[Europe/Paris]", "x"]
        {
            assert!(parse_date_time(text).is_none(), "{text}");
        }
    }

    #[test]
    fn parts_that_are_not_asked_for_are_dropped() {
        assert_eq!(parse_date("2024-01-31T10:00:00Z").unwrap().to_string(), "2024-01-31");
        assert_eq!(format_time(parse_local_time("2024-01-31T10:00:00.5Z").unwrap()), "10:00:00.5");
        assert!(parse_time("10:00").is_none());
    }

    #[test]
    fn zones_by_name_and_offset() {
        assert_eq!(format_time_zone(&parse_time_zone("-03:00").unwrap()), "-03:00");
        assert_eq!(
            format_time_zone(&parse_time_zone("America/New_York").unwrap()),
            "America/New_York"
        );
        assert_eq!(format_time_zone(&parse_time_zone("Z").unwrap()), "Z");
        assert!(parse_time_zone("xx/yy").is_none());
    }
}
