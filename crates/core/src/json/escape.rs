//! Texts between quotes: what is escaped, both ways.

use std::borrow::Cow;
use std::fmt::Write as _;

/// A text as it stands between its quotes. Its escapes are known to be good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawText<'t> {
    raw: &'t str,
    has_escapes: bool,
}

impl<'t> RawText<'t> {
    pub(super) const fn new(raw: &'t str, has_escapes: bool) -> Self {
        Self { raw, has_escapes }
    }

    /// What the text says.
    #[inline]
    pub fn decode(self) -> Cow<'t, str> {
        if !self.has_escapes {
            return Cow::Borrowed(self.raw);
        }
        let bytes = self.raw.as_bytes();
        let mut said = String::with_capacity(self.raw.len());
        let mut at = 0;
        while at < bytes.len() {
            let end = plain_end(bytes, at);
            said.push_str(self.raw.get(at..end).unwrap_or_default());
            at = end;
            if at < bytes.len() {
                // The reader saw the escape and accepted it.
                said.push(escaped_character(bytes, &mut at).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
        }
        Cow::Owned(said)
    }
}

/// Why an escape has no meaning.
pub(super) enum EscapeError {
    Unknown,
    NoHex,
    HalfPair,
}

/// Where the next quote, backslash or control character is, or the end.
///
/// Most bytes of most documents pass here, so eight are looked at together. A byte that equals
/// another one makes zero of their difference, and a zero is the only byte that borrows from its
/// highest bit; borrows go upwards, so the lowest mark is always right.
#[inline]
pub(super) fn plain_end(bytes: &[u8], from: usize) -> usize {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const HIGH: u64 = u64::from_ne_bytes([0x80; 8]);
    const QUOTES: u64 = u64::from_ne_bytes([b'"'; 8]);
    const BACKSLASHES: u64 = u64::from_ne_bytes([b'\\'; 8]);
    const BLANKS: u64 = u64::from_ne_bytes([b' '; 8]);
    let mut at = from;
    while let Some(eight) = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        let word = u64::from_le_bytes(*eight);
        let (quotes, backslashes) = (word ^ QUOTES, word ^ BACKSLASHES);
        let marks = (quotes.wrapping_sub(ONES) & !quotes)
            | (backslashes.wrapping_sub(ONES) & !backslashes)
            | (word.wrapping_sub(BLANKS) & !word);
        let marks = marks & HIGH;
        if marks != 0 {
            return at + (marks.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    let rest = bytes.get(at..).unwrap_or_default();
    let found = rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..=0x1f));
    at + found.unwrap_or(rest.len())
}

/// The character of the escape at this place; afterwards the place is behind it. If it has none,
/// the place is where it goes wrong.
pub(super) fn escaped_character(bytes: &[u8], at: &mut usize) -> Result<char, EscapeError> {
    *at += 1;
    let character = match bytes.get(*at) {
        Some(byte @ (b'"' | b'\\' | b'/')) => char::from(*byte),
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'n') => '\n',
        Some(b'r') => '\r',
        Some(b't') => '\t',
        Some(b'u') => {
            *at += 1;
            return unicode(bytes, at);
        }
        _ => return Err(EscapeError::Unknown),
    };
    *at += 1;
    Ok(character)
}

fn unicode(bytes: &[u8], at: &mut usize) -> Result<char, EscapeError> {
    let unit = hex(bytes, at)?;
    if let Some(character) = char::from_u32(unit) {
        return Ok(character);
    }
    let pairs = bytes.get(*at..).is_some_and(|rest| rest.starts_with(b"\\u"));
    if unit < 0xdc00 && pairs {
        *at += 2;
        let low = hex(bytes, at)?;
        if (0xdc00..0xe000).contains(&low) {
            let code = 0x1_0000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
            return char::from_u32(code).ok_or(EscapeError::HalfPair);
        }
    }
    Err(EscapeError::HalfPair)
}

fn hex(bytes: &[u8], at: &mut usize) -> Result<u32, EscapeError> {
    let digits = bytes.get(*at..).and_then(|rest| rest.first_chunk::<4>());
    let digits = digits.ok_or(EscapeError::NoHex)?;
    let code = digits
        .iter()
        .try_fold(0, |code, byte| char::from(*byte).to_digit(16).map(|digit| code * 16 + digit));
    *at += 4;
    code.ok_or_else(|| {
        *at -= 4;
        EscapeError::NoHex
    })
}

/// Writes a text with its quotes.
pub(super) fn write_text(out: &mut String, text: &str) {
    out.push('"');
    let bytes = text.as_bytes();
    let mut at = 0;
    loop {
        let end = plain_end(bytes, at);
        out.push_str(text.get(at..end).unwrap_or_default());
        let Some(byte) = bytes.get(end) else { break };
        match byte {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            0x08 => out.push_str("\\b"),
            0x0c => out.push_str("\\f"),
            byte => {
                // Writing to a String cannot fail.
                let _ = write!(out, "\\u{byte:04x}");
            }
        }
        at = end + 1;
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_found_wherever_they_stand() {
        for mark in [b'"', b'\\', 0, 0x1f] {
            for length in 0..40 {
                for place in 0..length {
                    let mut bytes = vec![b'!'; length];
                    // Neighbours that differ from a mark by one, or have the highest bit.
                    for (at, byte) in bytes.iter_mut().enumerate() {
                        *byte = [b'#', b'!', b' ', b'[', b']', 0x7f, 0x80, 0xff, 0xa2][at % 9];
                    }
                    assert_eq!(plain_end(&bytes, 0), length);
                    bytes[place] = mark;
                    for from in 0..=place {
                        assert_eq!(plain_end(&bytes, from), place, "{bytes:?} from {from}");
                    }
                }
            }
        }
    }
}
