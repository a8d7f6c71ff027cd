//! Finds reachable values: for garbage collection and for saving.

use std::collections::BTreeSet;

use super::heap::{Heap, awaitable_size, cell_size, closure_size, list_size, record_size};
use super::record::Record;
use super::text::Text;
use super::value::Value;

/// Texts up to this length are counted at every reference.
const MAX_UNTRACKED_TEXT: usize = 64;

/// The reachable objects, by arena.
#[derive(Debug, Default)]
pub(crate) struct ReachableMarks {
    pub(crate) lists: Vec<bool>,
    pub(crate) records: Vec<bool>,
    pub(crate) functions: Vec<bool>,
    pub(crate) cells: Vec<bool>,
    pub(crate) awaitables: Vec<bool>,
    text_bytes: usize,
    /// Long texts that are already counted: a text may have many references.
    texts: BTreeSet<usize>,
}

impl ReachableMarks {
    /// Marks everything reachable from the roots.
    pub(crate) fn from_roots(heap: &Heap, roots: Vec<Value>) -> Self {
        let mut marks = Self {
            lists: vec![false; heap.lists.len()],
            records: vec![false; heap.records.len()],
            functions: vec![false; heap.functions.len()],
            cells: vec![false; heap.cells.len()],
            awaitables: vec![false; heap.awaitables.len()],
            text_bytes: 0,
            texts: BTreeSet::new(),
        };
        marks.reach(heap, roots);
        marks
    }

    /// Marks everything reachable from more roots.
    pub(crate) fn reach(&mut self, heap: &Heap, roots: Vec<Value>) {
        let mut todo = roots;
        while let Some(value) = todo.pop() {
            match value {
                Value::List(at) | Value::Accessor(at) if mark(&mut self.lists, at.0) => {
                    todo.extend(heap.lists.get(at).into_iter().flatten().cloned());
                    todo.extend(heap.list_props.get(&at).copied().map(Value::Record));
                }
                Value::Record(at) if mark(&mut self.records, at.0) => {
                    for (name, value) in heap.records.get(at).map_or(&[][..], |it| it.entries()) {
                        self.count(name);
                        todo.push(value.clone());
                    }
                    if let Some(extra) = heap.records.get(at).and_then(Record::extra) {
                        extra.references(&mut todo);
                    }
                }
                Value::Function(at) if mark(&mut self.functions, at.0) => {
                    let closure = heap.functions.get(at);
                    let cells = closure.into_iter().flat_map(|it| it.cells.iter());
                    todo.extend(cells.map(|cell| Value::Cell(*cell)));
                    let extra = closure.and_then(|it| it.extra.as_ref());
                    todo.extend(extra.into_iter().flat_map(|it| it.references()));
                    if let Some(native) = extra.and_then(|it| it.native.as_ref()) {
                        native.references(&mut todo);
                    }
                }
                Value::Cell(at) if mark(&mut self.cells, at.0) => {
                    todo.extend(heap.cells.get(at).cloned());
                }
                Value::Awaitable(at) if mark(&mut self.awaitables, at.0) => {
                    if let Some(awaitable) = heap.awaitables.get(at) {
                        awaitable.references(heap, &mut todo);
                    }
                }
                Value::Text(text) | Value::Verbatim(text) => self.count(&text),
                _ => {}
            }
        }
    }
}

impl ReachableMarks {
    fn count(&mut self, text: &Text) {
        if text.bytes() <= MAX_UNTRACKED_TEXT || self.texts.insert(text.address()) {
            self.text_bytes += text.bytes();
        }
    }
}

/// Marks an index; returns whether it was not marked before.
fn mark(marks: &mut [bool], at: u32) -> bool {
    marks.get_mut(at as usize).is_some_and(|marked| !std::mem::replace(marked, true))
}

impl Heap {
    /// Removes unmarked objects and computes the size of the rest.
    pub(crate) fn sweep(&mut self, marks: &ReachableMarks) {
        let mut bytes = marks.text_bytes;
        bytes += self.lists.sweep(&marks.lists, |list| list_size(list));
        bytes += self.records.sweep(&marks.records, record_size);
        bytes += self.functions.sweep(&marks.functions, closure_size);
        bytes += self.cells.sweep(&marks.cells, |_| cell_size());
        bytes += self.awaitables.sweep(&marks.awaitables, awaitable_size);
        let lists = &self.lists;
        self.list_props.retain(|at, _| lists.get(*at).is_some());
        self.bytes = bytes;
    }
}
