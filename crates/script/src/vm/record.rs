//! Objects: properties in insertion order, and the iteration order of JavaScript.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::collection::Collection;
use super::convert::index_of_name;
use super::regex::RegexState;
use super::text::Text;
use super::value::{RecordRef, Value};
use crate::library::Builtin;

/// Larger objects also have an index.
const MAX_UNINDEXED_PROPERTIES: usize = 12;

/// The properties of an object.
#[derive(Debug, Clone, Default)]
pub(crate) struct Record {
    entries: Vec<(Text, Value)>,
    /// Only for large objects. A tree, not a hash table, so that names cannot be chosen to collide.
    index: Option<BTreeMap<Text, u32>>,
    /// Whether a name is an array index, which changes the iteration order.
    has_index: bool,
    /// What a plain object does not have.
    extra: Option<Box<Extra>>,
}

/// What makes an object more than plain data.
#[derive(Debug, Clone, Default)]
pub(crate) struct Extra {
    pub(crate) proto: Proto,
    pub(crate) inner: Inner,
    /// Names of properties that loops and copies do not see.
    pub(crate) hidden: Vec<Text>,
    pub(crate) integrity: Integrity,
}

impl Extra {
    /// Adds the values that it refers to.
    pub(crate) fn references(&self, found: &mut Vec<Value>) {
        if let Proto::Record(at) = self.proto {
            found.push(Value::Record(at));
        }
        match &self.inner {
            Inner::Map(items) | Inner::Set(items) => {
                for (_, key, value) in items.entries() {
                    found.extend([key.clone(), value.clone()]);
                }
            }
            Inner::Iterator(it) => found.push(it.over.clone()),
            Inner::None | Inner::Error | Inner::Date(_) | Inner::Regex(_) => {}
        }
    }
}

/// What an object inherits from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Proto {
    #[default]
    Object,
    Nothing,
    Record(RecordRef),
    /// A class of the library.
    Class(Builtin),
}

/// The data of an object of a library class.
#[derive(Debug, Clone, Default)]
pub(crate) enum Inner {
    #[default]
    None,
    Error,
    Map(Collection),
    Set(Collection),
    /// Milliseconds since 1970.
    Date(f64),
    Regex(RegexState),
    Iterator(IteratorState),
}

/// An iterator of the library: over what, from where, and which part.
#[derive(Debug, Clone)]
pub(crate) struct IteratorState {
    pub(crate) over: Value,
    pub(crate) next: usize,
    pub(crate) part: Part,
}

/// What an iterator returns of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Key,
    Value,
    Entry,
}

/// How far an object can still change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Integrity {
    #[default]
    Open,
    NotExtensible,
    Sealed,
    Frozen,
}

/// The beginning of the names of private fields, which no script can write.
const PRIVATE: char = '\u{1}';

impl Record {
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The properties in insertion order.
    pub(crate) fn entries(&self) -> &[(Text, Value)] {
        &self.entries
    }

