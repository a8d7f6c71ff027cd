//! Parses a cron expression into bit sets.
//!
//! Letters may be in either case. Offsets of problems count bytes from the start of the text.

use super::calendar::{Calendar, Days, Times};
use crate::time::error::Problem;

const FORM: &str = "write five fields: minute, hour, day of month, month, day of week";
const MONTHS: [&str; 12] =
    ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
const WEEKDAYS: [&str; 7] = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

const SECOND: Field = Field { what: "second", min: 0, max: 59, names: &[] };
const MINUTE: Field = Field { what: "minute", min: 0, max: 59, names: &[] };
const HOUR: Field = Field { what: "hour", min: 0, max: 23, names: &[] };
const DAY: Field = Field { what: "day of month", min: 1, max: 31, names: &[] };
const MONTH: Field = Field { what: "month", min: 1, max: 12, names: &MONTHS };
const WEEKDAY: Field = Field { what: "day of week", min: 0, max: 6, names: &WEEKDAYS };

/// Parses an expression: the matching times, and whether it follows elapsed time.
pub(super) fn expression(text: &str) -> Result<(Calendar, bool), Problem> {
    let trimmed = text.trim_ascii();
    if trimmed.starts_with('@') {
        let start = text.len() - text.trim_ascii_start().len();
        return expression(expand(trimmed).ok_or_else(|| {
            let hint =
                "known are @yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly";
            Problem::new(start, "unknown macro", hint)
        })?);
    }
    let pieces = pieces(text);
    let (seconds, fields) = match pieces.as_slice() {
        [second, rest @ ..] if rest.len() == 5 => (SECOND.set(second)?, rest),
        rest => (1, rest),
    };
    let [minute, hour, day, month, weekday] = fields else {
        let reason = format!("expected 5 or 6 fields, found {}", pieces.len());
        let at = pieces.get(6).map_or(text.len(), |piece| piece.at);
        return Err(Problem::new(at, reason, FORM));
    };
    let times = Times { seconds, minutes: MINUTE.set(minute)?, hours: HOUR.set(hour)? };
    let mut days = Days {
        any_of_month: day.is_any(),
        any_weekday: weekday.is_any(),
        months: MONTH.set(month)?,
        ..Days::default()
    };
    for item in day.items() {
        day_of_month(&item, &mut days)?;
    }
    for item in weekday.items() {
        day_of_week(&item, &mut days)?;
    }
    Ok((Calendar { times, days }, hour.text.contains(['*', '?', '/'])))
}

fn expand(name: &str) -> Option<&'static str> {
    Some(match name.to_ascii_lowercase().as_str() {
        "@yearly" | "@annually" => "0 0 1 1 *",
        "@monthly" => "0 0 1 * *",
        "@weekly" => "0 0 * * 0",
        "@daily" | "@midnight" => "0 0 * * *",
        "@hourly" => "0 * * * *",
        _ => return None,
    })
}

/// A piece of the text, in upper case, and its offset.
struct Piece {
    text: String,
    at: usize,
}

fn pieces(text: &str) -> Vec<Piece> {
    let mut found: Vec<Piece> = Vec::new();
    let mut inside = false;
    for (at, letter) in text.char_indices() {
        if letter.is_ascii_whitespace() {
            inside = false;
            continue;
        }
        if !inside {
            found.push(Piece { text: String::new(), at });
            inside = true;
        }
        if let Some(piece) = found.last_mut() {
            piece.text.push(letter.to_ascii_uppercase());
        }
    }
    found
}

impl Piece {
    fn is_any(&self) -> bool {
        self.text == "*" || self.text == "?"
    }

    /// The members of a list.
    fn items(&self) -> impl Iterator<Item = Piece> {
        let mut at = self.at;
        self.text.split(',').map(move |item| {
            let start = at;
            at += item.len() + 1;
            Piece { text: item.to_owned(), at: start }
        })
    }

    fn problem(&self, reason: impl Into<String>, hint: &'static str) -> Problem {
        Problem::new(self.at, reason.into(), hint)
    }
}

/// `L`, `L-3`, or an ordinary item.
fn day_of_month(item: &Piece, days: &mut Days) -> Result<(), Problem> {
    let Some(before) = item.text.strip_prefix('L') else {
        if item.text.contains('W') {
            let hint = "name the days of the week in the fifth field instead";
            return Err(item.problem("nearest weekdays (`W`) are not supported", hint));
        }
        days.of_month |= DAY.item(item, true)?;
        return Ok(());
    };
    let before = match before.strip_prefix('-') {
        Some(digits) => digits.parse().ok().filter(|days| (1..=30).contains(days)),
        None if before.is_empty() => Some(0_u32),
        None => None,
    };
    let Some(before) = before else {
        return Err(item.problem("expected `L` or `L-1` to `L-30`", FORM));
    };
    days.before_last |= 1 << before;
    Ok(())
}

