//! `Object.…` and `Array.from`.

use super::dispatch::arg;
use crate::library::Builtin;
use crate::vm::{Machine, Record, Text, Value, VmResult, type_error, unsupported};

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
        self.stack.push(target.clone());
        for source in sources {
            self.stack.push(source.clone());
            self.put_all()?;
        }
        Ok(self.pop())
    }

    fn object_from_entries(&mut self, entries: &Value) -> VmResult<Value> {
        let mut record = Record::default();
        for entry in self.elements(entries)? {
            let text = "`Object.fromEntries` needs a list of [key, value]";
            let at = match entry {
                Value::List(at) => at,
                Value::Record(_) => return Err(unsupported(text)),
                _ => return Err(type_error(text)),
            };
            let pair = self.heap.lists.get(at).cloned().unwrap_or_default();
            let name = self.property_name(&arg(&pair, 0))?;
            record.set(name, arg(&pair, 1));
        }
        self.check_entries(record.len())?;
        let made = self.heap.new_record(record);
        self.check_burst()?;
        Ok(made)
    }

    /// A copy of a list, the characters of a string, or a list of a given length: `Array.from({
    /// length: 3 })`.
    pub(super) fn array_from(&mut self, value: &Value) -> VmResult<Value> {
        let items = match value {
            Value::Record(at) => {
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
        self.new_list(items)
    }
}
