//! Reads JSON into the heap.

use super::machine::Machine;
use super::number::{document_number, nearest_number};
use super::raise::{Raise, VmResult, limit, syntax_error, unsupported};
use super::record::Record;
use super::text::Text;
use super::value::Value;

/// The nesting depth of documents.
pub(super) const MAX_DEPTH: usize = meantime_core::Json::MAX_DEPTH;

impl Machine<'_> {
    /// Reads a document that is valid JSON.
    pub(crate) fn read_json(&mut self, text: &str) -> VmResult<Value> {
        self.parse_json(text, document_number).map_err(|problem| match problem {
            Problem::Raise(raise) => raise,
            // The document was checked when it was accepted, so the only possible problem is its
            // depth.
            Problem::Text(at) => {
                limit("payload_limit", format!("a document cannot be read at byte {at}"))
            }
        })
    }

    /// `JSON.parse`: the text may be anything.
    pub(super) fn json_parse(&mut self, text: &str) -> VmResult<Value> {
        self.parse_json(text, nearest_number).map_err(|problem| match problem {
            Problem::Raise(raise) => raise,
            Problem::Text(at) => syntax_error(format!("not JSON: unexpected text at byte {at}")),
        })
    }

    fn parse_json(&mut self, text: &str, number: fn(&str) -> Value) -> Result<Value, Problem> {
        self.spend_bytes(text.len());
        let mut reader = Reader { machine: self, text, at: 0, number };
        let value = reader.value(0)?;
        reader.blanks();
        if reader.at < text.len() { Err(Problem::Text(reader.at)) } else { Ok(value) }
    }
}

/// Strings contain characters; half of a surrogate pair is not one.
pub(super) fn lone_surrogate_error() -> Raise {
    unsupported("half of a surrogate pair is no character, and cannot be part of a string here")
}

enum Problem {
    Text(usize),
    Raise(Raise),
}

impl From<Raise> for Problem {
    fn from(raise: Raise) -> Self {
        Self::Raise(raise)
    }
}

struct Reader<'m, 'a, 't> {
    machine: &'m mut Machine<'a>,
    text: &'t str,
    at: usize,
    /// How numbers are converted.
    number: fn(&str) -> Value,
}

impl Reader<'_, '_, '_> {
    fn value(&mut self, depth: usize) -> Result<Value, Problem> {
        if depth > MAX_DEPTH {
            return Err(Problem::Text(self.at));
        }
        self.blanks();
        match self.peek() {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => {
                let text = self.string()?;
                self.machine.check_text(text.len())?;
                Ok(Value::Text(Text::new(text)))
            }
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => self.word(),
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn eat(&mut self, byte: u8) -> bool {
        let here = self.peek() == Some(byte);
        self.at += usize::from(here);
        here
    }

    fn expect(&mut self, byte: u8) -> Result<(), Problem> {
        if self.eat(byte) { Ok(()) } else { Err(Problem::Text(self.at)) }
    }

    fn word(&mut self) -> Result<Value, Problem> {
        let words = [("null", Value::Null), ("true", true.into()), ("false", false.into())];
        let rest = self.text.get(self.at..).unwrap_or_default();
        for (word, value) in words {
            if rest.starts_with(word) {
                self.at += word.len();
                return Ok(value);
            }
        }
        Err(Problem::Text(self.at))
    }

    fn number(&mut self) -> Result<Value, Problem> {
        let start = self.at;
        self.eat(b'-');
        if !self.eat(b'0') {
            self.digits()?;
        }
        if self.eat(b'.') {
            self.digits()?;
        }
        if self.eat(b'e') || self.eat(b'E') {
            if !self.eat(b'+') {
                self.eat(b'-');
            }
            self.digits()?;
        }
        Ok((self.number)(self.text.get(start..self.at).unwrap_or_default()))
    }

    fn digits(&mut self) -> Result<(), Problem> {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        if self.at > start { Ok(()) } else { Err(Problem::Text(start)) }
    }

    fn array(&mut self, depth: usize) -> Result<Value, Problem> {
        self.at += 1;
        let mut items = Vec::new();
        self.blanks();
        if !self.eat(b']') {
            loop {
                items.push(self.value(depth + 1)?);
                self.blanks();
                if self.eat(b']') {
                    break;
                }
                self.expect(b',')?;
            }
        }
        Ok(self.machine.new_list(items)?)
    }

    fn object(&mut self, depth: usize) -> Result<Value, Problem> {
        self.at += 1;
        let mut record = Record::default();
        self.blanks();
        if !self.eat(b'}') {
            loop {
                self.blanks();
                if self.peek() != Some(b'"') {
                    return Err(Problem::Text(self.at));
                }
                let name = self.string()?;
                self.machine.heap.grow_text(name.len());
                self.blanks();
                self.expect(b':')?;
                let value = self.value(depth + 1)?;
                record.set(Text::new(name), value);
                self.blanks();
                if self.eat(b'}') {
                    break;
                }
                self.expect(b',')?;
            }
        }
        self.machine.check_entries(record.len())?;
        self.machine.check_burst()?;
        Ok(self.machine.heap.new_record(record))
    }

    fn string(&mut self) -> Result<String, Problem> {
        self.at += 1;
        let start = self.at;
        // Most strings have no escapes and are copied as a whole.
        let rest = self.text.as_bytes().get(start..).unwrap_or_default();
        let plain = rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..=0x1f));
        let Some(length) = plain else { return Err(Problem::Text(start)) };
        let mut text = self.text.get(start..start + length).unwrap_or_default().to_owned();
        self.at += length;
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(text);
                }
                Some(b'\\') => self.escape(&mut text)?,
                Some(0..=0x1f) | None => return Err(Problem::Text(self.at)),
                Some(_) => {
                    let rest = self.text.get(self.at..).unwrap_or_default();
                    let Some(c) = rest.chars().next() else { return Err(Problem::Text(self.at)) };
                    text.push(c);
                    self.at += c.len_utf8();
                }
            }
        }
    }

    fn escape(&mut self, text: &mut String) -> Result<(), Problem> {
        let start = self.at;
        self.at += 1;
        let escaped = self.peek();
        self.at += 1;
        let c = match escaped {
            Some(byte @ (b'"' | b'\\' | b'/')) => char::from(byte),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => self.unicode(start)?,
            _ => return Err(Problem::Text(start)),
        };
        text.push(c);
        Ok(())
    }

    fn unicode(&mut self, start: usize) -> Result<char, Problem> {
        let high = self.hex().ok_or(Problem::Text(start))?;
        if !(0xd800..0xe000).contains(&high) {
            return char::from_u32(high).ok_or(Problem::Text(start));
        }
        let pair = self.text.get(self.at..).is_some_and(|rest| rest.starts_with("\\u"));
        if high < 0xdc00 && pair {
            let before = self.at;
            self.at += 2;
            match self.hex() {
                Some(low @ 0xdc00..=0xdfff) => {
                    let code = 0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00);
                    return char::from_u32(code).ok_or(Problem::Text(start));
                }
                _ => self.at = before,
            }
        }
        Err(Problem::Raise(lone_surrogate_error()))
    }

    fn hex(&mut self) -> Option<u32> {
        let digits = self.text.get(self.at..self.at + 4)?;
        let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        let value = u32::from_str_radix(digits, 16).ok().filter(|_| is_hex)?;
        self.at += 4;
        Some(value)
    }
}
