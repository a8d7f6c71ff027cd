//! A regular expression as a value of a script.

use crate::vm::{Text, Value};

/// A regular expression as an object.
#[derive(Debug, Clone)]
pub(crate) struct RegexState {
    pub(crate) source: Text,
    pub(crate) flags: Text,
    /// The property `lastIndex`, which scripts may set to anything.
    pub(crate) last_index: Value,
}

impl RegexState {
    pub(crate) fn property(&self, name: &str) -> Option<Value> {
        let has = |flag: char| Value::Bool(self.flags.as_str().contains(flag));
        Some(match name {
            "source" => Value::Text(self.source.clone()),
            "flags" => Value::Text(self.flags.clone()),
            "lastIndex" => self.last_index.clone(),
            "global" => has('g'),
            "ignoreCase" => has('i'),
            "multiline" => has('m'),
            "dotAll" => has('s'),
            "unicode" => has('u'),
            "sticky" => has('y'),
            "hasIndices" | "unicodeSets" => Value::Bool(false),
            _ => return None,
        })
    }
}