/// `FRI#2`, `FRIL`, or an ordinary item.
fn day_of_week(item: &Piece, days: &mut Days) -> Result<(), Problem> {
    let part = |text: &str| Piece { text: text.to_owned(), at: item.at };
    if let Some((weekday, nth)) = item.text.split_once('#') {
        let weekday = WEEKDAY.value(&part(weekday))? % 7;
        let index = nth.parse::<usize>().ok().and_then(|nth| nth.checked_sub(1));
        let Some(weekdays) = index.and_then(|index| days.nth_weekdays.get_mut(index)) else {
            return Err(item.problem("expected 1 to 5 after `#`", "`FRI#2` is the second Friday"));
        };
        *weekdays |= 1 << weekday;
    } else if let Some(weekday) = item.text.strip_suffix('L') {
        if weekday.is_empty() {
            return Err(item.problem("`L` needs a day of the week", "`FRIL` is the last Friday"));
        }
        days.last_weekdays |= 1 << (WEEKDAY.value(&part(weekday))? % 7);
    } else {
        let set = WEEKDAY.item(item, true)?;
        // Seven also means Sunday.
        days.weekdays |= (set | set >> 7) & 0x7f;
    }
    Ok(())
}

/// The values a field may have.
struct Field {
    what: &'static str,
    min: u32,
    max: u32,
    names: &'static [&'static str],
}

impl Field {
    fn set(&self, piece: &Piece) -> Result<u64, Problem> {
        piece.items().try_fold(0, |set, item| Ok(set | self.item(&item, false)?))
    }

    /// One value, range or `*`, with or without a step.
    fn item(&self, item: &Piece, question: bool) -> Result<u64, Problem> {
        let (range, step) = match item.text.split_once('/') {
            Some((range, step)) => (range, Some(self.step(item, step)?)),
            None => (item.text.as_str(), None),
        };
        let part = |text: &str| Piece { text: text.to_owned(), at: item.at };
        let (from, to) = if range == "*" || (question && range == "?") {
            (self.min, self.max)
        } else if let Some((from, to)) = range.split_once('-') {
            let (from, to) = (self.value(&part(from))?, self.value(&part(to))?);
            // A week may end on Sunday: `FRI-SUN` is Friday, Saturday and Sunday.
            let wraps = self.is_week() && to == 0 && from > 0;
            (from, if wraps { 7 } else { to })
        } else {
            let from = self.value(&part(range))?;
            (from, if step.is_some() { self.max } else { from })
        };
        if from > to {
            let hint = "write two ranges in a list, such as `22-23,0-2`";
            return Err(item.problem(format!("{} range runs backwards", self.what), hint));
        }
        let step = usize::try_from(step.unwrap_or(1)).unwrap_or(usize::MAX);
        Ok((from..=to).step_by(step).map(|value| 1 << value).sum())
    }

    fn value(&self, piece: &Piece) -> Result<u32, Problem> {
        // Seven counts as a day of the week, but an open step such as `5/2` ends on Saturday.
        let max = if self.is_week() { 7 } else { self.max };
        let named = self.names.iter().zip(self.min..).find(|(name, _)| **name == piece.text);
        let value = named.map(|(_, value)| value).or_else(|| digits(&piece.text));
        value.filter(|value| (self.min..=max).contains(value)).ok_or_else(|| {
            let reason = format!("{} must be from {} to {max}", self.what, self.min);
            piece.problem(reason, "use values, lists `1,2`, ranges `1-5` and steps `*/5`")
        })
    }

    fn step(&self, item: &Piece, step: &str) -> Result<u32, Problem> {
        let longest = self.max - self.min + 1;
        digits(step).filter(|step| (1..=longest).contains(step)).ok_or_else(|| {
            let reason = format!("expected a step from 1 to {longest} after `/`");
            item.problem(reason, "a step counts within its own field and cannot pass its end")
        })
    }

    fn is_week(&self) -> bool {
        self.max == 6
    }
}

/// A short number without sign.
fn digits(text: &str) -> Option<u32> {
    let plain = text.len() <= 4 && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| plain)
}
