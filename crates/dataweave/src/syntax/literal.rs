//! Texts with interpolation, regular expressions, dates.

use std::sync::Arc;

use meantime_value::temporal::{
    Period, parse_date, parse_date_time, parse_local_date_time, parse_local_time, parse_time,
    parse_time_zone,
};
use meantime_value::{Pattern, Value};

use super::parser::{Parser, Result};
use super::{Expr, ExprKind, InterpolationPart, Name, Span};

impl Parser<'_> {
    pub(super) fn text(&mut self) -> Result {
        let start = self.cursor.at;
        let mut pieces = self.string_literal()?;
        let span = self.cursor.span(start);
        let kind = match pieces.as_slice() {
            [] => ExprKind::Literal(Value::from("")),
            [InterpolationPart::Text(_)] => match pieces.pop() {
                Some(InterpolationPart::Text(text)) => ExprKind::Literal(Value::Text(text)),
                _ => ExprKind::Broken,
            },
            _ => ExprKind::Interpolation(pieces),
        };
        self.node(kind, span)
    }

    /// A text in any of the three quotes, split at its interpolations.
    pub(super) fn string_literal(&mut self) -> Result<Vec<InterpolationPart>> {
        let start = self.cursor.at;
        let quote = self.cursor.next();
        let mut pieces = Vec::new();
        let mut text = String::new();
        loop {
            match self.cursor.peek() {
                None => {
                    let span = Span::new(start, start + 1);
                    return Err(self.error(span, "this text has no closing quote"));
                }
                Some(c) if Some(c) == quote => {
                    self.cursor.at += c.len_utf8();
                    break;
                }
                Some('\\') => self.escape(&mut text),
                Some('$') => {
                    if !text.is_empty() {
                        pieces.push(InterpolationPart::Text(std::mem::take(&mut text).into()));
                    }
                    let expr = self.interpolation()?;
                    pieces.push(InterpolationPart::Expr(expr));
                }
                Some(c) => {
                    self.cursor.at += c.len_utf8();
                    text.push(c);
                }
            }
        }
        if !text.is_empty() {
            pieces.push(InterpolationPart::Text(text.into()));
        }
        Ok(pieces)
    }

    /// An unknown escape stays unchanged, including its backslash.
    fn escape(&mut self, text: &mut String) {
        self.cursor.at += 1;
        let Some(escaped) = self.cursor.next() else {
            text.push('\\');
            return;
        };
        match escaped {
            'n' => text.push('\n'),
            't' => text.push('\t'),
            'r' => text.push('\r'),
            'b' => text.push('\u{8}'),
            'f' => text.push('\u{c}'),
            '"' | '\'' | '`' | '\\' | '/' | '$' => text.push(escaped),
            'u' => match self.unicode() {
                Some(c) => text.push(c),
                None => text.push_str("\\u"),
            },
            other => {
                text.push('\\');
                text.push(other);
            }
        }
    }

    fn unicode(&mut self) -> Option<char> {
        let first = self.hex_unit()?;
        if !(0xd800..0xdc00).contains(&first) {
            return Some(char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER));
        }
        let back = self.cursor.at;
        if self.cursor.starts_with("\\u") {
            self.cursor.at += 2;
            if let Some(low) = self.hex_unit().filter(|low| (0xdc00..0xe000).contains(low)) {
                return char::from_u32(0x10000 + ((first - 0xd800) << 10) + (low - 0xdc00));
            }
        }
        self.cursor.at = back;
        Some(char::REPLACEMENT_CHARACTER)
    }

    fn hex_unit(&mut self) -> Option<u32> {
        let digits = self.cursor.rest().get(..4)?;
        if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        self.cursor.at += 4;
        u32::from_str_radix(digits, 16).ok()
    }

    /// `$(expression)`, `$name`, or one of the parameters `$`, `$$`, `$$$`.
    fn interpolation(&mut self) -> Result {
        let start = self.cursor.at;
        match self.cursor.byte(1) {
            Some(b'(') => {
                self.cursor.at += 2;
                let expr = self.deeper(Self::expression)?;
                self.expect(")", "after the interpolated expression")?;
                self.node(ExprKind::Group(expr), self.cursor.span(start))
            }
            Some(byte) if byte.is_ascii_alphabetic() || byte == b'_' || byte >= 0x80 => {
                self.cursor.at += 1;
                let word_start = self.cursor.at;
                let word = self.cursor.word();
                if word.is_empty() {
                    self.cursor.at = start;
                    return Ok(self.dollar());
                }
                self.cursor.at += word.len();
                let span = self.cursor.span(word_start);
                let name = Name { text: word.into(), span };
                Ok(Expr::new(ExprKind::Name { module: Vec::new(), name }, span))
            }
            _ => Ok(self.dollar()),
        }
    }

    /// `/pattern/`; inside, `\/` is a slash.
    pub(super) fn regex(&mut self) -> Result {
        let start = self.cursor.at;
        self.cursor.at += 1;
        let mut pattern = String::new();
        loop {
            match self.cursor.next() {
                Some('/') => break,
                Some('\\') if self.cursor.peek() == Some('/') => {
                    self.cursor.at += 1;
                    pattern.push('/');
                }
                Some('\\') => {
                    pattern.push('\\');
                    pattern.extend(self.cursor.next());
                }
                Some('\n') | None => {
                    let span = Span::new(start, start + 1);
                    let message = "this regular expression has no closing `/`";
                    return Err(self.error(span, message));
                }
                Some(c) => pattern.push(c),
            }
        }
        let span = self.cursor.span(start);
        match Pattern::new(&pattern) {
            Ok(pattern) => self.node(ExprKind::Literal(Value::Regex(Arc::new(pattern))), span),
            Err(error) => Err(self.error(span, error.to_string())),
        }
    }

    /// `|2024-01-31|`, `|PT1H|`, `|10:00:00Z|`, `|-03:00|`.
    pub(super) fn temporal(&mut self) -> Result {
        let start = self.cursor.at;
        let rest = &self.cursor.rest()[1..];
        let end = rest.find(['|', '\n']).filter(|end| rest[*end..].starts_with('|'));
        let Some(end) = end else {
            let span = Span::new(start, start + 1);
            return Err(self.error(span, "this date has no closing `|`"));
        };
        let text = &rest[..end];
        self.cursor.at += end + 2;
        let span = self.cursor.span(start);
        match temporal_value(text) {
            Some(value) => self.node(ExprKind::Literal(value), span),
            None => {
                let message = format!("`{text}` is not a date, time, time zone or period");
                let help = "write `|2024-01-31|`, `|2024-01-31T10:00:00Z|`, `|10:00:00|`, \
                            `|-03:00|`, `|P1M|` or `|PT1H|`";
                Err(self.error_with_help(span, message, help))
            }
        }
    }
}

