//! The heap: one arena per kind of object, so that a reference always has the right kind.
//!
//! Objects are identified by number. Aliases and cycles are therefore plain data, identity is
//! equality of numbers, and nothing leaks: the whole heap is dropped at the end of a turn.

use std::collections::BTreeMap;

use super::record::{Inner, Proto, Record};
use super::text::Text;
use super::value::{AwaitableRef, CellRef, FunctionRef, ListRef, RecordRef, Reference, Value};
use crate::awaitable::Awaitable;
use crate::promise::NativeFunction;

/// The cost of an object without its contents, in bytes.
const OBJECT_BYTES: usize = 32;
/// The cost of a value in a list or object.
const ENTRY_BYTES: usize = 16;

/// In place of the index of a function of the script.
pub(crate) const NATIVE_FUNCTION: u32 = u32::MAX;

/// A function with its shared variables.
#[derive(Debug, Clone)]
pub(crate) struct Closure {
    pub(crate) function: u32,
    pub(crate) cells: Vec<CellRef>,
    /// What a plain function does not have.
    pub(crate) extra: Option<Box<FunctionExtra>>,
}

/// What classes, methods and functions with properties have.
#[derive(Debug, Clone, Default)]
pub(crate) struct FunctionExtra {
    /// The object whose methods instances inherit.
    pub(crate) prototype: Option<RecordRef>,
    /// Its own properties.
    pub(crate) statics: Option<RecordRef>,
    /// The class that it extends.
    pub(crate) parent: Value,
    /// Where `super` begins to search: the prototype, or the class of a static method.
    pub(crate) home: Value,
    /// The function that defines the fields of new objects.
    pub(crate) fields: Value,
    /// What the machine does in place of code of the script.
    pub(crate) native: Option<NativeFunction>,
}

impl FunctionExtra {
    /// The values that it refers to.
    pub(crate) fn references(&self) -> impl Iterator<Item = Value> {
        let records = [self.prototype, self.statics].into_iter().flatten().map(Value::Record);
        records.chain([self.parent.clone(), self.home.clone(), self.fields.clone()])
    }
}

/// Objects of one kind.
#[derive(Debug, Clone)]
pub(crate) struct Arena<T> {
    slots: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for Arena<T> {
    fn default() -> Self {
        Self { slots: Vec::new(), free: Vec::new() }
    }
}

impl<T> Arena<T> {
    pub(crate) fn add<R: Reference>(&mut self, object: T) -> R {
        if let Some(position) = self.free.pop()
            && let Some(slot) = self.slots.get_mut(position as usize)
        {
            *slot = Some(object);
            return R::at(position);
        }
        self.slots.push(Some(object));
        R::at(u32::try_from(self.slots.len() - 1).unwrap_or(u32::MAX))
    }

    pub(crate) fn get<R: Reference>(&self, at: R) -> Option<&T> {
        self.slots.get(at.index()).and_then(Option::as_ref)
    }

    pub(crate) fn get_mut<R: Reference>(&mut self, at: R) -> Option<&mut T> {
        self.slots.get_mut(at.index()).and_then(Option::as_mut)
    }

    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    /// All objects with their references.
    pub(crate) fn iter<R: Reference>(&self) -> impl Iterator<Item = (R, &T)> {
        let indices = self.slots.iter().zip(0u32..);
        indices.filter_map(|(slot, at)| slot.as_ref().map(|object| (R::at(at), object)))
    }

    /// Removes unmarked objects; returns the total size of the others.
    pub(super) fn sweep(&mut self, marked: &[bool], size: impl Fn(&T) -> usize) -> usize {
        let mut bytes = 0;
        self.free.clear();
        for ((slot, at), marked) in self.slots.iter_mut().zip(0u32..).zip(marked) {
            if !marked {
                *slot = None;
            }
            match slot {
                Some(object) => bytes += size(object),
                None => self.free.push(at),
            }
        }
        // The lowest numbers are reused first.
        self.free.reverse();
        bytes
    }
}

/// All objects that values can refer to.
#[derive(Debug, Clone, Default)]
pub(crate) struct Heap {
    pub(crate) lists: Arena<Vec<Value>>,
    pub(crate) records: Arena<Record>,
    pub(crate) functions: Arena<Closure>,
    pub(crate) cells: Arena<Value>,
    pub(crate) awaitables: Arena<Awaitable>,
    /// Properties of lists besides their elements, such as `index` of a match.
    pub(crate) list_props: BTreeMap<ListRef, RecordRef>,
    /// An estimate of the bytes in use, garbage included.
    pub(crate) bytes: usize,
}

impl Heap {
    pub(crate) fn list(&mut self, items: Vec<Value>) -> ListRef {
        self.bytes += list_size(&items);
        self.lists.add(items)
    }

