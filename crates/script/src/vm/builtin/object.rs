//! `Object.…` and `Array.from`.

use super::dispatch::arg;
use super::encode::need_object;
use crate::library::{Builtin, Kind};
use crate::vm::{
    Extra, Integrity, Machine, Proto, Record, Text, Value, VmResult, type_error, unsupported,
};

impl Machine<'_> {
    pub(super) fn object_function(&mut self, function: Builtin, args: &[Value]) -> VmResult<Value> {
        let first = arg(args, 0);
        match function {
            Builtin::ObjectAssign => {
                return self.object_assign(&first, args.get(1..).unwrap_or(&[]));
            }
            Builtin::ObjectFromEntries => return self.object_from_entries(&first),
            _ => {}
        }
        if first.is_nullish() {
            let name = function.full_name();
            return Err(type_error(format!("`{name}` of {}", first.kind_name())));
        }
        let mut items = Vec::new();
        for (name, value) in self.properties(&first)? {
            items.push(match function {
                Builtin::ObjectKeys => Value::Text(name),
                Builtin::ObjectValues => value,
                _ => self.new_list(vec![Value::Text(name), value])?,
            });
        }
        self.new_list(items)
    }

    fn object_assign(&mut self, target: &Value, sources: &[Value]) -> VmResult<Value> {
        if !matches!(target, Value::Record(_)) {
            let text = format!("`Object.assign` needs an object, not {}", target.kind_name());
            return Err(if target.is_nullish() { type_error(text) } else { unsupported(text) });
        }
        for source in sources {
            for (name, value) in self.properties(source)? {
                self.set_index(target, &Value::Text(name), value)?;
            }
        }
        Ok(target.clone())
    }

    /// `Object.freeze` and the like.
    pub(super) fn integrity_function(
        &mut self,
        function: Builtin,
        value: &Value,
    ) -> VmResult<Value> {
        let wanted = match function {
            Builtin::ObjectFreeze | Builtin::ObjectIsFrozen => Integrity::Frozen,
            Builtin::ObjectSeal | Builtin::ObjectIsSealed => Integrity::Sealed,
            _ => Integrity::NotExtensible,
        };
        let asks = matches!(
            function,
            Builtin::ObjectIsFrozen | Builtin::ObjectIsSealed | Builtin::ObjectIsExtensible
        );
        let is_object = matches!(
            value,
            Value::Record(_) | Value::List(_) | Value::Function(_) | Value::Builtin(_)
        );
        if !is_object {
            let frozen = function != Builtin::ObjectIsExtensible;
            return Ok(if asks { Value::Bool(frozen) } else { value.clone() });
        }
        need_object(value, &function.full_name())?;
        let Value::Record(at) = value else { return Ok(value.clone()) };
        let Some(record) = self.heap.records.get_mut(*at) else { return Ok(value.clone()) };
        if asks {
            let known = record.integrity();
            // Without properties, a closed object is also sealed and frozen.
            let closed = known != Integrity::Open && record.len() == 0;
            let holds = known >= wanted || closed;
            return Ok(Value::Bool(holds == (function != Builtin::ObjectIsExtensible)));
        }
        let extra = record.extra_mut();
        extra.integrity = extra.integrity.max(wanted);
        Ok(value.clone())
    }

    /// `Object.create(null)`, or with another object as prototype.
    pub(super) fn object_create(&mut self, proto: &Value) -> VmResult<Value> {
        let proto = match proto {
            Value::Null => Proto::Nothing,
            Value::Record(at) => Proto::Record(*at),
            other => {
                need_object(other, "Object.create")?;
                Proto::Object
            }
        };
        let mut record = Record::default();
        record.set_extra(Extra { proto, ..Extra::default() });
        self.heap.grow(4);
        Ok(self.heap.new_record(record))
    }

    /// `Object.getOwnPropertyNames`
    pub(super) fn own_names(&mut self, value: &Value) -> VmResult<Value> {
        need_object(value, "Object.getOwnPropertyNames")?;
        let Value::Record(at) = value else { return Ok(Value::Undefined) };
        let entries = self.heap.records.get(*at).map(|it| it.ordered().into_owned());
        let names = entries.unwrap_or_default().into_iter().map(|(name, _)| name);
        let names = names.filter(|name| !Record::is_private(name.as_str()));
        self.new_list(names.map(Value::Text).collect())
    }

    /// `new Array(…)`: of a length, or of its arguments.
    pub(crate) fn new_array(&mut self, args: &[Value]) -> VmResult<Value> {
        match args {
            [Value::Int(0)] => self.new_list(Vec::new()),
            [Value::Int(_) | Value::Float(_)] => {
                let text = "a list with holes; use `Array.from({ length })`";
                Err(unsupported(text))
            }
            items => self.new_list(items.to_vec()),
        }
    }

    fn object_from_entries(&mut self, entries: &Value) -> VmResult<Value> {
        let mut record = Record::default();
        for entry in self.elements(entries)? {
            let (key, value) = self.pair(&entry)?;
            let name = self.property_name(&key)?;
            record.set(name, value);
        }
        self.check_entries(record.len())?;
        let made = self.heap.new_record(record);
        self.check_burst()?;
        Ok(made)
    }

    /// A copy of a list, the characters of a string, or a list of a given length: `Array.from({
    /// length: 3 })`.
    pub(super) fn array_from(&mut self, value: &Value, by: &Value) -> VmResult<Value> {
        let items = match value {
            Value::Record(at) if self.object_kind(value) == Some(Kind::Record) => {
                let length = self.heap.records.get(*at).and_then(|it| it.get_str("length"));
                let length = length.cloned().unwrap_or_default();
                let length = usize::try_from(self.whole_number(&length, 0)?).unwrap_or(0);
                self.check_entries(length)?;
                self.spend(length / 4);
                let record = self.heap.records.get(*at);
                let item = |index: usize| record?.get(&Text::new(index.to_string())).cloned();
                (0..length).map(|index| item(index).unwrap_or_default()).collect()
            }
            Value::Int(_) | Value::Float(_) | Value::Bool(_) => Vec::new(),
            other => self.elements(other)?,
        };
        if matches!(by, Value::Undefined) {
            return self.new_list(items);
        }
        let mut mapped = Vec::with_capacity(items.len());
        for (index, item) in items.into_iter().enumerate() {
            let index = Value::Int(i64::try_from(index).unwrap_or(i64::MAX));
            mapped.push(self.call_now(by, Value::Undefined, &[item, index])?);
        }
        self.new_list(mapped)
    }
}
