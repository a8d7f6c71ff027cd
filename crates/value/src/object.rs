//! Objects: keys with values, in order; a key may occur more than once.

use std::sync::Arc;

use super::{Text, Value};

/// A prefix and the name that it represents, as in XML.
#[derive(Debug, Clone, PartialEq)]
pub struct Namespace {
    /// The prefix in the source.
    pub prefix: Text,
    /// The name.
    pub uri: Text,
}

/// Rarely used parts of a key.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct KeyDetail {
    /// The namespace.
    pub namespace: Option<Namespace>,
    /// Attributes, as in XML.
    pub attributes: Object,
}

/// A key: a name, and rarely more.
#[derive(Debug, Clone)]
pub struct Key {
    name: Text,
    detail: Option<Arc<KeyDetail>>,
}

impl Key {
    /// A key that is only a name.
    pub fn new(name: impl Into<Text>) -> Self {
        Self { name: name.into(), detail: None }
    }

    /// A key with a namespace or attributes.
    pub fn with_detail(name: impl Into<Text>, detail: KeyDetail) -> Self {
        let plain = detail.namespace.is_none() && detail.attributes.is_empty();
        Self { name: name.into(), detail: (!plain).then(|| Arc::new(detail)) }
    }

    /// The name.
    pub fn name(&self) -> &Text {
        &self.name
    }

    /// Whether it is only a name.
    pub fn is_name(&self) -> bool {
        self.detail.is_none()
    }

    /// The namespace.
    pub fn namespace(&self) -> Option<&Namespace> {
        self.detail.as_ref()?.namespace.as_ref()
    }

    /// The attributes.
    pub fn attributes(&self) -> Option<&Object> {
        self.detail.as_ref().map(|detail| &detail.attributes)
    }
}

/// Keys are equal if name and namespace are; attributes are not compared.
impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        let uri = |key: &Self| key.namespace().map(|namespace| namespace.uri.clone());
        self.name == other.name && uri(self) == uri(other)
    }
}

/// One pair of an object.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The key.
    pub key: Key,
    /// Its value.
    pub value: Value,
}

impl Entry {
    fn depth(&self) -> u32 {
        let attributes = self.key.attributes().map_or(0, Object::depth);
        self.value.depth().max(attributes)
    }
}

/// Pairs in order.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Object {
    entries: Vec<Entry>,
    depth: u32,
}

impl Object {
    /// An empty object with room for so many pairs.
    pub fn with_capacity(capacity: usize) -> Self {
        Self { entries: Vec::with_capacity(capacity), depth: 0 }
    }

    /// Adds a pair at the end, even if the key exists already.
    pub fn push(&mut self, key: Key, value: Value) {
        self.add(Entry { key, value });
    }

    /// Adds a pair at the end.
    pub fn add(&mut self, entry: Entry) {
        self.depth = self.depth.max(entry.depth());
        self.entries.push(entry);
    }

    /// Adds a pair with a plain name.
    pub fn insert(&mut self, name: &str, value: impl Into<Value>) {
        self.push(Key::new(name), value.into());
    }

    /// The first value with that name.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.find(name).map(|entry| &entry.value)
    }

    /// The first pair with that name.
    pub fn find(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| &**entry.key.name() == name)
    }

    /// The pairs.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Replaces the value at a position.
    pub fn replace(&mut self, index: usize, value: Value) {
        self.depth = self.depth.max(value.depth());
        if let Some(entry) = self.entries.get_mut(index) {
            entry.value = value;
        }
    }

    /// Replaces the key at a position.
    pub fn rename(&mut self, index: usize, key: Key) {
        self.depth = self.depth.max(key.attributes().map_or(0, Self::depth));
        if let Some(entry) = self.entries.get_mut(index) {
            entry.key = key;
        }
    }

    /// Levels of containers, this one included.
    pub fn depth(&self) -> u32 {
        self.depth.saturating_add(1)
    }

    /// Number of pairs.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is no pair.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

impl FromIterator<Entry> for Object {
    fn from_iter<I: IntoIterator<Item = Entry>>(entries: I) -> Self {
        let mut object = Self::default();
        entries.into_iter().for_each(|entry| object.add(entry));
        object
    }
}
