//! Which civil times match: sets of seconds, minutes, hours, days and months, without any zone.
//!
//! A civil time is a number of seconds since 1970-01-01T00:00:00 on the same local clock. The next
//! match and the number of matches are found by jumping from set bit to set bit and from month to
//! month, never by iterating over seconds or days. The calendar ends one second before the year
//! 10000.

use jiff::ToSpan;
use jiff::civil::Date;

const EPOCH: Date = Date::constant(1970, 1, 1);
const DAY_S: i64 = 86_400;
/// Dates and weekdays repeat after 400 years: what has not matched by then never matches.
const CYCLE_MONTHS: u32 = 400 * 12;
/// 0000-01-01T00:00:00 and 9999-12-31T23:59:59, the bounds of the calendar.
const BOUNDS: (i64, i64) = (-62_167_219_200, 253_402_300_799);

/// The matching civil times: a matching time of day on a matching day.
#[derive(Debug, Clone, Copy)]
pub(super) struct Calendar {
    pub(super) times: Times,
    pub(super) days: Days,
}

/// Times of day, as bit sets.
#[derive(Debug, Clone, Copy)]
pub(super) struct Times {
    pub(super) hours: u64,
    pub(super) minutes: u64,
    pub(super) seconds: u64,
}

/// Days, as bit sets. Bit n stands for day n, month n, or weekday n with Sunday 0.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Days {
    pub(super) months: u64,
    pub(super) of_month: u64,
    /// Bit n: n days before the last day of the month.
    pub(super) before_last: u64,
    /// Whether the day of month is `*` or `?`.
    pub(super) any_of_month: bool,
    pub(super) weekdays: u64,
    /// Entry n-1: weekdays whose n-th day in the month matches.
    pub(super) nth_weekdays: [u64; 5],
    pub(super) last_weekdays: u64,
    /// Whether the day of week is `*` or `?`.
    pub(super) any_weekday: bool,
}

impl Calendar {
    /// The first matching civil time at or after `from`.
    pub(super) fn next_from(&self, from: i64) -> Option<i64> {
        let (date, time) = split(from);
        let day = self.days.next_from(date)?;
        let left = if day == date { self.times.next_from(time) } else { None };
        let (day, time) = match left {
            Some(time) => (day, time),
            None if day > date => (day, self.times.next_from(0)?),
            None => (self.days.next_from(day.tomorrow().ok()?)?, self.times.next_from(0)?),
        };
        Some(join(day, time)).filter(|found| *found < BOUNDS.1)
    }

    /// How many civil times match at or after `from` and before `to`.
    pub(super) fn count(&self, from: i64, to: i64) -> u64 {
        if from >= to {
            return 0;
        }
        let ((first, start), (last, end)) = (split(from), split(to));
        let whole = self.days.count(first, last) * self.times.before(DAY_S);
        let head = if self.days.matches(first) { self.times.before(start) } else { 0 };
        let tail = if self.days.matches(last) { self.times.before(end) } else { 0 };
        (whole + tail).saturating_sub(head)
    }

    /// Whether there is any match.
    pub(super) fn ever_matches(&self) -> bool {
        self.next_from(0).is_some()
    }
}

/// The date and second of the day of a civil time, clamped to the calendar.
fn split(civil: i64) -> (Date, i64) {
    let civil = civil.clamp(BOUNDS.0, BOUNDS.1);
    let days = civil.div_euclid(DAY_S);
    (EPOCH.saturating_add(0.days().try_days(days).unwrap_or_default()), civil.rem_euclid(DAY_S))
}

fn join(date: Date, time: i64) -> i64 {
    date.duration_since(EPOCH).as_secs() + time
}

impl Times {
    /// The first matching second of the day at or after `time`.
    fn next_from(&self, time: i64) -> Option<i64> {
        let (hour, minute, second) = fields(time);
        if has(self.hours, hour) {
            if has(self.minutes, minute)
                && let Some(second) = next_bit(self.seconds, second)
            {
                return Some(seconds(hour, minute, second));
            }
            if let Some(minute) = next_bit(self.minutes, minute + 1) {
                return Some(seconds(hour, minute, next_bit(self.seconds, 0)?));
            }
        }
        let hour = next_bit(self.hours, hour + 1)?;
        Some(seconds(hour, next_bit(self.minutes, 0)?, next_bit(self.seconds, 0)?))
    }

    /// The smallest number of seconds between two matching times, if every day matches.
    pub(super) fn least_gap(&self) -> i64 {
        let (hours, minutes, seconds) =
            (Spread::of(self.hours), Spread::of(self.minutes), Spread::of(self.seconds));
        let in_hour = minutes.width * 60 + seconds.width;
        let in_day = hours.width * 3_600 + in_hour;
        let gaps = [
            seconds.gap,
            minutes.gap.map(|gap| gap * 60 - seconds.width),
            hours.gap.map(|gap| gap * 3_600 - in_hour),
        ];
        gaps.into_iter().flatten().fold(DAY_S - in_day, i64::min)
    }

