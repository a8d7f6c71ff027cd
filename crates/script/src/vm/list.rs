//! Creates, destructures and iterates lists and objects.

use super::json_in::lone_surrogate_error;
use super::machine::Machine;
use super::raise::{VmResult, corrupt, type_error};
use super::record::{Inner, Part, Record};
use super::text::Text;
use super::value::{RecordRef, Value};

impl Machine<'_> {
    /// Appends the value on top to the list below it.
    pub(super) fn append(&mut self) -> VmResult<()> {
        let value = self.pop();
        self.append_values(vec![value])
    }

    /// Appends all elements of the value on top.
    pub(super) fn append_all(&mut self) -> VmResult<()> {
        let value = self.pop();
        let items = self.elements(&value)?;
        self.append_values(items)
    }

    fn append_values(&mut self, values: Vec<Value>) -> VmResult<()> {
        let Some(Value::List(at)) = self.stack.last() else { return Err(corrupt("no list")) };
        let at = *at;
        self.heap.grow(values.len());
        self.spend(values.len() / 8);
        let Some(list) = self.heap.lists.get_mut(at) else { return Err(corrupt("no list")) };
        list.extend(values);
        let count = list.len();
        self.check_entries(count)?;
        self.check_burst()
    }

    /// The elements of a list, or the characters of a string.
    pub(crate) fn elements(&mut self, value: &Value) -> VmResult<Vec<Value>> {
        match value {
            Value::List(at) => {
                let items = self.heap.lists.get(*at).cloned().unwrap_or_default();
                self.spend(items.len() / 8);
                Ok(items)
            }
            Value::Text(text) => {
                self.spend(text.bytes());
                let mut buffer = [0; 4];
                let letters = text.as_str().chars();
                Ok(letters.map(|c| Value::text(&*c.encode_utf8(&mut buffer))).collect())
            }
            Value::Awaitable(_) => Err(type_error("an awaitable has no elements: await it first")),
            Value::Record(at) => self.record_elements(*at),
            other => Err(type_error(format!("{} has no elements", other.kind_name()))),
        }
    }

    /// The elements of a `Map`, a `Set` or an iterator.
    fn record_elements(&mut self, at: RecordRef) -> VmResult<Vec<Value>> {
        let iterator = match self.heap.records.get(at).map_or(&Inner::None, Record::inner) {
            Inner::Map(_) => self.new_iterator(Value::Record(at), Part::Entry),
            Inner::Set(_) => self.new_iterator(Value::Record(at), Part::Value),
            Inner::Iterator(_) => Value::Record(at),
            _ => {
                return Err(type_error(
                    "an object has no elements: use Object.keys, Object.values or Object.entries",
                ));
            }
        };
        let Value::Record(iterator) = iterator else { return Ok(Vec::new()) };
        let mut items = Vec::new();
        while let Some(item) = self.iterator_step(iterator)? {
            items.push(item);
            self.check_entries(items.len())?;
        }
        Ok(items)
    }

    /// Adds a property to the object on top.
    pub(super) fn put(&mut self, name: Text, value: Value) -> VmResult<()> {
        let Some(Value::Record(at)) = self.stack.last() else { return Err(corrupt("no object")) };
        let at = *at;
        let Some(record) = self.heap.records.get_mut(at) else { return Err(corrupt("no object")) };
        record.set(name, value);
        let count = record.len();
        self.heap.grow(2);
        self.check_entries(count)?;
        self.check_burst()
    }

    /// Adds all properties of the value on top to the object below it.
    pub(super) fn put_all(&mut self) -> VmResult<()> {
        let value = self.pop();
        for (name, value) in self.properties(&value)? {
            self.put(name, value)?;
        }
        Ok(())
    }

    /// The properties of an object, or the indices of a list or string. Other values have none.
    pub(crate) fn properties(&mut self, value: &Value) -> VmResult<Vec<(Text, Value)>> {
        match value {
            Value::Record(at) => {
                let mut entries = self.heap.records.get(*at).map_or(Vec::new(), Record::enumerable);
                self.spend(entries.len() / 4);
                for entry in &mut entries {
                    if matches!(entry.1, Value::Accessor(_)) {
                        entry.1 = self.resolve(entry.1.clone(), value)?;
                    }
                }
                Ok(entries)
            }
            Value::Function(at) => {
                let closure = self.heap.functions.get(*at);
                let statics = closure.and_then(|it| it.extra.as_ref()).and_then(|it| it.statics);
                match statics {
                    Some(statics) => self.properties(&Value::Record(statics)),
                    None => Ok(Vec::new()),
                }
            }
            Value::Text(text) if text.has_pairs() => Err(lone_surrogate_error()),
            Value::List(_) | Value::Text(_) => {
                let items = self.elements(value)?;
                let named = items.into_iter().enumerate();
                let named = named.map(|(index, item)| (Text::new(index.to_string()), item));
                let props = match value {
                    Value::List(at) => self.heap.list_props.get(at).copied(),
                    _ => None,
                };
                let props = props.and_then(|props| self.heap.records.get(props));
                Ok(named.chain(props.into_iter().flat_map(Record::enumerable)).collect())
            }
            Value::Awaitable(at) if self.is_script_promise(*at) => Ok(Vec::new()),
            Value::Awaitable(_) => {
                Err(type_error("an awaitable has no properties: await it first"))
            }
            _ => Ok(Vec::new()),
        }
    }

    /// Throws if the value on top has no properties to destructure.
    pub(super) fn need_record(&self) -> VmResult<()> {
        match self.stack.last() {
            None | Some(Value::Undefined | Value::Null) => {
                let kind = self.stack.last().map_or("nothing", Value::kind_name);
                Err(type_error(format!("cannot take properties from {kind}")))
            }
            Some(Value::Awaitable(_)) => {
                Err(type_error("cannot take properties from an awaitable: await it first"))
            }
            Some(_) => Ok(()),
        }
    }

    /// Converts the value on top to a list, or throws.
    pub(super) fn need_list(&mut self) -> VmResult<()> {
        if matches!(self.stack.last(), Some(Value::List(_))) {
            return Ok(());
        }
        let value = self.pop();
        let items = self.elements(&value)?;
        let list = self.new_list(items)?;
        self.stack.push(list);
        Ok(())
    }

    /// The object below this many keys, without them.
    pub(super) fn rest_of_record(&mut self, keys: usize) -> VmResult<()> {
        let keys = self.pop_many(keys);
        let object = self.pop();
        let mut names: Vec<Text> = Vec::with_capacity(keys.len());
        for key in &keys {
            names.push(self.property_name(key)?);
        }
        let mut rest = Record::default();
        for (name, value) in self.properties(&object)? {
            if !names.iter().any(|taken| taken.same(&name)) {
                rest.set(name, value);
            }
        }
        let rest = self.heap.new_record(rest);
        self.stack.push(rest);
        self.check_burst()
    }

    /// The elements of the list on top from an index on; the list stays below.
    pub(super) fn rest_of_list(&mut self, from: usize) -> VmResult<()> {
        let Some(Value::List(at)) = self.stack.last() else { return Err(corrupt("no list")) };
        let items = self.heap.lists.get(*at).and_then(|list| list.get(from..));
        let items = items.unwrap_or_default().to_vec();
        let rest = self.new_list(items)?;
        self.stack.push(rest);
        Ok(())
    }

    /// The values of a `for … of`: the list itself, which may still grow, or characters.
    pub(super) fn values_to_visit(&mut self) -> VmResult<()> {
        let Some(Value::Record(at)) = self.stack.last() else { return self.need_list() };
        let (at, record) = (*at, self.heap.records.get(*at));
        let iterator = match record.map_or(&Inner::None, Record::inner) {
            Inner::Map(_) => self.new_iterator(Value::Record(at), Part::Entry),
            Inner::Set(_) => self.new_iterator(Value::Record(at), Part::Value),
            Inner::Iterator(_) => return Ok(()),
            _ => return self.need_list(),
        };
        self.pop();
        self.stack.push(iterator);
        Ok(())
    }

    /// The keys of a `for … in`, as they are now.
    pub(super) fn keys_to_visit(&mut self) -> VmResult<()> {
        let value = self.pop();
        let properties = self.properties(&value)?;
        let keys = properties.into_iter().map(|(name, _)| Value::Text(name)).collect();
        let keys = self.new_list(keys)?;
        self.stack.push(keys);
        Ok(())
    }

    /// Pushes the next element of the list in a slot; false at its end.
    pub(super) fn next_element(&mut self, base: usize, slot: u32) -> VmResult<bool> {
        let (at, index) = match (self.local(base, slot), self.local(base, slot + 1)) {
            (Value::List(at), Value::Int(index)) => (at, index),
            (Value::Record(at), _) => {
                let Some(item) = self.iterator_step(at)? else { return Ok(false) };
                self.stack.push(item);
                return Ok(true);
            }
            _ => return Err(corrupt("a loop over no list")),
        };
        let list = self.heap.lists.get(at);
        let element =
            list.zip(usize::try_from(index).ok()).and_then(|(list, index)| list.get(index));
        let Some(element) = element.cloned() else { return Ok(false) };
        self.stack.push(element);
        self.set_local(base, slot + 1, Value::Int(index.saturating_add(1)));
        Ok(true)
    }
}
