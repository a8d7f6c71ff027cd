//! The writes of a branch: paths with values, on top of a shared context (JP1, JR1).
//!
//! A branch sees its own writes first. The deepest written path wins; removed keys are recorded as
//! removed. The difference of two objects is recursive; lists and scalars are compared as a whole.

use meantime_core::{Fault, Json};
use meantime_value::Value;
use minicbor::{Decode, Encode};

use crate::json;

/// The writes below one path, in the order of the first write to each name.
#[derive(Debug, Clone, PartialEq, Default, Encode, Decode)]
pub(super) struct Overlay {
    #[n(0)]
    entries: Vec<OverlayEntry>,
}

#[derive(Debug, Clone, PartialEq, Encode, Decode)]
struct OverlayEntry {
    #[n(0)]
    name: String,
    #[n(1)]
    change: OverlayChange,
}

#[derive(Debug, Clone, PartialEq, Encode, Decode)]
enum OverlayChange {
    #[n(0)]
    Value(#[n(0)] Json),
    #[n(1)]
    Removed,
    #[n(2)]
    Below(#[n(0)] Overlay),
}

/// One write: a path and its new value; none is a removal.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ContextChange {
    pub(super) path: Vec<String>,
    pub(super) value: Option<Value>,
}

impl ContextChange {
    pub(super) fn put(path: Vec<String>, value: Value) -> Self {
        Self { path, value: Some(value) }
    }

    pub(super) fn remove(path: Vec<String>) -> Self {
        Self { path, value: None }
    }

    /// The value after the change.
    pub(super) fn apply(&self, to: &Value) -> Value {
        match &self.value {
            Some(value) => json::put(to, &self.path, value.clone()),
            None => json::without(to, &self.path),
        }
    }
}

impl Overlay {
    /// Records a change.
    pub(super) fn record_change(&mut self, change: &ContextChange) -> Result<(), Fault> {
        self.record_change_at(&change.path, change.value.as_ref())
    }

    fn record_change_at(&mut self, path: &[String], value: Option<&Value>) -> Result<(), Fault> {
        let Some((name, rest)) = path.split_first() else { return Ok(()) };
        let index = self.entries.iter().position(|it| it.name == *name);
        let change = index.and_then(|index| self.entries.get_mut(index)).map(|it| &mut it.change);
        let new = if rest.is_empty() {
            match value {
                Some(value) => OverlayChange::Value(json::document(value)?),
                None => OverlayChange::Removed,
            }
        } else {
            match change.as_deref() {
                None => {
                    let mut below = Self::default();
                    below.record_change_at(rest, value)?;
                    OverlayChange::Below(below)
                }
                Some(OverlayChange::Below(below)) => {
                    let mut below = below.clone();
                    below.record_change_at(rest, value)?;
                    OverlayChange::Below(below)
                }
                Some(OverlayChange::Value(whole)) => {
                    let change = ContextChange { path: rest.to_vec(), value: value.cloned() };
                    OverlayChange::Value(json::document(&change.apply(&json::parse(whole)?))?)
                }
                Some(OverlayChange::Removed) => {
                    let change = ContextChange { path: rest.to_vec(), value: value.cloned() };
                    OverlayChange::Value(json::document(&change.apply(&json::object_of([])))?)
                }
            }
        };
        match change {
            Some(change) => *change = new,
            None => self.entries.push(OverlayEntry { name: name.clone(), change: new }),
        }
        Ok(())
    }

    /// A shared value as the branch sees it.
    pub(super) fn apply_to(&self, shared: &Value) -> Result<Value, Fault> {
        self.entries.iter().try_fold(shared.clone(), |value, entries| {
            let path = std::slice::from_ref(&entries.name);
            Ok(match &entries.change {
                OverlayChange::Value(new) => json::put(&value, path, json::parse(new)?),
                OverlayChange::Removed => json::without(&value, path),
                OverlayChange::Below(below) => {
                    let inner = json::get(&value, path).cloned().unwrap_or_default();
                    json::put(&value, path, below.apply_to(&inner)?)
                }
            })
        })
    }
}

/// The changes that turn one object into another.
pub(super) fn difference(old: &Value, new: &Value) -> Vec<ContextChange> {
    let mut changes = Vec::new();
    collect_changes(&mut Vec::new(), old, new, &mut changes);
    changes
}

fn collect_changes(
    path: &mut Vec<String>,
    old: &Value,
    new: &Value,
    changes: &mut Vec<ContextChange>,
) {
    let (Some(before), Some(after)) = (json::object(old), json::object(new)) else {
        if old != new {
            changes.push(ContextChange::put(path.clone(), new.clone()));
        }
        return;
    };
    for entry in before.entries() {
        let name = entry.key.name();
        if after.get(name).is_none() {
            path.push(name.to_string());
            changes.push(ContextChange::remove(path.clone()));
            path.pop();
        }
    }
    for entry in after.entries() {
        let name = entry.key.name();
        path.push(name.to_string());
        match before.get(name) {
            Some(old) => collect_changes(path, old, &entry.value, changes),
            None => changes.push(ContextChange::put(path.clone(), entry.value.clone())),
        }
        path.pop();
    }
}