fn temporal_value(text: &str) -> Option<Value> {
    // A literal cannot contain the name of a zone.
    if text.contains('[') {
        return None;
    }
    if text.starts_with('P') || text.starts_with("-P") {
        // A literal cannot mix calendar and clock parts, except days, which count as 24 hours.
        let mixed = text.split_once('T').is_some_and(|(date, _)| date.contains(['Y', 'M', 'W']));
        let weeks = text.contains('W');
        return if mixed || weeks { None } else { text.parse::<Period>().ok().map(Value::Period) };
    }
    if text.contains('T') {
        return match parse_local_date_time(text) {
            Some(local) if is_local(text) => Some(Value::LocalDateTime(local)),
            Some(_) => parse_date_time(text).map(Value::date_time),
            None => None,
        };
    }
    if text.get(2..3) == Some(":") {
        return match parse_time(text) {
            Some(time) => Some(Value::Time(time)),
            None => parse_local_time(text).map(Value::LocalTime),
        };
    }
    if text == "Z" || text.get(3..4) == Some(":") {
        return parse_time_zone(text).map(Value::TimeZone);
    }
    parse_date(text).map(Value::Date)
}

/// Whether there is no offset: only digits and `:.` after the `T`.
fn is_local(text: &str) -> bool {
    let time = text.split_once('T').map_or("", |(_, time)| time);
    time.bytes().all(|byte| byte.is_ascii_digit() || byte == b':' || byte == b'.')
}