    pub(crate) fn new_list(&mut self, items: Vec<Value>) -> Value {
        Value::List(self.list(items))
    }

    pub(crate) fn record(&mut self, record: Record) -> RecordRef {
        self.bytes += record_size(&record);
        self.records.add(record)
    }

    pub(crate) fn new_record(&mut self, record: Record) -> Value {
        Value::Record(self.record(record))
    }

    pub(crate) fn cell(&mut self, value: Value) -> CellRef {
        self.bytes += OBJECT_BYTES;
        self.cells.add(value)
    }

    pub(crate) fn function(&mut self, closure: Closure) -> FunctionRef {
        self.bytes += OBJECT_BYTES + closure.cells.len() * 4;
        self.functions.add(closure)
    }

    /// A function that the machine itself performs.
    pub(crate) fn native_function(&mut self, native: NativeFunction) -> Value {
        let extra = FunctionExtra { native: Some(native), ..FunctionExtra::default() };
        let (function, cells, extra) = (NATIVE_FUNCTION, Vec::new(), Some(Box::new(extra)));
        Value::Function(self.function(Closure { function, cells, extra }))
    }

    pub(crate) fn awaitable(&mut self, awaitable: Awaitable) -> AwaitableRef {
        self.bytes += awaitable_size(&awaitable);
        self.awaitables.add(awaitable)
    }

    /// Whether an object inherits a property from a class of the script.
    pub(crate) fn inherits(&self, at: RecordRef, name: &str) -> bool {
        let mut at = at;
        while let Some(Proto::Record(parent)) = self.records.get(at).map(Record::proto) {
            if self.records.get(parent).is_some_and(|it| it.get_str(name).is_some()) {
                return true;
            }
            at = parent;
        }
        false
    }

    /// The name of an error: its own, or that of its class.
    pub(crate) fn error_name(&self, at: RecordRef) -> String {
        let (mut at, name) = (at, Text::new("name"));
        loop {
            let Some(record) = self.records.get(at) else { return "Error".to_owned() };
            if let Some(Value::Text(name)) = record.get(&name) {
                return name.as_str().to_owned();
            }
            match record.proto() {
                Proto::Record(parent) => at = parent,
                Proto::Class(class) => return class.full_name(),
                Proto::Object | Proto::Nothing => return "Error".to_owned(),
            }
        }
    }

    /// A list or object has grown by this many values.
    pub(crate) fn grow(&mut self, values: usize) {
        self.bytes += values * ENTRY_BYTES;
    }

    /// A text was created.
    pub(crate) fn grow_text(&mut self, bytes: usize) {
        self.bytes += OBJECT_BYTES + bytes;
    }
}

pub(super) fn list_size(items: &[Value]) -> usize {
    OBJECT_BYTES + items.len() * ENTRY_BYTES
}

pub(super) fn record_size(record: &Record) -> usize {
    let inner = match record.inner() {
        Inner::None => 0,
        Inner::Map(items) | Inner::Set(items) => OBJECT_BYTES + items.len() * 6 * ENTRY_BYTES,
        _ => 2 * OBJECT_BYTES,
    };
    OBJECT_BYTES + record.len() * 2 * ENTRY_BYTES + inner
}

pub(super) fn cell_size() -> usize {
    OBJECT_BYTES
}

pub(super) fn closure_size(closure: &Closure) -> usize {
    OBJECT_BYTES + closure.cells.len() * 4
}

pub(super) fn awaitable_size(awaitable: &Awaitable) -> usize {
    3 * OBJECT_BYTES + awaitable.weight()
}
