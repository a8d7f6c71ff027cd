//! The calendar of `Date`: days and milliseconds since 1970, in UTC.

/// Milliseconds of a day.
pub(super) const DAY: f64 = 86_400_000.0;
/// The largest distance from 1970.
const MAX_TIME: f64 = 8.64e15;

const WEEKDAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// The fields of an instant.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Fields {
    pub(super) year: f64,
    /// From 0.
    pub(super) month: f64,
    pub(super) day: f64,
    pub(super) hour: f64,
    pub(super) minute: f64,
    pub(super) second: f64,
    pub(super) millis: f64,
}

/// Days from 1970 to a date of the Gregorian calendar.
fn days_from_civil(year: f64, month: f64, day: f64) -> f64 {
    let year = if month <= 2.0 { year - 1.0 } else { year };
    let era = (year / 400.0).floor();
    let of_era = year - era * 400.0;
    let shifted = if month > 2.0 { month - 3.0 } else { month + 9.0 };
    let of_year = ((153.0 * shifted + 2.0) / 5.0).floor() + day - 1.0;
    let day_of_era = of_era * 365.0 + (of_era / 4.0).floor() - (of_era / 100.0).floor() + of_year;
    era * 146_097.0 + day_of_era - 719_468.0
}

/// Year, month from 0, and day.
fn civil_from_days(days: f64) -> (f64, f64, f64) {
    let days = days + 719_468.0;
    let era = (days / 146_097.0).floor();
    let day_of_era = days - era * 146_097.0;
    let of_era = ((day_of_era - (day_of_era / 1_460.0).floor() + (day_of_era / 36_524.0).floor()
        - (day_of_era / 146_096.0).floor())
        / 365.0)
        .floor();
    let day_of_year =
        day_of_era - (365.0 * of_era + (of_era / 4.0).floor() - (of_era / 100.0).floor());
    let shifted = ((5.0 * day_of_year + 2.0) / 153.0).floor();
    let day = day_of_year - ((153.0 * shifted + 2.0) / 5.0).floor() + 1.0;
    let month = if shifted < 10.0 { shifted + 2.0 } else { shifted - 10.0 };
    let year = of_era + era * 400.0 + if month <= 1.0 { 1.0 } else { 0.0 };
    (year, month, day)
}

impl Fields {
    /// The fields of a valid time.
    pub(super) fn of(time: f64) -> Self {
        let days = (time / DAY).floor();
        let rest = time - days * DAY;
        let (year, month, day) = civil_from_days(days);
        Self {
            year,
            month,
            day,
            hour: (rest / 3_600_000.0).floor(),
            minute: (rest / 60_000.0).floor() % 60.0,
            second: (rest / 1000.0).floor() % 60.0,
            millis: rest % 1000.0,
        }
    }

    /// The time of the fields, each of which may be out of its range; NaN if one is not finite.
    pub(super) fn time(self) -> f64 {
        let all =
            [self.year, self.month, self.day, self.hour, self.minute, self.second, self.millis];
        if all.iter().any(|it| !it.is_finite()) {
            return f64::NAN;
        }
        let [year, month, day, hour, minute, second, millis] = all.map(f64::trunc);
        let year = year + (month / 12.0).floor();
        if year.abs() > 400_000.0 {
            return f64::NAN;
        }
        let month = month.rem_euclid(12.0);
        let days = days_from_civil(year, month + 1.0, 1.0) + day - 1.0;
        let within = hour * 3_600_000.0 + minute * 60_000.0 + second * 1000.0 + millis;
        clip(days * DAY + within)
    }

    pub(super) fn weekday(time: f64) -> f64 {
        // The sum makes a zero positive.
        ((time / DAY).floor() + 4.0).rem_euclid(7.0) + 0.0
    }

