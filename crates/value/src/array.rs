//! Arrays that know how deeply they are nested.

use std::ops::Deref;

use super::Value;

/// A list of values.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Array {
    items: Vec<Value>,
    depth: u32,
}

impl Array {
    /// Adds a value at the end.
    pub fn push(&mut self, value: Value) {
        self.depth = self.depth.max(value.depth());
        self.items.push(value);
    }

    /// Adds values at the end.
    pub fn extend_from_slice(&mut self, values: &[Value]) {
        self.depth = self.depth.max(deepest(values));
        self.items.extend_from_slice(values);
    }

    /// Levels of containers, this one included.
    pub fn depth(&self) -> u32 {
        self.depth.saturating_add(1)
    }
}

fn deepest(values: &[Value]) -> u32 {
    values.iter().map(Value::depth).max().unwrap_or(0)
}

impl From<Vec<Value>> for Array {
    fn from(items: Vec<Value>) -> Self {
        Self { depth: deepest(&items), items }
    }
}

impl Deref for Array {
    type Target = [Value];

    fn deref(&self) -> &[Value] {
        &self.items
    }
}