    /// How many seconds of the day match before `time`; the length of a day counts all of them.
    fn before(&self, time: i64) -> u64 {
        let (hour, minute, second) = fields(time);
        let mut count = below(self.hours, hour) * ones(self.minutes) * ones(self.seconds);
        if has(self.hours, hour) {
            count += below(self.minutes, minute) * ones(self.seconds);
            if has(self.minutes, minute) {
                count += below(self.seconds, second);
            }
        }
        count
    }
}

/// The spread of a set of numbers.
struct Spread {
    /// The distance from the first to the last.
    width: i64,
    /// The smallest distance between two neighbours.
    gap: Option<i64>,
}

impl Spread {
    fn of(set: u64) -> Self {
        let members: Vec<i64> = (0..64).filter(|bit| set >> bit & 1 == 1).collect();
        let width = members.last().zip(members.first()).map_or(0, |(last, first)| last - first);
        let gap = members.windows(2).map(|pair| pair[1] - pair[0]).min();
        Self { width, gap }
    }
}

impl Days {
    /// The first matching day at or after `from`.
    fn next_from(&self, from: Date) -> Option<Date> {
        let mut month = from.first_of_month();
        let mut day = number(from.day());
        for _ in 0..=CYCLE_MONTHS {
            if let Some(day) = next_bit(self.in_month(month), day) {
                return Date::new(month.year(), month.month(), i8::try_from(day).ok()?).ok();
            }
            month = next_month(month)?;
            day = 1;
        }
        None
    }

    /// How many days match at or after `from` and before `to`.
    fn count(&self, from: Date, to: Date) -> u64 {
        let (mut month, last) = (from.first_of_month(), to.first_of_month());
        let mut count = 0;
        while month < last {
            count += ones(self.in_month(month));
            match next_month(month) {
                Some(next) => month = next,
                None => break,
            }
        }
        let head = below(self.in_month(from.first_of_month()), number(from.day()));
        let tail = below(self.in_month(last), number(to.day()));
        (count + tail).saturating_sub(head)
    }

    fn matches(&self, date: Date) -> bool {
        has(self.in_month(date.first_of_month()), number(date.day()))
    }

    /// The matching days of the month that begins on `first`.
    fn in_month(&self, first: Date) -> u64 {
        if !has(self.months, number(first.month())) {
            return 0;
        }
        let length = number(first.days_in_month());
        let all = (2 << length) - 2;
        let by_month = || (self.of_month | self.counted_from_end(length)) & all;
        let by_week = || self.by_weekday(number(first.weekday().to_sunday_zero_offset()), length);
        match (self.any_of_month, self.any_weekday) {
            (true, true) => all,
            (true, false) => by_week(),
            (false, true) => by_month(),
            (false, false) => by_month() | by_week(),
        }
    }

    fn counted_from_end(&self, length: u32) -> u64 {
        let before_last = (0..length).filter(|days| has(self.before_last, *days));
        before_last.map(|days| 1 << (length - days)).sum()
    }

    fn by_weekday(&self, first_weekday: u32, length: u32) -> u64 {
        let mut days = 0;
        for weekday in 0..7 {
            // The first such weekday of the month, and how many more follow.
            let first = 1 + (weekday + 7 - first_weekday) % 7;
            let more = (length - first) / 7;
            for (nth, matching) in (0..=more).zip(self.nth_weekdays) {
                if has(self.weekdays | matching, weekday) {
                    days |= 1 << (first + 7 * nth);
                }
            }
            if has(self.last_weekdays, weekday) {
                days |= 1 << (first + 7 * more);
            }
        }
        days
    }
}

fn next_month(first: Date) -> Option<Date> {
    match (first.year(), first.month()) {
        (year, 12) => Date::new(year + 1, 1, 1).ok(),
        (year, month) => Date::new(year, month + 1, 1).ok(),
    }
}

/// Hour, minute and second of a second of the day. The length of a day gives hour 24.
fn fields(time: i64) -> (u32, u32, u32) {
    let time = u32::try_from(time.clamp(0, DAY_S)).unwrap_or_default();
    (time / 3600, time / 60 % 60, time % 60)
}

fn seconds(hour: u32, minute: u32, second: u32) -> i64 {
    i64::from(hour * 3600 + minute * 60 + second)
}

fn number(small: i8) -> u32 {
    u32::try_from(small).unwrap_or_default()
}

fn has(set: u64, bit: u32) -> bool {
    set >> bit & 1 == 1
}

fn next_bit(set: u64, from: u32) -> Option<u32> {
    let rest = set >> from;
    (rest != 0).then(|| from + rest.trailing_zeros())
}

fn below(set: u64, bit: u32) -> u64 {
    ones(set & ((1 << bit) - 1))
}

fn ones(set: u64) -> u64 {
    u64::from(set.count_ones())
}
