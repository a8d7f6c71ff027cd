//! Texts in other forms: parts of addresses, Base64; and copies of values.

use std::collections::BTreeMap;

use crate::library::Builtin;
use crate::vm::{
    Collection, Inner, Machine, Proto, Raise, RaiseKind, Record, RecordRef, Value, VmResult,
    type_error, unsupported,
};

/// Characters that stay as they are in a part of an address, and in a whole one.
const UNRESERVED: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.!~*'()";
const RESERVED: &str = ";/?:@&=+$,#";

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The depth to which values are copied.
const MAX_COPY_DEPTH: usize = 200;

impl Machine<'_> {
    pub(super) fn encode(&mut self, function: Builtin, value: &Value) -> VmResult<Value> {
        let text = self.string_of(value)?;
        let text = text.as_str();
        self.spend(text.len());
        let coded = match function {
            Builtin::EncodeUriComponent => percent_encode(text, ""),
            Builtin::EncodeUri => percent_encode(text, RESERVED),
            Builtin::DecodeUriComponent => {
                percent_decode(text, "").ok_or_else(|| named("URIError", "a malformed address"))?
            }
            Builtin::DecodeUri => percent_decode(text, RESERVED)
                .ok_or_else(|| named("URIError", "a malformed address"))?,
            Builtin::Btoa => {
                let bytes: Option<Vec<u8>> =
                    text.chars().map(|c| u8::try_from(u32::from(c)).ok()).collect();
                let bytes = bytes.ok_or_else(|| {
                    named("InvalidCharacterError", "`btoa` encodes characters up to U+00FF")
                })?;
                base64(&bytes)
            }
            _ => from_base64(text)
                .ok_or_else(|| named("InvalidCharacterError", "this is not Base64"))?,
        };
        self.new_text(coded)
    }

    /// `structuredClone`
    pub(super) fn structured_clone(&mut self, value: &Value) -> VmResult<Value> {
        self.copy(value, &mut BTreeMap::new(), 0)
    }

    fn copy(
        &mut self,
        value: &Value,
        known: &mut BTreeMap<(bool, u32), Value>,
        depth: usize,
    ) -> VmResult<Value> {
        if depth > MAX_COPY_DEPTH {
            return Err(unsupported("the value is nested too deeply to be copied"));
        }
        self.spend(1);
        match value {
            Value::Function(_) | Value::Builtin(_) | Value::Awaitable(_) => {
                let text = format!("{} cannot be cloned", value.kind_name());
                Err(named("DataCloneError", &text))
            }
            Value::List(at) => {
                if let Some(copy) = known.get(&(true, at.0)) {
                    return Ok(copy.clone());
                }
                let items = self.heap.lists.get(*at).cloned().unwrap_or_default();
                let copy = self.heap.list(Vec::new());
                known.insert((true, at.0), Value::List(copy));
                let mut copied = Vec::with_capacity(items.len());
                for item in &items {
                    copied.push(self.copy(item, known, depth + 1)?);
                }
                self.heap.grow(copied.len());
                if let Some(list) = self.heap.lists.get_mut(copy) {
                    *list = copied;
                }
                self.check_burst()?;
                Ok(Value::List(copy))
            }
            Value::Record(at) => {
                if let Some(copy) = known.get(&(false, at.0)) {
                    return Ok(copy.clone());
                }
                self.copy_record(value, *at, known, depth)
            }
            plain => Ok(plain.clone()),
        }
    }

    fn copy_record(
        &mut self,
        value: &Value,
        at: RecordRef,
        known: &mut BTreeMap<(bool, u32), Value>,
        depth: usize,
    ) -> VmResult<Value> {
        let Some(record) = self.heap.records.get(at).cloned() else { return Ok(Value::Undefined) };
        let mut copy = Record::default();
        if record.is_error() {
            // Errors are copied whole; the class of the script is lost, as in JavaScript.
            copy = record.clone();
            if let Proto::Class(class) = self.class_of(at)
                && record.extra().is_some()
            {
                copy.extra_mut().proto = Proto::Class(class);
            }
            let made = self.heap.new_record(copy);
            known.insert((false, at.0), made.clone());
            return Ok(made);
        }
        match record.inner() {
            Inner::None | Inner::Error => {}
            Inner::Iterator(_) => {
                return Err(named("DataCloneError", "an iterator cannot be cloned"));
            }
            inner => {
                let class = self.class_of(at);
                copy.extra_mut().inner = inner.clone();
                copy.extra_mut().proto = class;
            }
        }
        let made = self.heap.record(copy);
        known.insert((false, at.0), Value::Record(made));
        if let Inner::Map(items) | Inner::Set(items) = record.inner() {
            let mut copied = Collection::default();
            for (_, key, value) in items.entries() {
                let key = self.copy(key, known, depth + 1)?;
                let value = self.copy(value, known, depth + 1)?;
                copied.set(key, value);
            }
            let inner = match record.inner() {
                Inner::Map(_) => Inner::Map(copied),
                _ => Inner::Set(copied),
            };
            if let Some(slot) = self.heap.records.get_mut(made).and_then(Record::inner_mut) {
                *slot = inner;
            }
        }
        for (name, item) in self.properties(value)? {
            let item = self.copy(&item, known, depth + 1)?;
            self.put_own(made, name, item)?;
        }
        Ok(Value::Record(made))
    }
}

