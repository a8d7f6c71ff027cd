//! Checks in one pass whether a text is JSON that every reader of this engine can represent
//! unchanged.
//!
//! JSON allows documents that two programs read differently: repeated keys, halves of surrogate
//! pairs, numbers beyond every type, any depth. Reading and writing such a document changes it, so
//! it is refused with a code where it enters.

use std::borrow::Cow;

use super::{InvalidJson, Json};

/// The largest number of digits after the point, written without an exponent, and of zeros that an
/// exponent may add.
const MAX_PLACES: usize = 5_000;

/// The largest number of digits in total, written without an exponent.
const MAX_DIGITS: usize = 9_000;

/// Objects with more keys are sorted to find a repeated key; the keys of smaller ones are compared.
const FEW_KEYS: usize = 12;

/// The document in a text, without surrounding blanks.
pub(super) fn check(text: &str) -> Result<&str, InvalidJson> {
    let mut scanner = Scanner { text, at: 0, open: Vec::new(), keys: Vec::new() };
    scanner.blanks();
    let start = scanner.at;
    scanner.document()?;
    let end = scanner.at;
    scanner.blanks();
    if scanner.at < text.len() {
        return Err(scanner.broken("text after the end of the document"));
    }
    Ok(text.get(start..end).unwrap_or_default())
}

/// A list or an object that has not been closed.
enum Open {
    List,
    /// With the number of keys of the enclosing objects.
    Object(usize),
}

struct Scanner<'t> {
    text: &'t str,
    at: usize,
    open: Vec<Open>,
    /// Keys of all open objects, the innermost last.
    keys: Vec<Cow<'t, str>>,
}

type Result<T = (), E = InvalidJson> = std::result::Result<T, E>;

impl<'t> Scanner<'t> {
    /// The text is not JSON.
    fn broken(&self, reason: &str) -> InvalidJson {
        InvalidJson { reason: self.placed(self.at, reason), is_json: false }
    }

    /// It is JSON that cannot be kept unchanged.
    fn refused(&self, at: usize, reason: &str) -> InvalidJson {
        InvalidJson { reason: self.placed(at, reason), is_json: true }
    }

