//! Methods of lists and functions of the library that call functions which cannot wait.

use super::dispatch::arg;
use crate::library::{Builtin, Method};
use crate::vm::json_in::lone_surrogate_error;
use crate::vm::{ListRef, Machine, Record, Text, Value, VmResult, range_error, type_error};

/// The depth to which a reviver of `JSON.parse` is called.
const MAX_REVIVED_DEPTH: usize = 256;

impl Machine<'_> {
    /// `findLast`, `findLastIndex` and `reduceRight`, from the end to the beginning.
    pub(super) fn search_backwards(
        &mut self,
        at: ListRef,
        method: Method,
        args: &[Value],
    ) -> VmResult<Value> {
        let callback = arg(args, 0);
        if !matches!(callback, Value::Function(_) | Value::Builtin(_)) {
            let (name, kind) = (method.name(), callback.kind_name());
            return Err(type_error(format!("`{name}` needs a function, not {kind}")));
        }
        let mut next = self.heap.lists.get(at).map_or(0, Vec::len);
        let item = |it: &Self, index: usize| {
            it.heap.lists.get(at).and_then(|list| list.get(index)).cloned()
        };
        let number = |index: usize| Value::Int(i64::try_from(index).unwrap_or(i64::MAX));
        let mut result = match (method, args.get(1)) {
            (Method::ReduceRight, Some(initial)) => initial.clone(),
            (Method::ReduceRight, None) => {
                let last = next.checked_sub(1);
                let last = last.ok_or_else(|| type_error("`reduceRight` of an empty list"))?;
                next = last;
                item(self, last).unwrap_or_default()
            }
            _ => Value::Undefined,
        };
        while let Some(index) = next.checked_sub(1) {
            next = index;
            let element = item(self, index);
            if method == Method::ReduceRight {
                let Some(element) = element else { continue };
                let args = [result, element, number(index), Value::List(at)];
                result = self.call_now(&callback, Value::Undefined, &args)?;
                continue;
            }
            let element = element.unwrap_or_default();
            let args = [element.clone(), number(index), Value::List(at)];
            if self.call_now(&callback, Value::Undefined, &args)?.is_truthy() {
                return Ok(if method == Method::FindLast { element } else { number(index) });
            }
        }
        Ok(if method == Method::FindLastIndex { Value::Int(-1) } else { result })
    }

    /// `toSorted`: stable, by the texts of the elements or by a function.
    pub(super) fn sorted_copy(&mut self, items: Vec<Value>, by: &Value) -> VmResult<Vec<Value>> {
        let all = items.len();
        let is_value = |item: &Value| !matches!(item, Value::Undefined);
        let mut sorted: Vec<Value> = items.into_iter().filter(is_value).collect();
        match by {
            Value::Undefined => return self.sort_plainly_padded(sorted, all),
            Value::Function(_) | Value::Builtin(_) => {}
            other => {
                let text = format!("`toSorted` needs a function, not {}", other.kind_name());
                return Err(type_error(text));
            }
        }
        // Runs of doubling width are merged, with the same comparisons as `sort`.
        let mut width = 1;
        while width < sorted.len() {
            let mut merged = Vec::with_capacity(sorted.len());
            for pair in sorted.chunks(width * 2) {
                let (left, right) = pair.split_at(width.min(pair.len()));
                let (mut one, mut other) = (left.iter().peekable(), right.iter().peekable());
                while let (Some(left), Some(right)) = (one.peek(), other.peek()) {
                    let args = [(*right).clone(), (*left).clone()];
                    let order = self.call_now(by, Value::Undefined, &args)?;
                    let right_first = self.float_of(&order)? < 0.0;
                    merged.extend(if right_first { other.next() } else { one.next() }.cloned());
                }
                merged.extend(one.chain(other).cloned());
            }
            sorted = merged;
            width *= 2;
        }
        sorted.resize(all, Value::Undefined);
        Ok(sorted)
    }

    /// `replace` and `replaceAll` of a text by the results of a function.
    pub(super) fn replace_by_function(
        &mut self,
        text: &Text,
        wanted: &Text,
        by: &Value,
        all: bool,
    ) -> VmResult<Value> {
        if all && wanted.bytes() == 0 && text.has_pairs() {
            return Err(lone_surrogate_error());
        }
        let most = if all { usize::MAX } else { 1 };
        let found: Vec<usize> =
            text.as_str().match_indices(wanted.as_str()).take(most).map(|it| it.0).collect();
        self.check_entries(found.len())?;
        let (mut result, mut done) = (String::new(), 0);
        for at in found {
            result.push_str(text.as_str().get(done..at).unwrap_or_default());
            let unit = i64::try_from(text.unit_at(at)).unwrap_or(i64::MAX);
            let args = [Value::Text(wanted.clone()), Value::Int(unit), Value::Text(text.clone())];
            let value = self.call_now(by, Value::Undefined, &args)?;
            result.push_str(&self.text_of(&value)?);
            done = at + wanted.bytes();
            if result.len() > self.limits.string_bytes {
                break;
            }
        }
        result.push_str(text.as_str().get(done..).unwrap_or_default());
        self.new_text(result)
    }

    /// `JSON.parse` with a function that replaces values, from the inside out.
    pub(super) fn revive(&mut self, value: Value, reviver: &Value) -> VmResult<Value> {
        let mut holder = Record::default();
        holder.set("".into(), value);
        let holder = self.heap.new_record(holder);
        self.revive_property(&holder, &Text::new(""), reviver, 0)
    }

    fn revive_property(
        &mut self,
        holder: &Value,
        name: &Text,
        reviver: &Value,
        depth: usize,
    ) -> VmResult<Value> {
        if depth > MAX_REVIVED_DEPTH {
            return Err(range_error("the value is nested too deeply"));
        }
        let key = Value::Text(name.clone());
        let value = self.get_index(holder, &key)?;
        let names: Vec<Text> = match &value {
            Value::List(at) => {
                let count = self.heap.lists.get(*at).map_or(0, Vec::len);
                (0..count).map(|index| Text::new(index.to_string())).collect()
            }
            Value::Record(_) => {
                self.properties(&value)?.into_iter().map(|(name, _)| name).collect()
            }
            _ => Vec::new(),
        };
        for name in names {
            let new = self.revive_property(&value, &name, reviver, depth + 1)?;
            match (&value, &new) {
                (Value::Record(at), Value::Undefined) => {
                    if let Some(record) = self.heap.records.get_mut(*at) {
                        record.remove(&name);
                    }
                }
                _ => self.set_index(&value, &Value::Text(name), new)?,
            }
        }
        self.call_now(reviver, holder.clone(), &[key, value])
    }

    /// `String.fromCharCode` and `String.fromCodePoint`
    pub(super) fn text_from_codes(&mut self, function: Builtin, args: &[Value]) -> VmResult<Value> {
        let mut units: Vec<u16> = Vec::with_capacity(args.len());
        for value in args {
            let code = self.float_of(value)?;
            if function == Builtin::StringFromCharCode {
                let bits = crate::vm::arithmetic::bits(code).cast_unsigned() & 0xffff;
                units.push(u16::try_from(bits).unwrap_or_default());
                continue;
            }
            let whole = (0.0..=1_114_111.0).contains(&code) && code.fract() == 0.0;
            if !whole {
                return Err(range_error("a code point is a whole number up to 1114111"));
            }
            let code = crate::vm::arithmetic::bits(code).cast_unsigned();
            let mut buffer = [0; 2];
            match char::from_u32(code) {
                Some(c) => units.extend_from_slice(c.encode_utf16(&mut buffer)),
                None => return Err(lone_surrogate_error()),
            }
        }
        let text = String::from_utf16(&units).map_err(|_| lone_surrogate_error())?;
        self.new_text(text)
    }

    /// `String.raw`
    pub(super) fn raw_template(&mut self, args: &[Value]) -> VmResult<Value> {
        let raw = self.get_slowly(&arg(args, 0), &"raw".into())?;
        let parts = self.elements(&raw)?;
        let mut text = String::new();
        let count = parts.len();
        for (index, part) in parts.iter().enumerate() {
            text.push_str(&self.text_of(part)?);
            if let (Some(value), true) = (args.get(index + 1), index + 1 < count) {
                text.push_str(&self.text_of(value)?);
            }
        }
        self.new_text(text)
    }
}