/// An error of a class that scripts catch by its name.
fn named(name: &'static str, message: &str) -> Raise {
    Raise(Box::new(RaiseKind::Error { name, code: name, message: message.to_owned() }))
}

fn percent_encode(text: &str, more: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if UNRESERVED.contains(c) || more.contains(c) {
            out.push(c);
            continue;
        }
        let mut bytes = [0; 4];
        for byte in c.encode_utf8(&mut bytes).bytes() {
            out.push('%');
            for half in [byte >> 4, byte & 15] {
                out.extend(char::from_digit(u32::from(half), 16).map(|c| c.to_ascii_uppercase()));
            }
        }
    }
    out
}

/// Decodes escapes, but not those of characters in `kept`.
fn percent_decode(text: &str, kept: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        if *byte != b'%' {
            out.push(*byte);
            at += 1;
            continue;
        }
        let read = |at: usize| {
            let digits = bytes.get(at..at + 3)?;
            let [b'%', one, other] = digits else { return None };
            let digit = |byte: u8| char::from(byte).to_digit(16);
            u8::try_from(digit(*one)? * 16 + digit(*other)?).ok()
        };
        let first = read(at)?;
        let length = match first {
            0..=0x7f => 1,
            0xc2..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf4 => 4,
            _ => return None,
        };
        let character: Option<Vec<u8>> = (0..length).map(|index| read(at + index * 3)).collect();
        let character = character?;
        let decoded = std::str::from_utf8(&character).ok()?;
        if kept.contains(decoded) && length == 1 {
            out.extend(bytes.get(at..at + 3)?);
        } else {
            out.extend(decoded.bytes());
        }
        at += length * 3;
    }
    String::from_utf8(out).ok()
}

fn base64(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or_default());
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4_usize {
            let index = (bits >> (18 - place * 6)) & 63;
            let sign = BASE64.get(index as usize).copied().unwrap_or(b'=');
            out.push(if place > chunk.len() { '=' } else { char::from(sign) });
        }
    }
    out
}

fn from_base64(text: &str) -> Option<String> {
    let mut signs: Vec<u8> =
        text.bytes().filter(|it| !matches!(it, b' ' | b'\t' | b'\n' | b'\r' | 0x0c)).collect();
    if signs.len().is_multiple_of(4) {
        for _ in 0..2 {
            if signs.last() == Some(&b'=') {
                signs.pop();
            }
        }
    }
    if signs.len() % 4 == 1 {
        return None;
    }
    let mut out = String::new();
    for chunk in signs.chunks(4) {
        let mut bits = 0u32;
        for place in 0..4 {
            let value = match chunk.get(place) {
                Some(sign) => BASE64.iter().position(|known| known == sign)?,
                None => 0,
            };
            bits = bits << 6 | u32::try_from(value).ok()?;
        }
        for place in 0..chunk.len().saturating_sub(1) {
            out.extend(char::from_u32((bits >> (16 - place * 8)) & 0xff));
        }
    }
    Some(out)
}

/// Rejects a value that is not an object.
pub(super) fn need_object(value: &Value, of: &str) -> VmResult<()> {
    match value {
        Value::Record(_) => Ok(()),
        Value::List(_) | Value::Function(_) | Value::Builtin(_) => {
            Err(unsupported(format!("`{of}` of {}", value.kind_name())))
        }
        other => Err(type_error(format!("`{of}` needs an object, not {}", other.kind_name()))),
    }
}