    /// The properties in JavaScript's order: array indices first, by number.
    pub(crate) fn ordered(&self) -> Cow<'_, [(Text, Value)]> {
        let index = |entry: &(Text, Value)| index_of_name(entry.0.as_str());
        if !self.has_index {
            return Cow::Borrowed(&self.entries);
        }
        let mut entries = self.entries.clone();
        entries.sort_by_key(|entry| index(entry).map_or((true, 0), |it| (false, it)));
        Cow::Owned(entries)
    }

    pub(crate) fn extra(&self) -> Option<&Extra> {
        self.extra.as_deref()
    }

    pub(crate) fn extra_mut(&mut self) -> &mut Extra {
        self.extra.get_or_insert_default()
    }

    pub(crate) fn set_extra(&mut self, extra: Extra) {
        self.extra = Some(Box::new(extra));
    }

    pub(crate) fn proto(&self) -> Proto {
        self.extra.as_ref().map_or(Proto::Object, |extra| extra.proto)
    }

    pub(crate) fn inner(&self) -> &Inner {
        self.extra.as_ref().map_or(&Inner::None, |extra| &extra.inner)
    }

    pub(crate) fn inner_mut(&mut self) -> Option<&mut Inner> {
        self.extra.as_mut().map(|extra| &mut extra.inner)
    }

    pub(crate) fn integrity(&self) -> Integrity {
        self.extra.as_ref().map_or(Integrity::Open, |extra| extra.integrity)
    }

    /// Sets a property that loops and copies do not see.
    pub(crate) fn set_hidden(&mut self, name: Text, value: Value) {
        let extra = self.extra_mut();
        if !extra.hidden.iter().any(|known| known.same(&name)) {
            extra.hidden.push(name.clone());
        }
        self.set(name, value);
    }

    /// The properties that a loop or a copy sees. As in JavaScript, those that describe an error
    /// are excluded.
    pub(crate) fn enumerable(&self) -> Vec<(Text, Value)> {
        let mut entries = self.ordered().into_owned();
        if let Some(extra) = &self.extra
            && !extra.hidden.is_empty()
        {
            entries.retain(|(key, _)| !extra.hidden.iter().any(|hidden| hidden.same(key)));
        }
        if let (Some((name, _)), false) = (self.error_parts(), self.is_made_error()) {
            entries.retain(|(key, value)| match key.as_str() {
                "name" | "message" | "line" | "column" => false,
                "code" => !matches!(value, Value::Text(code) if code.as_str() == name),
                _ => true,
            });
        }
        entries
    }

    /// Name and message, if it is an error: created by `new Error` or by the engine, so that it has
    /// a position.
    pub(crate) fn error_parts(&self) -> Option<(&str, &str)> {
        let text = |name: &str| match self.get_str(name) {
            Some(Value::Text(text)) => Some(text.as_str()),
            _ => None,
        };
        let number = |name: &str| matches!(self.get_str(name), Some(Value::Int(_)));
        let parts = (text("name")?, text("message")?);
        (number("line") && number("column")).then_some(parts)
    }

    pub(crate) fn is_error(&self) -> bool {
        self.is_made_error() || self.error_parts().is_some()
    }

    /// Whether it was created as an error of a class, not only with the properties of one.
    pub(crate) fn is_made_error(&self) -> bool {
        matches!(self.inner(), Inner::Error)
    }

    /// Whether a name is that of a private field.
    pub(crate) fn is_private(name: &str) -> bool {
        name.starts_with(PRIVATE)
    }

    fn index_of(&self, name: &Text) -> Option<usize> {
        match &self.index {
            Some(index) => index.get(name).map(|item_index| *item_index as usize),
            None => self.entries.iter().position(|(known, _)| known.same(name)),
        }
    }

    pub(crate) fn get(&self, name: &Text) -> Option<&Value> {
        self.index_of(name)
            .and_then(|item_index| self.entries.get(item_index))
            .map(|(_, value)| value)
    }

    /// By a name that is not a text of the script.
    pub(crate) fn get_str(&self, name: &str) -> Option<&Value> {
        let found = self.entries.iter().find(|(known, _)| known.as_str() == name);
        found.map(|(_, value)| value)
    }

    /// Sets a property; returns whether it is new.
    pub(crate) fn set(&mut self, name: Text, value: Value) -> bool {
        if let Some(entry) =
            self.index_of(&name).and_then(|item_index| self.entries.get_mut(item_index))
        {
            entry.1 = value;
            return false;
        }
        self.has_index |= index_of_name(name.as_str()).is_some();
        if let Some(index) = &mut self.index {
            index.insert(name.clone(), u32::try_from(self.entries.len()).unwrap_or(u32::MAX));
        }
        self.entries.push((name, value));
        if self.index.is_none() && self.entries.len() > MAX_UNINDEXED_PROPERTIES {
            self.build_index();
        }
        true
    }

    pub(crate) fn remove(&mut self, name: &Text) -> bool {
        let Some(item_index) = self.index_of(name) else { return false };
        self.entries.remove(item_index);
        if let Some(extra) = &mut self.extra {
            extra.hidden.retain(|hidden| !hidden.same(name));
        }
        if self.index.is_some() {
            self.build_index();
        }
        true
    }

    fn build_index(&mut self) {
        let entries = self.entries.iter().zip(0u32..);
        self.index = Some(entries.map(|((name, _), at)| (name.clone(), at)).collect());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_is_that_of_making_also_when_large() {
        let mut record = Record::default();
        for number in 0..100 {
            record.set(Text::new(format!("k{number}")), Value::Int(number));
        }
        assert!(!record.set("k3".into(), Value::Int(-3)));
        assert!(record.remove(&"k0".into()) && !record.remove(&"k0".into()));
        let names: Vec<&str> = record.entries().iter().take(3).map(|it| it.0.as_str()).collect();
        assert_eq!(names, ["k1", "k2", "k3"]);
        assert!(matches!(record.get(&"k3".into()), Some(Value::Int(-3))));
        assert!(matches!(record.get(&"k99".into()), Some(Value::Int(99))));
        assert_eq!(record.len(), 99);
    }
}
