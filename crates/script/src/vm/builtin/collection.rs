//! `Map`, `Set`, and the iterators of the library.

use super::dispatch::arg;
use crate::library::{Builtin, Method};
use crate::vm::{
    Collection, Extra, Inner, IteratorState, Machine, Part, Proto, Record, RecordRef, Value,
    VmResult, type_error,
};

impl Machine<'_> {
    /// An object of a library class.
    pub(crate) fn new_inner(&mut self, class: Builtin, inner: Inner) -> Value {
        let mut record = Record::default();
        record.set_extra(Extra { proto: Proto::Class(class), inner, ..Extra::default() });
        self.heap.new_record(record)
    }

    /// `new Map(entries)` and `new Set(values)`
    pub(crate) fn new_collection(&mut self, class: Builtin, args: &[Value]) -> VmResult<Value> {
        let mut items = Collection::default();
        let from = arg(args, 0);
        if !from.is_nullish() {
            for item in self.elements(&from)? {
                if class == Builtin::MakeSet {
                    let item = unsigned_zero(item);
                    items.set(item.clone(), item);
                    continue;
                }
                let (key, value) = self.pair(&item)?;
                items.set(key, value);
            }
        }
        self.check_entries(items.len())?;
        self.spend(items.len());
        let inner = if class == Builtin::MakeSet { Inner::Set(items) } else { Inner::Map(items) };
        let made = self.new_inner(class, inner);
        self.check_burst()?;
        Ok(made)
    }

    /// The first two elements of an entry.
    pub(super) fn pair(&mut self, entry: &Value) -> VmResult<(Value, Value)> {
        match entry {
            Value::List(at) => {
                let pair = self.heap.lists.get(*at).cloned().unwrap_or_default();
                Ok((arg(&pair, 0), arg(&pair, 1)))
            }
            Value::Record(_) => {
                let key = self.get_slowly(entry, &"0".into())?;
                let value = self.get_slowly(entry, &"1".into())?;
                Ok((key, value))
            }
            other => Err(type_error(format!("an entry is a list, not {}", other.kind_name()))),
        }
    }

    fn entries_of(&self, at: RecordRef) -> Option<&Collection> {
        match self.heap.records.get(at)?.inner() {
            Inner::Map(items) | Inner::Set(items) => Some(items),
            _ => None,
        }
    }

    fn entries_mut(&mut self, at: RecordRef) -> Option<&mut Collection> {
        match self.heap.records.get_mut(at)?.inner_mut()? {
            Inner::Map(items) | Inner::Set(items) => Some(items),
            _ => None,
        }
    }

    /// Methods of `Map` and `Set`.
    pub(super) fn collection_method(
        &mut self,
        at: RecordRef,
        method: Method,
        args: &[Value],
    ) -> VmResult<Option<Value>> {
        let this = Value::Record(at);
        self.spend(1);
        let key = arg(args, 0);
        let is_map = matches!(self.heap.records.get(at).map(Record::inner), Some(Inner::Map(_)));
        Ok(Some(match method {
            Method::Get => {
                self.entries_of(at).and_then(|it| it.get(&key)).cloned().unwrap_or_default()
            }
            Method::Has => {
                Value::Bool(self.entries_of(at).is_some_and(|it| it.get(&key).is_some()))
            }
            Method::Set | Method::Add => {
                let key = unsigned_zero(key);
                let value = if method == Method::Add { key.clone() } else { arg(args, 1) };
                let count = self.entries_of(at).map_or(0, Collection::len) + 1;
                let is_new = self.entries_mut(at).is_some_and(|it| it.set(key, value));
                if is_new {
                    self.check_entries(count)?;
                    self.heap.grow(6);
                    self.check_burst()?;
                }
                this
            }
            Method::Delete => Value::Bool(self.entries_mut(at).is_some_and(|it| it.remove(&key))),
            Method::Clear => {
                self.entries_mut(at).into_iter().for_each(Collection::clear);
                Value::Undefined
            }
            Method::ForEach => {
                let mut next = 0;
                loop {
                    let Some(entry) = self.entries_of(at).and_then(|it| it.entry_from(next)) else {
                        break Value::Undefined;
                    };
                    let (number, entry_key, value) = (entry.0, entry.1.clone(), entry.2.clone());
                    next = number + 1;
                    self.call_now(&key, arg(args, 1), &[value, entry_key, this.clone()])?;
                }
            }
            Method::Keys | Method::Values | Method::Entries => {
                let part = match method {
                    Method::Keys => Part::Key,
                    Method::Values => Part::Value,
                    _ => Part::Entry,
                };
                self.new_iterator(this, part)
            }
            Method::ToString => Value::text(if is_map { "[object Map]" } else { "[object Set]" }),
            _ => return Ok(None),
        }))
    }

    /// An iterator over a list, a text, a `Map` or a `Set`.
    pub(crate) fn new_iterator(&mut self, over: Value, part: Part) -> Value {
        let state = IteratorState { over, next: 0, part };
        let mut record = Record::default();
        let inner = Inner::Iterator(state);
        record.set_extra(Extra { inner, ..Extra::default() });
        self.heap.new_record(record)
    }

    /// The next value of an iterator of the library; none at its end.
    pub(crate) fn iterator_step(&mut self, at: RecordRef) -> VmResult<Option<Value>> {
        self.spend(1);
        let Some(Inner::Iterator(state)) = self.heap.records.get(at).map(Record::inner) else {
            return Ok(None);
        };
        let IteratorState { over, next, part } = state.clone();
        let index = |at: usize| Value::Int(i64::try_from(at).unwrap_or(i64::MAX));
        let found = match &over {
            Value::List(list) => {
                let item = self.heap.lists.get(*list).and_then(|list| list.get(next)).cloned();
                item.map(|item| (next + 1, index(next), item))
            }
            Value::Text(text) => {
                let rest = text.as_str().get(next..).and_then(|rest| rest.chars().next());
                rest.map(|c| (next + c.len_utf8(), Value::Undefined, Value::text(c.to_string())))
            }
            Value::Record(items) => {
                let entry = self.entries_of(*items).and_then(|it| it.entry_from(next));
                entry.map(|(number, key, value)| (number + 1, key.clone(), value.clone()))
            }
            _ => None,
        };
        let after = found.as_ref().map_or(usize::MAX, |(after, ..)| *after);
        if let Some(Inner::Iterator(state)) =
            self.heap.records.get_mut(at).and_then(Record::inner_mut)
        {
            state.next = after;
        }
        let Some((_, key, value)) = found else { return Ok(None) };
        Ok(Some(match part {
            Part::Key => key,
            Part::Value => value,
            Part::Entry => self.new_list(vec![key, value])?,
        }))
    }

    /// `next()` of an iterator of the library.
    pub(super) fn iterator_next(&mut self, at: RecordRef) -> VmResult<Value> {
        let step = self.iterator_step(at)?;
        let mut record = Record::default();
        let is_done = step.is_none();
        record.set("value".into(), step.unwrap_or_default());
        record.set("done".into(), Value::Bool(is_done));
        Ok(self.heap.new_record(record))
    }

    /// `Object.groupBy` and `Map.groupBy`
    pub(super) fn group_by(&mut self, args: &[Value], into_map: bool) -> VmResult<Value> {
        let mut groups: Vec<(Value, Vec<Value>)> = Vec::new();
        let mut index = Collection::default();
        for (position, item) in self.elements(&arg(args, 0))?.into_iter().enumerate() {
            let number = Value::Int(i64::try_from(position).unwrap_or(i64::MAX));
            let key = self.call_now(&arg(args, 1), Value::Undefined, &[item.clone(), number])?;
            let key = if into_map { key } else { Value::Text(self.property_name(&key)?) };
            match index.get(&key).and_then(Value::as_int).and_then(|it| usize::try_from(it).ok()) {
                Some(known) => {
                    if let Some(group) = groups.get_mut(known) {
                        group.1.push(item);
                    }
                }
                None => {
                    let number = i64::try_from(groups.len()).unwrap_or(i64::MAX);
                    index.set(key.clone(), Value::Int(number));
                    groups.push((key, vec![item]));
                }
            }
        }
        let mut items = Collection::default();
        let mut record = Record::default();
        record.set_extra(Extra { proto: Proto::Nothing, ..Extra::default() });
        for (key, group) in groups {
            let group = self.new_list(group)?;
            match key {
                Value::Text(name) if !into_map => {
                    record.set(name, group);
                }
                key => {
                    items.set(key, group);
                }
            }
        }
        Ok(if into_map {
            self.new_inner(Builtin::MakeMap, Inner::Map(items))
        } else {
            self.heap.new_record(record)
        })
    }
}

/// Collections hold negative zero as zero.
fn unsigned_zero(value: Value) -> Value {
    match value {
        Value::Float(0.0) => Value::Int(0),
        value => value,
    }
}