    fn placed(&self, at: usize, reason: &str) -> String {
        let before = self.text.get(..at).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        let column = before.len() - before.rfind('\n').map_or(0, |at| at + 1) + 1;
        format!("{reason} at line {line} column {column}")
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn eat(&mut self, byte: u8) -> bool {
        let here = self.peek() == Some(byte);
        self.at += usize::from(here);
        here
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
    }

    /// Without recursion: nesting is counted, so the stack cannot overflow.
    fn document(&mut self) -> Result {
        loop {
            match self.peek() {
                Some(b'{') => {
                    self.enter(Open::Object(self.keys.len()))?;
                    if !self.eat(b'}') {
                        self.key()?;
                        continue;
                    }
                    self.leave()?;
                }
                Some(b'[') => {
                    self.enter(Open::List)?;
                    if !self.eat(b']') {
                        continue;
                    }
                    self.leave()?;
                }
                _ => self.scalar()?,
            }
            if self.after_value()? {
                return Ok(());
            }
        }
    }

    fn enter(&mut self, open: Open) -> Result {
        if self.open.len() == Json::MAX_DEPTH {
            let reason = format!("nested deeper than {} levels", Json::MAX_DEPTH);
            return Err(self.refused(self.at, &reason));
        }
        self.open.push(open);
        self.at += 1;
        self.blanks();
        Ok(())
    }

    /// The end of a list or an object.
    fn leave(&mut self) -> Result {
        if let Some(Open::Object(first)) = self.open.pop() {
            let keys = self.keys.get_mut(first..).unwrap_or_default();
            let twice =
                twice(keys).map(|key| format!("the key {key:?} stands twice in one object"));
            if let Some(reason) = twice {
                return Err(self.refused(self.at.saturating_sub(1), &reason));
            }
            self.keys.truncate(first);
        }
        Ok(())
    }

    /// Moves to the next value; returns true if there is none.
    fn after_value(&mut self) -> Result<bool> {
        loop {
            let end = match self.open.last() {
                None => return Ok(true),
                Some(Open::List) => b']',
                Some(Open::Object(_)) => b'}',
            };
            self.blanks();
            if self.eat(b',') {
                self.blanks();
                if end == b'}' {
                    self.key()?;
                }
                return Ok(false);
            }
            if !self.eat(end) {
                let ends = self.at >= self.text.len();
                return Err(self.broken(if ends {
                    "the text ends early"
                } else {
                    "expected a comma or the end of the list or object"
                }));
            }
            self.leave()?;
        }
    }

    fn key(&mut self) -> Result {
        if self.peek() != Some(b'"') {
            return Err(self.broken("expected a key in quotes"));
        }
        let key = self.string(true)?;
        self.keys.push(key);
        self.blanks();
        if !self.eat(b':') {
            return Err(self.broken("expected `:`"));
        }
        self.blanks();
        Ok(())
    }

    fn scalar(&mut self) -> Result {
        match self.peek() {
            Some(b'"') => self.string(false).map(drop),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word("true"),
            Some(b'f') => self.word("false"),
            Some(b'n') => self.word("null"),
            Some(_) => Err(self.broken("expected a value")),
            None => Err(self.broken("the text ends early")),
        }
    }

    fn word(&mut self, word: &str) -> Result {
        if !self.text.get(self.at..).is_some_and(|rest| rest.starts_with(word)) {
            return Err(self.broken("expected a value"));
        }
        self.at += word.len();
        Ok(())
    }

    fn digits(&mut self) -> usize {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        self.at - start
    }

    fn number(&mut self) -> Result {
        let start = self.at;
        self.eat(b'-');
        let leads_with_zero = self.peek() == Some(b'0');
        let whole = self.digits();
        if whole == 0 || (leads_with_zero && whole > 1) {
            return Err(self.broken("expected a number"));
        }
        let mut places = 0;
        if self.eat(b'.') {
            places = self.digits();
            if places == 0 {
                return Err(self.broken("expected a digit"));
            }
        }
        let (mut exponent, mut is_negative) = (Some(0_usize), false);
        if self.eat(b'e') || self.eat(b'E') {
            is_negative = self.eat(b'-');
            if !is_negative {
                self.eat(b'+');
            }
            let from = self.at;
            if self.digits() == 0 {
                return Err(self.broken("expected a digit"));
            }
            exponent = self.text.get(from..self.at).and_then(|digits| digits.parse().ok());
        }
        // Written without an exponent: this many digits after the point, and zeros before it.
        let fits = exponent.is_some_and(|exponent| {
            let (after, zeros) = if is_negative {
                (places.saturating_add(exponent), 0)
            } else {
                (places.saturating_sub(exponent), exponent.saturating_sub(places))
            };
            let digits = whole.saturating_add(places.max(after)).saturating_add(zeros);
            after <= MAX_PLACES && zeros <= MAX_PLACES && digits <= MAX_DIGITS
        });
        if fits { Ok(()) } else { Err(self.refused(start, "a number with too many digits")) }
    }

    /// Reads a string; returns its decoded text if it is a key.
    fn string(&mut self, is_key: bool) -> Result<Cow<'t, str>> {
        self.at += 1;
        let start = self.at;
        let mut said: Option<String> = None;
        loop {
            let from = self.at;
            while !matches!(self.peek(), Some(b'"' | b'\\' | 0..=0x1f) | None) {
                self.at += 1;
            }
            if let Some(said) = &mut said {
                said.push_str(self.text.get(from..self.at).unwrap_or_default());
            }
            match self.peek() {
                Some(b'"') => {
                    let whole = self.text.get(start..self.at).unwrap_or_default();
                    self.at += 1;
                    return Ok(said.map_or(Cow::Borrowed(whole), Cow::Owned));
                }
                Some(b'\\') => {
                    let before = self.text.get(start..self.at).unwrap_or_default();
                    let escaped = self.escape()?;
                    if is_key {
                        said.get_or_insert_with(|| before.to_owned()).push(escaped);
                    }
                }
                Some(_) => return Err(self.broken("a control character in a text")),
                None => return Err(self.broken("the text ends early")),
            }
        }
    }

    fn escape(&mut self) -> Result<char> {
        let start = self.at;
        self.at += 1;
        let escaped = match self.peek() {
            Some(byte @ (b'"' | b'\\' | b'/')) => char::from(byte),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                self.at += 1;
                return self.unicode(start);
            }
            _ => return Err(self.broken("an unknown escape")),
        };
        self.at += 1;
        Ok(escaped)
    }

    fn unicode(&mut self, start: usize) -> Result<char> {
        let unit = self.hex()?;
        if let Some(character) = char::from_u32(unit) {
            return Ok(character);
        }
        let pairs = self.text.get(self.at..).is_some_and(|rest| rest.starts_with("\\u"));
        if unit < 0xdc00 && pairs {
            self.at += 2;
            let low = self.hex()?;
            if (0xdc00..0xe000).contains(&low) {
                let code = 0x1_0000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
                return char::from_u32(code).ok_or_else(|| self.broken("an unknown escape"));
            }
        }
        Err(self.refused(start, "half of a surrogate pair, which is no character"))
    }

    fn hex(&mut self) -> Result<u32> {
        let digits = self.text.get(self.at..self.at + 4);
        let digits = digits.filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let code = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        let code = code.ok_or_else(|| self.broken("expected four hexadecimal digits"))?;
        self.at += 4;
        Ok(code)
    }
}

/// A repeated key.
fn twice<'k>(keys: &'k mut [Cow<'_, str>]) -> Option<&'k str> {
    if keys.len() > FEW_KEYS {
        keys.sort_unstable();
        return keys.windows(2).find(|pair| pair.first() == pair.last()).map(|pair| &*pair[0]);
    }
    let keys: &[Cow<'_, str>] = keys;
    let mut later = keys.iter().enumerate();
    let found = later.find(|(place, key)| keys.iter().take(*place).any(|known| known == *key));
    found.map(|(_, key)| &**key)
}
