//! Properties and indices.

use super::machine::Machine;
use super::number::print_float;
use super::raise::{Outcome, type_error};
use super::text::Text;
use super::value::Value;

/// How far behind its end a list may be written; the gap is filled.
const LARGEST_GAP: usize = 10_000;

impl Machine<'_> {
    pub(super) fn name_constant(&self, id: u32) -> Text {
        match self.program.constants.get(id as usize) {
            Some(Value::Text(text)) => text.clone(),
            _ => Text::new(""),
        }
    }

    /// A property by its name in the source.
    pub(super) fn get_property(&self, object: &Value, name: u32) -> Outcome<Value> {
        if let (Value::Record(at), Some(Value::Text(name))) =
            (object, self.program.constants.get(name as usize))
        {
            let record = self.heap.records.get(*at);
            Ok(record.and_then(|it| it.get(name)).cloned().unwrap_or_default())
        } else {
            let name = self.name_constant(name);
            self.get_named(object, &name)
        }
    }

    fn get_named(&self, object: &Value, name: &Text) -> Outcome<Value> {
        let length = |count: usize| Value::Int(i64::try_from(count).unwrap_or(i64::MAX));
        match object {
            Value::Record(at) => {
                let record = self.heap.records.get(*at);
                Ok(record.and_then(|it| it.get(name)).cloned().unwrap_or_default())
            }
            Value::List(at) if name.as_str() == "length" => {
                Ok(length(self.heap.lists.get(*at).map_or(0, Vec::len)))
            }
            Value::Text(text) if name.as_str() == "length" => Ok(length(text.units())),
            Value::Awaitable(at) if name.as_str() == "id" => {
                let instance = self.instance;
                let id = self.heap.awaitables.get(*at).map(|it| it.id(instance));
                Ok(Value::text(id.unwrap_or_default()))
            }
            Value::Awaitable(_) => {
                let text = format!("an awaitable has no `{}`: await it first", name.as_str());
                Err(type_error(text))
            }
            Value::Undefined | Value::Null => {
                let text = format!("cannot read `{}` of {}", name.as_str(), object.kind_name());
                Err(type_error(text))
            }
            _ => Ok(Value::Undefined),
        }
    }

    pub(super) fn get_index(&self, object: &Value, index: &Value) -> Outcome<Value> {
        let place = index.as_int().and_then(|it| usize::try_from(it).ok());
        match (object, place) {
            (Value::List(at), Some(place)) => {
                let list = self.heap.lists.get(*at);
                Ok(list.and_then(|it| it.get(place)).cloned().unwrap_or_default())
            }
            (Value::Text(text), Some(place)) if place < text.units() => {
                Ok(Value::Text(text.slice(place, place + 1)))
            }
            (Value::List(_) | Value::Text(_), None) if index.as_int().is_some() => {
                Ok(Value::Undefined)
            }
            _ => {
                let name = property_name(index)?;
                self.get_named(object, &name)
            }
        }
    }

    pub(super) fn set_property(&mut self, object: &Value, name: u32, value: Value) -> Outcome<()> {
        let name = self.name_constant(name);
        self.set_named(object, name, value)
    }

    fn set_named(&mut self, object: &Value, name: Text, value: Value) -> Outcome<()> {
        let Value::Record(at) = object else {
            let text = format!("cannot set `{}` of {}", name.as_str(), object.kind_name());
            return Err(type_error(text));
        };
        let Some(record) = self.heap.records.get_mut(*at) else { return Ok(()) };
        let is_new = record.set(name, value);
        let count = record.len();
        if is_new {
            self.heap.grow(2);
            self.check_entries(count)?;
            self.check_burst()?;
        }
        Ok(())
    }

    pub(super) fn set_index(&mut self, object: &Value, index: &Value, value: Value) -> Outcome<()> {
        let Value::List(at) = object else {
            let name = property_name(index)?;
            return self.set_named(object, name, value);
        };
        let Some(place) = index.as_int().and_then(|it| usize::try_from(it).ok()) else {
            return Err(type_error("a list is indexed by whole numbers from 0"));
        };
        let length = self.heap.lists.get(*at).map_or(0, Vec::len);
        if place >= length {
            if place - length > LARGEST_GAP {
                let text = format!("index {place} is far behind the end of the list ({length})");
                return Err(super::raise::range_error(text));
            }
            self.check_entries(place + 1)?;
            self.heap.grow(place + 1 - length);
            self.spend((place - length) / 8);
            self.check_burst()?;
        }
        if let Some(list) = self.heap.lists.get_mut(*at) {
            if place >= list.len() {
                list.resize(place + 1, Value::Undefined);
            }
            if let Some(slot) = list.get_mut(place) {
                *slot = value;
            }
        }
        Ok(())
    }

    pub(super) fn delete(&mut self, object: &Value, key: &Value) -> Outcome<bool> {
        let Value::Record(at) = object else {
            let text = format!("nothing can be deleted from {}; use `splice`", object.kind_name());
            return Err(type_error(text));
        };
        let name = property_name(key)?;
        let count = self.heap.records.get(*at).map_or(0, super::record::Record::len);
        self.spend(count / 8);
        Ok(self.heap.records.get_mut(*at).is_some_and(|record| record.remove(&name)))
    }

    /// `key in object`
    pub(super) fn is_in(&mut self) -> Outcome<()> {
        let (object, key) = (self.pop(), self.pop());
        let found = match &object {
            Value::Record(at) => {
                let name = property_name(&key)?;
                self.heap.records.get(*at).is_some_and(|record| record.get(&name).is_some())
            }
            Value::List(at) => {
                let length = self.heap.lists.get(*at).map_or(0, Vec::len);
                let place = key.as_int().and_then(|it| usize::try_from(it).ok());
                place.is_some_and(|place| place < length)
            }
            other => {
                return Err(type_error(format!("`in` needs an object, not {}", other.kind_name())));
            }
        };
        self.stack.push(Value::Bool(found));
        Ok(())
    }
}

/// A value as the name of a property.
pub(super) fn property_name(value: &Value) -> Outcome<Text> {
    match value {
        Value::Text(text) | Value::Verbatim(text) => Ok(text.clone()),
        Value::Int(value) => Ok(Text::new(value.to_string())),
        Value::Float(value) => Ok(Text::new(print_float(*value))),
        Value::Bool(value) => Ok(Text::new(value.to_string())),
        other => Err(type_error(format!("{} cannot name a property", other.kind_name()))),
    }
}
