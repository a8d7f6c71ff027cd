//! What a branch has written: paths with values, over a context that others share (JP1, JR1).
//!
//! A branch reads its own writes first. The deepest written path wins; a removed key is remembered
//! as removed. The difference between two objects is recursive; lists and scalars are whole.

use meantime_core::{Fault, Json};
use meantime_expr::value::Value;
use minicbor::{Decode, Encode};

use crate::json;

/// Writes below some place, in the order of the first write to each name.
#[derive(Debug, Clone, PartialEq, Default, Encode, Decode)]
pub(super) struct Overlay {
    #[n(0)]
    written: Vec<Written>,
}

#[derive(Debug, Clone, PartialEq, Encode, Decode)]
struct Written {
    #[n(0)]
    name: String,
    #[n(1)]
    what: What,
}

#[derive(Debug, Clone, PartialEq, Encode, Decode)]
enum What {
    #[n(0)]
    Value(#[n(0)] Json),
    #[n(1)]
    Removed,
    #[n(2)]
    Below(#[n(0)] Overlay),
}

/// One write: a path and what is there now; nothing is a removal.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Change {
    pub(super) path: Vec<String>,
    pub(super) value: Option<Value>,
}

impl Change {
    pub(super) fn put(path: Vec<String>, value: Value) -> Self {
        Self { path, value: Some(value) }
    }

    pub(super) fn remove(path: Vec<String>) -> Self {
        Self { path, value: None }
    }

    /// The value with the change made.
    pub(super) fn apply(&self, to: &Value) -> Value {
        match &self.value {
            Some(value) => json::put(to, &self.path, value.clone()),
            None => json::without(to, &self.path),
        }
    }
}

impl Overlay {
    /// Remembers a change.
    pub(super) fn note(&mut self, change: &Change) -> Result<(), Fault> {
        self.note_at(&change.path, change.value.as_ref())
    }

    fn note_at(&mut self, path: &[String], value: Option<&Value>) -> Result<(), Fault> {
        let Some((name, rest)) = path.split_first() else { return Ok(()) };
        let place = self.written.iter().position(|it| it.name == *name);
        let what = place.and_then(|place| self.written.get_mut(place)).map(|it| &mut it.what);
        let new = if rest.is_empty() {
            match value {
                Some(value) => What::Value(json::document(value)?),
                None => What::Removed,
            }
        } else {
            match what.as_deref() {
                None => {
                    let mut below = Self::default();
                    below.note_at(rest, value)?;
                    What::Below(below)
                }
                Some(What::Below(below)) => {
                    let mut below = below.clone();
                    below.note_at(rest, value)?;
                    What::Below(below)
                }
                Some(What::Value(whole)) => {
                    let change = Change { path: rest.to_vec(), value: value.cloned() };
                    What::Value(json::document(&change.apply(&json::parse(whole)?))?)
                }
                Some(What::Removed) => {
                    let change = Change { path: rest.to_vec(), value: value.cloned() };
                    What::Value(json::document(&change.apply(&json::object_of([])))?)
                }
            }
        };
        match what {
            Some(what) => *what = new,
            None => self.written.push(Written { name: name.clone(), what: new }),
        }
        Ok(())
    }

    /// What the branch sees of a shared value.
    pub(super) fn over(&self, shared: &Value) -> Result<Value, Fault> {
        self.written.iter().try_fold(shared.clone(), |value, written| {
            let path = std::slice::from_ref(&written.name);
            Ok(match &written.what {
                What::Value(new) => json::put(&value, path, json::parse(new)?),
                What::Removed => json::without(&value, path),
                What::Below(below) => {
                    let inner = json::get(&value, path).cloned().unwrap_or_default();
                    json::put(&value, path, below.over(&inner)?)
                }
            })
        })
    }
}

/// The changes that make one object into another.
pub(super) fn difference(old: &Value, new: &Value) -> Vec<Change> {
    let mut changes = Vec::new();
    compare(&mut Vec::new(), old, new, &mut changes);
    changes
}

fn compare(path: &mut Vec<String>, old: &Value, new: &Value, changes: &mut Vec<Change>) {
    let (Some(before), Some(after)) = (json::object(old), json::object(new)) else {
        if old != new {
            changes.push(Change::put(path.clone(), new.clone()));
        }
        return;
    };
    for entry in before.entries() {
        let name = entry.key.name();
        if after.get(name).is_none() {
            path.push(name.to_string());
            changes.push(Change::remove(path.clone()));
            path.pop();
        }
    }
    for entry in after.entries() {
        let name = entry.key.name();
        path.push(name.to_string());
        match before.get(name) {
            Some(old) => compare(path, old, &entry.value, changes),
            None => changes.push(Change::put(path.clone(), entry.value.clone())),
        }
        path.pop();
    }
}