    /// `2026-01-31T12:00:00.000Z`
    pub(super) fn iso(self) -> String {
        let year = if (0.0..=9999.0).contains(&self.year) {
            format!("{:04}", self.year)
        } else {
            let sign = if self.year < 0.0 { '-' } else { '+' };
            format!("{sign}{:06}", self.year.abs())
        };
        format!(
            "{year}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z",
            self.month + 1.0,
            self.day,
            self.hour,
            self.minute,
            self.second,
            self.millis
        )
    }

    fn year_text(self) -> String {
        if self.year < 0.0 { format!("-{:06}", -self.year) } else { format!("{:04}", self.year) }
    }

    /// `Sat Jan 31 2026`
    pub(super) fn date_text(self, time: f64) -> String {
        let (weekday, month) = (name(&WEEKDAYS, Self::weekday(time)), name(&MONTHS, self.month));
        format!("{weekday} {month} {:02} {}", self.day, self.year_text())
    }

    /// `12:00:00 GMT+0000 (Coordinated Universal Time)`
    pub(super) fn time_text(self) -> String {
        let (hour, minute, second) = (self.hour, self.minute, self.second);
        format!("{hour:02}:{minute:02}:{second:02} GMT+0000 (Coordinated Universal Time)")
    }

    /// `Sat, 31 Jan 2026 12:00:00 GMT`
    pub(super) fn utc_text(self, time: f64) -> String {
        let (weekday, month) = (name(&WEEKDAYS, Self::weekday(time)), name(&MONTHS, self.month));
        let (hour, minute, second) = (self.hour, self.minute, self.second);
        let year = self.year_text();
        format!("{weekday}, {:02} {month} {year} {hour:02}:{minute:02}:{second:02} GMT", self.day)
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small index")]
fn name(names: &[&'static str], index: f64) -> &'static str {
    names.get(index as usize).copied().unwrap_or_default()
}

/// A time within the range of `Date`, or NaN.
pub(super) fn clip(time: f64) -> f64 {
    if time.is_finite() && time.abs() <= MAX_TIME { time.trunc() + 0.0 } else { f64::NAN }
}

/// The result of reading a text as a time.
pub(super) enum Parsed {
    Time(f64),
    Invalid,
    /// JavaScript leaves it to the implementation.
    Unknown,
}

/// Reads the format of ECMAScript, and those that `Date` writes itself.
pub(super) fn parse(text: &str) -> Parsed {
    if let Some(time) = parse_iso(text).or_else(|| parse_written(text)) {
        return Parsed::Time(time);
    }
    // Without a digit, no implementation finds a time in it.
    if text.bytes().any(|byte| byte.is_ascii_digit()) && !looks_like_iso(text) {
        Parsed::Unknown
    } else {
        Parsed::Invalid
    }
}

/// Whether a text begins like the format of ECMAScript, so that a wrong field makes it invalid.
fn looks_like_iso(text: &str) -> bool {
    let bytes = text.as_bytes();
    let shape = |at: usize| match at {
        4 | 7 => b'-',
        10 => b'T',
        _ => b'0',
    };
    bytes.len() >= 19
        && bytes.iter().take(11).enumerate().all(|(at, byte)| match shape(at) {
            b'0' => byte.is_ascii_digit(),
            sign => *byte == sign,
        })
}

struct Digits<'t>(&'t str);

impl Digits<'_> {
    fn take(&mut self, sign: &str) -> bool {
        match self.0.strip_prefix(sign) {
            Some(rest) => {
                self.0 = rest;
                true
            }
            None => false,
        }
    }

    fn number(&mut self, digits: usize) -> Option<f64> {
        let text =
            self.0.get(..digits).filter(|it| it.bytes().all(|byte| byte.is_ascii_digit()))?;
        self.0 = self.0.get(digits..)?;
        text.parse().ok()
    }
}

fn parse_iso(text: &str) -> Option<f64> {
    let mut rest = Digits(text);
    let year = if rest.take("+") {
        rest.number(6)?
    } else if rest.take("-") {
        Some(-rest.number(6)?).filter(|it| *it != 0.0)?
    } else {
        rest.number(4)?
    };
    let mut fields =
        Fields { year, month: 0.0, day: 1.0, hour: 0.0, minute: 0.0, second: 0.0, millis: 0.0 };
    let in_range = |value: f64, from: f64, to: f64| (from..=to).contains(&value).then_some(value);
    if rest.take("-") {
        fields.month = in_range(rest.number(2)?, 1.0, 12.0)? - 1.0;
        if rest.take("-") {
            fields.day = in_range(rest.number(2)?, 1.0, 31.0)?;
        }
    }
    let mut offset = 0.0;
    if rest.take("T") {
        fields.hour = in_range(rest.number(2)?, 0.0, 24.0)?;
        rest.take(":").then_some(())?;
        fields.minute = in_range(rest.number(2)?, 0.0, 59.0)?;
        if rest.take(":") {
            fields.second = in_range(rest.number(2)?, 0.0, 59.0)?;
            if rest.take(".") {
                let count = rest.0.bytes().take_while(u8::is_ascii_digit).count();
                let digits = rest.0.get(..count).filter(|it| !it.is_empty())?;
                let three = format!("{digits:0<3}");
                fields.millis = three.get(..3)?.parse().ok()?;
                rest.0 = rest.0.get(count..)?;
            }
        }
        let whole = fields.minute == 0.0 && fields.second == 0.0 && fields.millis == 0.0;
        if fields.hour > 23.0 && !whole {
            return None;
        }
        if !rest.take("Z") && !rest.0.is_empty() {
            let sign = if rest.take("+") { 1.0 } else { rest.take("-").then_some(-1.0)? };
            let hours = in_range(rest.number(2)?, 0.0, 23.0)?;
            rest.take(":").then_some(())?;
            let minutes = in_range(rest.number(2)?, 0.0, 59.0)?;
            offset = sign * (hours * 3_600_000.0 + minutes * 60_000.0);
        }
    }
    // A day that the month does not have is read by other rules.
    let time = fields.time();
    let same_day = is_day(time, fields.day) || fields.hour > 23.0;
    (rest.0.is_empty() && same_day).then(|| clip(time - offset))
}

/// `Sat, 31 Jan 2026 12:00:00 GMT` and `Sat Jan 31 2026 12:00:00 GMT+0000 (…)`
fn parse_written(text: &str) -> Option<f64> {
    let text = text.split(" (").next()?;
    let mut words = text.split(' ');
    let first = words.next()?;
    WEEKDAYS.contains(&first.trim_end_matches(',')).then_some(())?;
    let (one, other) = (words.next()?, words.next()?);
    let (day, month) = if first.ends_with(',') { (one, other) } else { (other, one) };
    let month = MONTHS.iter().position(|known| *known == month)?;
    let (year, time, zone) = (words.next()?, words.next(), words.next());
    if words.next().is_some() || !matches!(zone, None | Some("GMT" | "GMT+0000")) {
        return None;
    }
    let number = |text: &str, digits: usize| {
        let fits = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse::<f64>().ok().filter(|_| fits)
    };
    let mut clock = time.unwrap_or("00:00:00").split(':');
    let (hour, minute, second) = (clock.next()?, clock.next()?, clock.next()?);
    let fields = Fields {
        year: number(year, 4)?,
        month: u8::try_from(month).ok().map(f64::from)?,
        day: number(day, 2)?,
        hour: number(hour, 2).filter(|it| *it < 24.0)?,
        minute: number(minute, 2).filter(|it| *it < 60.0)?,
        second: number(second, 2).filter(|it| *it < 60.0)?,
        millis: 0.0,
    };
    let time = fields.time();
    (is_day(time, fields.day) && clock.next().is_none()).then_some(time)
}

/// Whether a time is on this day of its month.
#[expect(clippy::float_cmp, reason = "days are whole numbers")]
fn is_day(time: f64, day: f64) -> bool {
    Fields::of(time).day == day
}
