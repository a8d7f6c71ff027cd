//! The entries of a `Map` or a `Set`: found by their key, iterated in the order of insertion.
//!
//! Every entry has a number that only grows, so that an iterator finds its place again, whatever
//! was deleted meanwhile. Trees, not hash tables, so that keys cannot be chosen to collide.

use std::collections::BTreeMap;

use super::text::Text;
use super::value::Value;
use crate::library::Builtin;

/// A value as a key. NaN equals NaN, and zero equals negative zero.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Undefined,
    Null,
    Bool(bool),
    Number(u64),
    Text(Text),
    Verbatim(Text),
    Builtin(Builtin),
    /// An object: its kind and its number.
    Object(u8, u32),
}

impl Key {
    #[expect(clippy::cast_precision_loss, reason = "integers up to 2^53 are exact")]
    fn of(value: &Value) -> Self {
        let number = |it: f64| {
            let it = if it.is_nan() { f64::NAN } else { it };
            Self::Number(if it == 0.0 { 0 } else { it.to_bits() })
        };
        match value {
            Value::Undefined => Self::Undefined,
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Bool(*value),
            Value::Int(value) => number(*value as f64),
            Value::Float(value) => number(*value),
            Value::Text(text) => Self::Text(text.clone()),
            Value::Verbatim(text) => Self::Verbatim(text.clone()),
            Value::Builtin(function) => Self::Builtin(*function),
            Value::List(at) => Self::Object(0, at.0),
            Value::Record(at) => Self::Object(1, at.0),
            Value::Function(at) => Self::Object(2, at.0),
            Value::Awaitable(at) => Self::Object(3, at.0),
            Value::Cell(at) => Self::Object(4, at.0),
            Value::Accessor(at) => Self::Object(5, at.0),
        }
    }
}

/// The entries of a `Map`; a `Set` has its values as keys, too.
#[derive(Debug, Clone, Default)]
pub(crate) struct Collection {
    entries: BTreeMap<u32, (Value, Value)>,
    index: BTreeMap<Key, u32>,
    next: u32,
}

impl Collection {
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn get(&self, key: &Value) -> Option<&Value> {
        let number = self.index.get(&Key::of(key))?;
        self.entries.get(number).map(|(_, value)| value)
    }

    /// Sets an entry; returns whether it is new.
    pub(crate) fn set(&mut self, key: Value, value: Value) -> bool {
        let found = self.index.get(&Key::of(&key)).copied();
        if let Some(entry) = found.and_then(|number| self.entries.get_mut(&number)) {
            entry.1 = value;
            return false;
        }
        self.restore(self.next, key, value);
        true
    }

    /// Adds an entry with its number, in the order of the numbers.
    pub(crate) fn restore(&mut self, number: u32, key: Value, value: Value) {
        // Negative zero becomes zero.
        let key = match key {
            Value::Float(0.0) => Value::Int(0),
            key => key,
        };
        self.index.insert(Key::of(&key), number);
        self.entries.insert(number, (key, value));
        self.next = number.saturating_add(1);
    }

    pub(crate) fn remove(&mut self, key: &Value) -> bool {
        let Some(number) = self.index.remove(&Key::of(key)) else { return false };
        self.entries.remove(&number).is_some()
    }

    pub(crate) fn clear(&mut self) {
        self.entries.clear();
        self.index.clear();
    }

    /// The first entry from a number on, with its number.
    pub(crate) fn entry_from(&self, number: usize) -> Option<(usize, &Value, &Value)> {
        let number = u32::try_from(number).ok()?;
        let (number, (key, value)) = self.entries.range(number..).next()?;
        Some((*number as usize, key, value))
    }

    /// All entries with their numbers, in order.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (u32, &Value, &Value)> {
        self.entries.iter().map(|(number, (key, value))| (*number, key, value))
    }
}
