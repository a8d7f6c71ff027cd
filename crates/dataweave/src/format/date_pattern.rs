//! Patterns of dates: letters for fields, quotes for text.

/// A parsed pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DatePattern {
    pub(super) parts: Vec<DatePatternPart>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum DatePatternPart {
    Text(String),
    /// A letter and its count, padded with spaces to a width.
    Field {
        letter: char,
        count: usize,
        pad: usize,
    },
    /// `[…]`: optional when reading.
    Optional(Vec<DatePatternPart>),
}

/// Letters that have a meaning.
const PATTERN_LETTERS: &str = "GuyDMLdQqYwWEecFaBhKkHmsSAnNVvzOXxZ";

/// Bytes of a pattern. It determines the widths of its fields; the resulting text has its own
/// limit.
const MAX_PATTERN_BYTES: usize = 10_000;

impl DatePattern {
    /// Parses a pattern, or returns its problem.
    pub(crate) fn parse(pattern: &str) -> Result<Self, String> {
        if pattern.len() > MAX_PATTERN_BYTES {
            return Err(format!("it has more than {MAX_PATTERN_BYTES} bytes"));
        }
        let mut chars = pattern.chars().peekable();
        let parts = parts(&mut chars, 0)?;
        Ok(Self { parts })
    }
}

type Chars<'c> = std::iter::Peekable<std::str::Chars<'c>>;

fn parts(chars: &mut Chars<'_>, level: usize) -> Result<Vec<DatePatternPart>, String> {
    let mut parts = Vec::new();
    let mut pad = 0;
    while let Some(c) = chars.next() {
        match c {
            '\'' => push_text(&mut parts, &quoted(chars)?),
            '[' if level < 8 => {
                parts.push(DatePatternPart::Optional(self::parts(chars, level + 1)?));
            }
            ']' if level > 0 => return Ok(parts),
            '[' | ']' | '{' | '}' | '#' => return Err(format!("`{c}` cannot stand in a pattern")),
            'p' => {
                pad = 1 + repeats(chars, 'p');
                continue;
            }
            _ if PATTERN_LETTERS.contains(c) => {
                let count = 1 + repeats(chars, c);
                parts.push(DatePatternPart::Field { letter: c, count, pad });
            }
            _ if c.is_ascii_alphabetic() => {
                return Err(format!("`{c}` is not a letter of date patterns; quote text with '"));
            }
            _ => push_text(&mut parts, &c.to_string()),
        }
        pad = 0;
    }
    if level > 0 { Err("`[` is not closed".to_owned()) } else { Ok(parts) }
}

fn repeats(chars: &mut Chars<'_>, letter: char) -> usize {
    let mut count = 0;
    while chars.peek() == Some(&letter) {
        chars.next();
        count += 1;
    }
    count
}

/// Text in quotes; two quotes stand for one.
fn quoted(chars: &mut Chars<'_>) -> Result<String, String> {
    if chars.peek() == Some(&'\'') {
        chars.next();
        return Ok("'".to_owned());
    }
    let mut text = String::new();
    loop {
        match chars.next() {
            Some('\'') if chars.peek() == Some(&'\'') => {
                chars.next();
                text.push('\'');
            }
            Some('\'') => return Ok(text),
            Some(c) => text.push(c),
            None => return Err("a quote in the pattern is not closed".to_owned()),
        }
    }
}

fn push_text(parts: &mut Vec<DatePatternPart>, text: &str) {
    match parts.last_mut() {
        Some(DatePatternPart::Text(last)) => last.push_str(text),
        _ => parts.push(DatePatternPart::Text(text.to_owned())),
    }
}
