//! Properties and indices.

use super::convert::index_of_name;
use super::json_in::lone_surrogate_error;
use super::machine::Machine;
use super::raise::{VmResult, range_error, type_error, unsupported};
use super::record::Integrity;
use super::text::Text;
use super::value::Value;
use crate::library::is_inherited;
use crate::promise::is_promise_method;

impl Machine<'_> {
    pub(super) fn name_constant(&self, id: u32) -> Text {
        match self.program.constants.get(id as usize) {
            Some(Value::Text(text)) => text.clone(),
            _ => Text::new(""),
        }
    }

    /// A property by its name in the source.
    pub(super) fn get_property(&mut self, object: &Value, name: u32) -> VmResult<Value> {
        if let (Value::Record(at), Some(Value::Text(name))) =
            (object, self.program.constants.get(name as usize))
        {
            match self.heap.records.get(*at).and_then(|it| it.get(name)) {
                Some(Value::Accessor(_)) | None => self.get_slowly(object, name),
                Some(value) => Ok(value.clone()),
            }
        } else {
            let name = self.name_constant(name);
            self.get_slowly(object, &name)
        }
    }

    pub(super) fn get_named(&self, object: &Value, name: &Text) -> VmResult<Value> {
        let length = |count: usize| Value::Int(i64::try_from(count).unwrap_or(i64::MAX));
        match object {
            Value::Record(at) => match self.heap.records.get(*at).and_then(|it| it.get(name)) {
                Some(value) => Ok(value.clone()),
                None => nothing(object, name),
            },
            Value::List(at) if name.as_str() == "length" => {
                Ok(length(self.heap.lists.get(*at).map_or(0, Vec::len)))
            }
            Value::Text(text) if name.as_str() == "length" => Ok(length(text.units())),
            Value::Awaitable(at) if name.as_str() == "id" => {
                let instance = self.instance;
                let id = self.heap.awaitables.get(*at).map(|it| it.id(instance));
                Ok(Value::text(id.unwrap_or_default()))
            }
            Value::Awaitable(_) if is_promise_method(name.as_str()) => {
                Err(unsupported(format!("the method `{}` of a promise as a value", name.as_str())))
            }
            Value::Awaitable(_) => {
                let text = format!("an awaitable has no `{}`: await it first", name.as_str());
                Err(type_error(text))
            }
            Value::Undefined | Value::Null => {
                let text = format!("cannot read `{}` of {}", name.as_str(), object.kind_name());
                Err(type_error(text))
            }
            _ => match (object, index_of_name(name.as_str())) {
                (Value::List(at), Some(position)) => {
                    let list = self.heap.lists.get(*at);
                    Ok(list.and_then(|it| it.get(position)).cloned().unwrap_or_default())
                }
                (Value::Text(text), Some(position)) => unit_of(text, position),
                _ => nothing(object, name),
            },
        }
    }

    pub(super) fn get_index(&mut self, object: &Value, index: &Value) -> VmResult<Value> {
        let position = index.as_int().and_then(|it| usize::try_from(it).ok());
        match (object, position) {
            (Value::List(at), Some(position)) => {
                let list = self.heap.lists.get(*at);
                Ok(list.and_then(|it| it.get(position)).cloned().unwrap_or_default())
            }
            (Value::Text(text), Some(position)) => unit_of(text, position),
            (Value::List(_) | Value::Text(_), None) if index.as_int().is_some() => {
                Ok(Value::Undefined)
            }
            (Value::Undefined | Value::Null, _) => {
                let name = self.property_name(index).unwrap_or_else(|_| Text::new("?"));
                self.get_named(object, &name)
            }
            _ => {
                let name = self.property_name(index)?;
                self.get_slowly(object, &name)
            }
        }
    }

    /// The function that a call finds at an index of an object.
    pub(super) fn callee_at(&mut self, object: &Value, index: &Value) -> VmResult<Value> {
        self.get_index(object, index)
    }

    pub(super) fn set_property(&mut self, object: &Value, name: u32, value: Value) -> VmResult<()> {
        let name = self.name_constant(name);
        self.set_named(object, name, value)
    }

    fn set_named(&mut self, object: &Value, name: Text, value: Value) -> VmResult<()> {
        let Value::Record(at) = object else {
            return self.set_slowly(object, name, value);
        };
        let Some(record) = self.heap.records.get(*at) else { return Ok(()) };
        let is_plain = record.extra().is_none();
        if !is_plain || matches!(record.get(&name), Some(Value::Accessor(_))) {
            return self.set_slowly(object, name, value);
        }
        self.put_own(*at, name, value)
    }

    /// Lists have indices and a length that can be set; other values have nothing.
    pub(super) fn set_other(&mut self, object: &Value, name: &Text, value: Value) -> VmResult<()> {
        let text = format!("cannot set `{}` of {}", name.as_str(), object.kind_name());
        match (object, index_of_name(name.as_str())) {
            (Value::List(_), Some(position)) => self.set_at_index(object, position, value),
            (Value::List(at), None) if name.as_str() == "length" => {
                let Some(length) = value.as_int().and_then(|it| usize::try_from(it).ok()) else {
                    return Err(range_error("the length of a list is a whole number from 0"));
                };
                match self.heap.lists.get_mut(*at) {
                    Some(list) if length <= list.len() => {
                        list.truncate(length);
                        Ok(())
                    }
                    _ => Err(unsupported("a list with holes; use `push` or `fill`")),
                }
            }
            (Value::List(_) | Value::Function(_) | Value::Builtin(_), _) => Err(unsupported(text)),
            _ => Err(type_error(text)),
        }
    }

    pub(super) fn set_index(
        &mut self,
        object: &Value,
        index: &Value,
        value: Value,
    ) -> VmResult<()> {
        let position = index.as_int().and_then(|it| usize::try_from(it).ok());
        if let (Value::List(_), Some(position)) = (object, position) {
            return self.set_at_index(object, position, value);
        }
        let name = self.property_name(index)?;
        self.set_named(object, name, value)
    }

    /// Sets an element, or adds one at the end.
    fn set_at_index(&mut self, object: &Value, position: usize, value: Value) -> VmResult<()> {
        let Value::List(at) = object else { return Ok(()) };
        let length = self.heap.lists.get(*at).map_or(0, Vec::len);
        if position > length {
            let text = format!(
                "index {position} is behind the end of the list ({length}) and would leave holes; \
                 use `push` or `fill`"
            );
            return Err(unsupported(text));
        }
        if position == length {
            self.check_entries(position + 1)?;
            self.heap.grow(1);
            self.check_burst()?;
        }
        if let Some(list) = self.heap.lists.get_mut(*at) {
            match list.get_mut(position) {
                Some(slot) => *slot = value,
                None => list.push(value),
            }
        }
        Ok(())
    }

    pub(super) fn delete(&mut self, object: &Value, key: &Value) -> VmResult<bool> {
        let Value::Record(at) = object else {
            let text = format!("nothing can be deleted from {}; use `splice`", object.kind_name());
            return Err(if object.is_nullish() { type_error(text) } else { unsupported(text) });
        };
        let name = self.property_name(key)?;
        let is_kept = |it: &super::record::Record| {
            it.integrity() >= Integrity::Sealed && it.get(&name).is_some()
        };
        if self.heap.records.get(*at).is_some_and(is_kept) {
            return Err(type_error("a property of a sealed object cannot be deleted"));
        }
        let count = self.heap.records.get(*at).map_or(0, super::record::Record::len);
        self.spend(count / 8);
        if let Some(record) = self.heap.records.get_mut(*at) {
            record.remove(&name);
        }
        // Also if there was no such property, as in JavaScript.
        Ok(true)
    }

    /// `key in object`
    pub(super) fn is_in(&mut self) -> VmResult<()> {
        let (object, key) = (self.pop(), self.pop());
        let found = match &object {
            Value::Record(at) => {
                let name = self.property_name(&key)?;
                match self.lookup(*at, &name) {
                    Ok(_) => true,
                    Err(end) => !matches!(self.inherited(*at, end, &name)?, Value::Undefined),
                }
            }
            Value::List(at) => {
                let length = self.heap.lists.get(*at).map_or(0, Vec::len);
                let name = self.property_name(&key)?;
                let position = index_of_name(name.as_str());
                let found =
                    position.is_some_and(|position| position < length) || name.as_str() == "length";
                if !found {
                    nothing(&object, &name)?;
                }
                found
            }
            Value::Function(_) | Value::Builtin(_) => {
                return Err(unsupported("`in` needs an object, not a function"));
            }
            other => {
                return Err(type_error(format!("`in` needs an object, not {}", other.kind_name())));
            }
        };
        self.stack.push(Value::Bool(found));
        Ok(())
    }
}

/// The value of a missing property: undefined, or an error if JavaScript inherits something there.
pub(super) fn nothing(object: &Value, name: &Text) -> VmResult<Value> {
    match object.kind() {
        Some(kind) if is_inherited(kind, name.as_str()) => {
            let (kind, name) = (kind.name(), name.as_str());
            Err(unsupported(format!("`{name}` of {kind} is not a value here, only a call")))
        }
        _ => Ok(Value::Undefined),
    }
}

/// One unit of a string as a string.
fn unit_of(text: &Text, position: usize) -> VmResult<Value> {
    if position >= text.units() {
        return Ok(Value::Undefined);
    }
    text.slice(position, position + 1).map(Value::Text).ok_or_else(lone_surrogate_error)
}
