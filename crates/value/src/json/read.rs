//! A JSON reader that keeps everything that the value model can represent: exact numbers, order,
//! repeated keys.

use meantime_core::Json;

use crate::{Key, Number, Object, Value};

/// The text is not JSON.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not valid JSON at byte {offset}: {reason}")]
pub struct JsonError {
    /// Byte offset of the problem.
    pub offset: usize,
    /// The problem.
    pub reason: &'static str,
}

/// Reads one document.
pub fn read(text: &str) -> Result<Value, JsonError> {
    let mut reader = Reader { text, at: 0, depth: 0 };
    reader.space();
    let value = reader.value()?;
    reader.space();
    if reader.at < text.len() { Err(reader.problem("text after the end")) } else { Ok(value) }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

type Result<T, E = JsonError> = std::result::Result<T, E>;

impl Reader<'_> {
    fn problem(&self, reason: &'static str) -> JsonError {
        JsonError { offset: self.at, reason }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
    }

    fn value(&mut self) -> Result<Value> {
        match self.peek() {
            Some(b'{') => self.nested(Self::object),
            Some(b'[') => self.nested(Self::array),
            Some(b'"') => Ok(Value::from(self.string()?)),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word("true", Value::Bool(true)),
            Some(b'f') => self.word("false", Value::Bool(false)),
            Some(b'n') => self.word("null", Value::Null),
            Some(_) => Err(self.problem("expected a value")),
            None => Err(self.problem("the text ends early")),
        }
    }

    fn nested(&mut self, read: fn(&mut Self) -> Result<Value>) -> Result<Value> {
        if self.depth == Json::MAX_DEPTH {
            return Err(self.problem("nested too deeply"));
        }
        self.depth += 1;
        self.at += 1;
        let value = read(self)?;
        self.depth -= 1;
        Ok(value)
    }

    fn object(&mut self) -> Result<Value> {
        let mut object = Object::default();
        self.space();
        if self.take(b'}') {
            return Ok(Value::object(object));
        }
        loop {
            self.space();
            if self.peek() != Some(b'"') {
                return Err(self.problem("expected a key"));
            }
            let key = Key::new(self.string()?);
            self.space();
            if !self.take(b':') {
                return Err(self.problem("expected `:`"));
            }
            self.space();
            let value = self.value()?;
            object.push(key, value);
            self.space();
            if self.take(b'}') {
                return Ok(Value::object(object));
            }
            if !self.take(b',') {
                return Err(self.problem("expected `,` or `}`"));
            }
        }
    }

    fn array(&mut self) -> Result<Value> {
        let mut items = Vec::new();
        self.space();
        if self.take(b']') {
            return Ok(Value::array(items));
        }
        loop {
            self.space();
            items.push(self.value()?);
            self.space();
            if self.take(b']') {
                return Ok(Value::array(items));
            }
            if !self.take(b',') {
                return Err(self.problem("expected `,` or `]`"));
            }
        }
    }

    fn word(&mut self, word: &str, value: Value) -> Result<Value> {
        if !self.text[self.at..].starts_with(word) {
            return Err(self.problem("expected a value"));
        }
        self.at += word.len();
        Ok(value)
    }

    fn number(&mut self) -> Result<Value> {
        let start = self.at;
        self.take(b'-');
        let whole = self.digits();
        if whole == 0 || (whole > 1 && self.text[self.at - whole..].starts_with('0')) {
            return Err(self.problem("expected a number"));
        }
        if self.take(b'.') && self.digits() == 0 {
            return Err(self.problem("expected a digit"));
        }
        if self.take(b'e') || self.take(b'E') {
            let _ = self.take(b'+') || self.take(b'-');
            if self.digits() == 0 {
                return Err(self.problem("expected a digit"));
            }
        }
        match self.text[start..self.at].parse::<Number>() {
            Ok(number) => Ok(Value::Number(number)),
            Err(_) => Err(JsonError { offset: start, reason: "a number with too many digits" }),
        }
    }

    fn digits(&mut self) -> usize {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        self.at - start
    }

    fn string(&mut self) -> Result<String> {
        self.at += 1;
        let mut out = String::new();
        loop {
            let start = self.at;
            while !matches!(self.peek(), Some(b'"' | b'\\' | 0..=0x1f) | None) {
                self.at += 1;
            }
            out.push_str(&self.text[start..self.at]);
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(out);
                }
                Some(b'\\') => self.escape(&mut out)?,
                Some(_) => return Err(self.problem("a control character in a text")),
                None => return Err(self.problem("the text ends early")),
            }
        }
    }

    fn escape(&mut self, out: &mut String) -> Result<()> {
        self.at += 1;
        let escaped = match self.peek() {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                self.at += 1;
                out.push(self.unicode()?);
                return Ok(());
            }
            _ => return Err(self.problem("an unknown escape")),
        };
        self.at += 1;
        out.push(escaped);
        Ok(())
    }

    fn unicode(&mut self) -> Result<char> {
        let unit = self.hex()?;
        if !(0xd800..0xdc00).contains(&unit) {
            return Ok(char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER));
        }
        if !self.text[self.at..].starts_with("\\u") {
            return Ok(char::REPLACEMENT_CHARACTER);
        }
        let back = self.at;
        self.at += 2;
        let low = self.hex()?;
        if !(0xdc00..0xe000).contains(&low) {
            self.at = back;
            return Ok(char::REPLACEMENT_CHARACTER);
        }
        let code = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
        Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    fn hex(&mut self) -> Result<u32> {
        let digits = self.text.get(self.at..self.at + 4);
        let code = digits
            .filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()))
            .and_then(|digits| u32::from_str_radix(digits, 16).ok());
        let code = code.ok_or_else(|| self.problem("expected four hexadecimal digits"))?;
        self.at += 4;
        Ok(code)
    }
}
