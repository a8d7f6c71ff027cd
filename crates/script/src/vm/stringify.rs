//! `JSON.stringify`: calls the functions that replace values, then writes the result.
//!
//! A function as the second argument and functions named `toJSON` replace values. They are
//! functions of the script, so a frame calls them one after another and can be saved between any
//! two calls. It creates a copy of the value with the replacements, from the outside in, which is
//! written at the end.

use meantime_core::Json;

use super::frame::{Frame, StringifyFrame};
use super::json_in::lone_surrogate_error;
use super::json_out::StringifyStyle;
use super::machine::Machine;
use super::raise::{VmResult, corrupt, type_error};
use super::record::Record;
use super::run::StopReason;
use super::text::Text;
use super::value::{ListRef, Value};

/// The entries per level in the list of levels: the visited value, its copy, the remaining names,
/// and the number of finished ones.
const VALUES_PER_LEVEL: usize = 4;

/// The maximum indentation of one level.
const MAX_INDENT: usize = 10;

impl Machine<'_> {
    /// Starts `JSON.stringify`. True if a frame was created; otherwise the text is on the stack.
    pub(super) fn begin_stringify(&mut self, args: &[Value]) -> VmResult<bool> {
        let value = args.first().cloned().unwrap_or_default();
        let replacer = args.get(1).cloned().unwrap_or_default();
        let replacer = match replacer {
            Value::Function(_) | Value::Builtin(_) => replacer,
            _ => Value::Undefined,
        };
        if matches!(replacer, Value::Undefined) && !self.has_to_json(&value) {
            let text = self.stringify_at_once(args)?;
            self.stack.push(text);
            return Ok(false);
        }
        let names = self.only_names(args.get(1))?;
        let names = match names {
            Some(names) => self.new_list(names.into_iter().map(Value::Text).collect())?,
            None => Value::Undefined,
        };
        let indent = match indent(args.get(2))? {
            Some(indent) => self.new_text(indent)?,
            None => Value::Undefined,
        };
        // The value is the only property of an object, with the empty name.
        let mut holder = Record::default();
        holder.set(Text::new(""), value);
        let source = self.heap.new_record(holder);
        let copy = self.heap.new_record(Record::default());
        let keys = self.heap.new_list(vec![Value::text("")]);
        let levels = self.heap.list(vec![source, copy.clone(), keys, Value::Int(0)]);
        self.push_frame(Frame::Stringify(StringifyFrame {
            replacer,
            names,
            indent,
            levels,
            copy,
            key: Value::Undefined,
            asked_to_json: false,
        }))?;
        Ok(true)
    }

    /// `JSON.stringify` without functions of the script.
    pub(super) fn stringify_at_once(&mut self, args: &[Value]) -> VmResult<Value> {
        let value = args.first().cloned().unwrap_or_default();
        let calls = matches!(args.get(1), Some(Value::Function(_) | Value::Builtin(_)));
        if calls || self.has_to_json(&value) {
            let text =
                "`JSON.stringify` has to call a function of the script: write a function around it";
            return Err(type_error(text));
        }
        let names = self.only_names(args.get(1))?;
        self.stringify(&value, &StringifyStyle { indent: indent(args.get(2))?, names })
    }

    /// The names in a list as second argument, each once.
    fn only_names(&mut self, replacer: Option<&Value>) -> VmResult<Option<Vec<Text>>> {
        let Some(list @ Value::List(_)) = replacer else { return Ok(None) };
        let mut names: Vec<Text> = Vec::new();
        let mut known = std::collections::BTreeSet::new();
        for item in self.elements(list)? {
            let name = match &item {
                Value::Text(name) => name.clone(),
                Value::Int(_) | Value::Float(_) => Text::new(self.text_of(&item)?),
                _ => continue,
            };
            if known.insert(name.clone()) {
                names.push(name);
            }
        }
        self.spend(names.len());
        Ok(Some(names))
    }

    /// Whether an object inside the value has a function `toJSON`.
    fn has_to_json(&mut self, value: &Value) -> bool {
        let mut todo = vec![value.clone()];
        let mut seen = std::collections::BTreeSet::new();
        while let Some(value) = todo.pop() {
            match value {
                Value::List(at) if seen.insert((false, at.0)) => {
                    let items = self.heap.lists.get(at).map_or(&[][..], Vec::as_slice);
                    let nested = items.iter().filter(|it| is_nested(it)).cloned();
                    todo.extend(nested);
                    let count = items.len();
                    self.spend(count / 8);
                }
                Value::Record(at) if seen.insert((true, at.0)) => {
                    let record = Value::Record(at);
                    if self.date_of(&record).is_none() && self.to_json_of(&record).is_some() {
                        return true;
                    }
                    let entries = self.heap.records.get(at).map_or(&[][..], Record::entries);
                    if entries.iter().any(|(_, it)| matches!(it, Value::Accessor(_))) {
                        return true;
                    }
                    let nested = entries.iter().map(|(_, it)| it).filter(|it| is_nested(it));
                    todo.extend(nested.cloned());
                    let count = entries.len();
                    self.spend(count / 8);
                }
                _ => {}
            }
        }
        false
    }

    fn to_json_of(&self, value: &Value) -> Option<Value> {
        let Value::Record(at) = value else { return None };
        let found = self.lookup(*at, &Text::new("toJSON")).ok()?;
        matches!(found, Value::Function(_) | Value::Builtin(_)).then_some(found)
    }

    /// Accepts the result of the last call, if there is one, and makes the next call.
    pub(super) fn stringify_step(&mut self, answer: Option<Value>) -> VmResult<Option<StopReason>> {
        let mut answer = answer;
        loop {
            let frame = self.stringify_frame()?.clone();
            let is_new = answer.is_none();
            let value = match answer.take() {
                Some(value) => value,
                None => match self.next_property(frame.levels)? {
                    Some((key, value)) => {
                        self.stringify_frame()?.key = key;
                        value
                    }
                    None => return self.end_stringify(&frame),
                },
            };
            let key = self.stringify_frame()?.key.clone();
            if is_new && let Some(function) = self.to_json_of(&value) {
                self.stringify_frame()?.asked_to_json = true;
                answer = self.call_with(&function, value.clone(), vec![key])?;
            } else if (is_new || frame.asked_to_json) && !frame.replacer.is_nullish() {
                self.stringify_frame()?.asked_to_json = false;
                let holder = self.holder(frame.levels);
                answer = self.call_with(&frame.replacer, holder, vec![key, value])?;
            } else {
                self.stringify_frame()?.asked_to_json = false;
                self.store_property(&frame, &key, &value)?;
                if self.is_slice_over() {
                    return Ok(Some(StopReason::Yield));
                }
                self.check_memory()?;
                continue;
            }
            if answer.is_none() {
                return Ok(None);
            }
        }
    }

    fn stringify_frame(&mut self) -> VmResult<&mut StringifyFrame> {
        match self.frames.last_mut() {
            Some(Frame::Stringify(frame)) => Ok(frame),
            _ => Err(corrupt("no `JSON.stringify`")),
        }
    }

    /// Calls a function; a library function returns at once.
    fn call_with(
        &mut self,
        function: &Value,
        this: Value,
        args: Vec<Value>,
    ) -> VmResult<Option<Value>> {
        match function {
            Value::Builtin(function) => self.builtin(*function, &args).map(Some),
            Value::Function(at) if self.native_of(*at).is_some() => {
                self.call_now(function, this, &args).map(Some)
            }
            Value::Function(function) => {
                let count = args.len();
                self.stack.push(Value::Function(*function));
                self.stack.extend(args);
                self.enter_with(*function, count, this)?;
                Ok(None)
            }
            _ => Err(corrupt("`JSON.stringify` without a function")),
        }
    }

    /// The object whose property is being visited.
    fn holder(&self, levels: ListRef) -> Value {
        let list = self.heap.lists.get(levels).map_or(&[][..], Vec::as_slice);
        let start = list.len().checked_sub(VALUES_PER_LEVEL);
        start.and_then(|start| list.get(start)).cloned().unwrap_or_default()
    }

    /// Name and value of the next property; none at the end.
    fn next_property(&mut self, levels: ListRef) -> VmResult<Option<(Value, Value)>> {
        loop {
            self.spend(1);
            let list = self.heap.lists.get(levels).map_or(&[][..], Vec::as_slice);
            let Some(start) = list.len().checked_sub(VALUES_PER_LEVEL) else { return Ok(None) };
            let Some([source, _, keys, Value::Int(next)]) = list.get(start..) else {
                return Err(corrupt("a level of `JSON.stringify`"));
            };
            let (source, keys, next) = (source.clone(), keys.clone(), *next);
            let index = usize::try_from(next).map_err(|_| corrupt("a place below zero"))?;
            let key = match &keys {
                Value::Int(count) => (next < *count).then_some(Value::Int(next)),
                Value::List(at) => self.heap.lists.get(*at).and_then(|it| it.get(index)).cloned(),
                _ => return Err(corrupt("no names for `JSON.stringify`")),
            };
            let Some(list) = self.heap.lists.get_mut(levels) else {
                return Err(corrupt("no levels of `JSON.stringify`"));
            };
            let Some(key) = key else {
                list.truncate(start);
                continue;
            };
            if let Some(index) = list.last_mut() {
                *index = Value::Int(next.saturating_add(1));
            }
            let value = match (&source, &key) {
                (Value::List(at), _) => self.heap.lists.get(*at).and_then(|it| it.get(index)),
                (Value::Record(at), Value::Text(name)) => {
                    self.heap.records.get(*at).and_then(|it| it.get(name))
                }
                _ => None,
            };
            let value = value.cloned().unwrap_or_default();
            let value = self.resolve(value, &source)?;
            // A `Date` writes itself as a text before functions see it.
            let value = match self.date_of(&value) {
                Some(time) => Self::iso_text(time).map_or(Value::Null, Value::text),
                None => value,
            };
            let name = match key {
                Value::Int(number) => Value::text(number.to_string()),
                name => name,
            };
            return Ok(Some((name, value)));
        }
    }

    /// Adds a value to the copy; a list or object is visited next.
    fn store_property(
        &mut self,
        frame: &StringifyFrame,
        key: &Value,
        value: &Value,
    ) -> VmResult<()> {
        let (new, keys) = match value {
            Value::List(at) => {
                let count = self.heap.lists.get(*at).map_or(0, Vec::len);
                let count = Value::Int(i64::try_from(count).unwrap_or(i64::MAX));
                (self.heap.new_list(Vec::new()), count)
            }
            Value::Record(at) => {
                let keys = match &frame.names {
                    names @ Value::List(_) => names.clone(),
                    _ => {
                        let entries = self.heap.records.get(*at).map(Record::enumerable);
                        let entries = entries.unwrap_or_default().into_iter();
                        let keys: Vec<Value> = entries.map(|(name, _)| Value::Text(name)).collect();
                        self.new_list(keys)?
                    }
                };
                (self.heap.new_record(Record::default()), keys)
            }
            other => return self.attach(frame.levels, key, other.clone()),
        };
        let list = self.heap.lists.get(frame.levels).map_or(&[][..], Vec::as_slice);
        let depth = list.len() / VALUES_PER_LEVEL;
        let is_cycle = list
            .chunks(VALUES_PER_LEVEL)
            .any(|level| level.first().is_some_and(|it| same(it, value)));
        self.spend(depth);
        if is_cycle || depth > Json::MAX_DEPTH {
            let text = if is_cycle { "it contains itself" } else { "it is nested too deeply" };
            return Err(type_error(format!("the value cannot be written as JSON: {text}")));
        }
        self.attach(frame.levels, key, new.clone())?;
        match self.heap.lists.get_mut(frame.levels) {
            Some(list) => list.extend([value.clone(), new, keys, Value::Int(0)]),
            None => return Err(corrupt("no levels of `JSON.stringify`")),
        }
        self.heap.grow(VALUES_PER_LEVEL);
        Ok(())
    }

    /// Adds a property to the innermost copy. A value that JSON does not have becomes null in a
    /// list and is left out of an object.
    fn attach(&mut self, levels: ListRef, key: &Value, value: Value) -> VmResult<()> {
        let is_nothing = matches!(value, Value::Undefined | Value::Function(_) | Value::Builtin(_));
        let list = self.heap.lists.get(levels).map_or(&[][..], Vec::as_slice);
        let copy =
            list.len().checked_sub(VALUES_PER_LEVEL - 1).and_then(|at| list.get(at)).cloned();
        self.heap.grow(2);
        match (copy, key) {
            (Some(Value::List(at)), _) => {
                let value = if is_nothing { Value::Null } else { value };
                let list = self.heap.lists.get_mut(at);
                list.ok_or_else(|| corrupt("no copy of a list"))?.push(value);
            }
            (Some(Value::Record(at)), Value::Text(name)) => {
                let record = self.heap.records.get_mut(at);
                let record = record.ok_or_else(|| corrupt("no copy of an object"))?;
                if !is_nothing {
                    record.set(name.clone(), value);
                }
            }
            _ => return Err(corrupt("no copy for `JSON.stringify`")),
        }
        self.check_burst()
    }

    fn end_stringify(&mut self, frame: &StringifyFrame) -> VmResult<Option<StopReason>> {
        let value = match &frame.copy {
            Value::Record(at) => self.heap.records.get(*at).and_then(|it| it.get_str("")).cloned(),
            _ => None,
        };
        let indent = match &frame.indent {
            Value::Text(text) => Some(text.as_str().to_owned()),
            _ => None,
        };
        let style = StringifyStyle { indent, names: None };
        let text = self.stringify(&value.unwrap_or_default(), &style)?;
        self.frames.pop();
        self.deliver_result(text)
    }
}

/// Whether a value can contain others.
fn is_nested(value: &Value) -> bool {
    matches!(value, Value::List(_) | Value::Record(_))
}

/// Whether two values are the same object.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::List(one), Value::List(other)) => one == other,
        (Value::Record(one), Value::Record(other)) => one == other,
        _ => false,
    }
}

/// The indentation of one level: a number of spaces, or the beginning of a text.
fn indent(space: Option<&Value>) -> VmResult<Option<String>> {
    let Some(space) = space else { return Ok(None) };
    let indent = match space {
        Value::Int(count) => " ".repeat(usize::try_from(*count).unwrap_or(0).min(MAX_INDENT)),
        Value::Float(count) => {
            let whole = (1..=10_u8).take_while(|it| f64::from(*it) <= *count).count();
            " ".repeat(whole)
        }
        Value::Text(text) => {
            let units: Vec<u16> = text.as_str().encode_utf16().take(MAX_INDENT).collect();
            String::from_utf16(&units).map_err(|_| lone_surrogate_error())?
        }
        _ => return Ok(None),
    };
    Ok((!indent.is_empty()).then_some(indent))
}
