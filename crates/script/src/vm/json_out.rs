//! Writes values as JSON, by the writer of the core: as documents of the engine, and for display.

use meantime_core::Json;
use meantime_core::json::{TextLayout, WriteLimit, Writer};

use super::machine::Machine;
use super::number::print_float;
use super::raise::{Raise, VmResult, limit, type_error};
use super::record::{Inner, Record};
use super::text::Text;
use super::value::{RecordRef, Value};
use crate::vm::heap::Heap;

/// How values that JSON does not have are treated.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NonJsonValues {
    /// They are an error.
    Strict,
    /// `JSON.stringify`: functions are left out.
    Stringify,
    /// For display: they are left out.
    Show,
}

impl Machine<'_> {
    /// A value that leaves the script: the input of a task, a result.
    pub(crate) fn write_document(&mut self, value: &Value) -> VmResult<Json> {
        let most = self.limits.payload_bytes;
        let json =
            write(&self.heap, value, NonJsonValues::Strict, &StringifyStyle::default(), most)?
                .into_json()
                .map_err(unwritten)?;
        self.spend_bytes(json.size());
        Ok(json)
    }

    /// A value as the text of `JSON.stringify`; undefined for values that JSON does not have.
    pub(super) fn stringify(&mut self, value: &Value, style: &StringifyStyle) -> VmResult<Value> {
        if matches!(value, Value::Undefined | Value::Function(_) | Value::Builtin(_)) {
            return Ok(Value::Undefined);
        }
        let most = self.limits.string_bytes;
        let text = write(&self.heap, value, NonJsonValues::Stringify, style, most)?
            .into_text()
            .map_err(unwritten)?;
        self.spend_bytes(text.len());
        self.new_text(text)
    }
}

/// The format of `JSON.stringify`.
#[derive(Debug, Default)]
pub(super) struct StringifyStyle {
    /// The indentation of one level.
    pub(super) indent: Option<String>,
    /// The only property names that are written, in this order.
    pub(super) names: Option<Vec<Text>>,
}

/// A value for display, as far as it can be shown.
pub(crate) fn to_display_json(heap: &Heap, value: &Value, most: usize) -> Json {
    shown(heap, value, most).unwrap_or_else(|_| Json::text("(too large to show)"))
}

/// The value of a property for display, or none if it cannot be shown.
pub(crate) fn property_to_display_json(heap: &Heap, value: &Value, most: usize) -> Option<Json> {
    let hidden = matches!(
        value,
        Value::Undefined | Value::Function(_) | Value::Builtin(_) | Value::Awaitable(_)
    );
    if hidden { None } else { shown(heap, value, most).ok() }
}

fn shown(heap: &Heap, value: &Value, most: usize) -> VmResult<Json> {
    let style = StringifyStyle::default();
    write(heap, value, NonJsonValues::Show, &style, most)?.into_json().map_err(unwritten)
}

fn too_deep() -> Raise {
    type_error("the value cannot be written as JSON: it is nested too deeply")
}

fn unwritten(error: WriteLimit) -> Raise {
    match error {
        WriteLimit::TooLong(most) => {
            limit("payload_limit", format!("a document has more than {most} bytes"))
        }
        WriteLimit::TooDeep => too_deep(),
    }
}

impl From<WriteLimit> for Raise {
    fn from(error: WriteLimit) -> Self {
        unwritten(error)
    }
}

fn write<'h>(
    heap: &'h Heap,
    value: &Value,
    manner: NonJsonValues,
    style: &'h StringifyStyle,
    most: usize,
) -> VmResult<Writer<'h>> {
    let indent = style.indent.as_deref();
    let layout = TextLayout { indent, spaced: indent.is_some(), breaks_empty: false };
    let out = Writer::new(layout, most);
    let mut writer = ValueWriter { heap, out, path: Vec::new(), manner, names: &style.names };
    writer.value(value)?;
    Ok(writer.out)
}

struct ValueWriter<'h> {
    heap: &'h Heap,
    out: Writer<'h>,
    /// The lists and objects that are being written, to notice cycles.
    path: Vec<Value>,
    manner: NonJsonValues,
    /// The only names that are written, in this order.
    names: &'h Option<Vec<Text>>,
}

impl ValueWriter<'_> {
    fn value(&mut self, value: &Value) -> VmResult<()> {
        match value {
            Value::Accessor(_) if self.manner == NonJsonValues::Strict => {
                return Err(type_error("a getter cannot leave the script: copy its value"));
            }
            Value::Undefined | Value::Null | Value::Cell(_) | Value::Accessor(_) => {
                self.out.null()?;
            }
            Value::Bool(value) => self.out.bool(*value)?,
            Value::Int(value) => self.out.integer(*value)?,
            Value::Float(value) if !value.is_finite() && self.manner == NonJsonValues::Strict => {
                let text = format!("{} cannot leave the script", print_float(*value));
                return Err(type_error(text));
            }
            // JSON has neither infinities nor what is not a number.
            Value::Float(value) if !value.is_finite() => self.out.null()?,
            Value::Float(value) => self.out.number(&print_float(*value))?,
            Value::Text(text) => self.out.text(text.as_str())?,
            Value::Verbatim(text) => self.out.number(text.as_str())?,
            Value::Record(at) if self.plain_inner(*at)? => {}
            Value::List(_) | Value::Record(_) => self.nested(value)?,
            Value::Function(_) | Value::Builtin(_) | Value::Awaitable(_) => {
                if self.manner == NonJsonValues::Strict || self.refuses(value) {
                    let kind = value.kind_name();
                    let hint =
                        if matches!(value, Value::Awaitable(_)) { ": await it first" } else { "" };
                    return Err(type_error(format!("{kind} cannot leave the script{hint}")));
                }
                self.out.null()?;
            }
        }
        Ok(())
    }

    /// Writes an object of a library class; false if it is written like any other.
    fn plain_inner(&mut self, at: RecordRef) -> VmResult<bool> {
        let name = match self.heap.records.get(at).map_or(&Inner::None, Record::inner) {
            Inner::None | Inner::Error => {
                if self.manner == NonJsonValues::Strict && self.heap.inherits(at, "toJSON") {
                    let text = "an object with a method `toJSON` cannot leave the script: call it";
                    return Err(type_error(text));
                }
                return Ok(false);
            }
            Inner::Date(time) => {
                match Machine::iso_text(*time) {
                    Some(text) => self.out.text(&text)?,
                    None => self.out.null()?,
                }
                return Ok(true);
            }
            Inner::Map(_) => "a Map",
            Inner::Set(_) => "a Set",
            Inner::Regex(_) => "a regular expression",
            Inner::Iterator(_) => "an iterator",
        };
        if self.manner == NonJsonValues::Strict {
            let text = format!("{name} cannot leave the script: make an object or a list of it");
            return Err(type_error(text));
        }
        Ok(false)
    }

    fn refuses(&self, value: &Value) -> bool {
        self.manner == NonJsonValues::Stringify && matches!(value, Value::Awaitable(_))
    }

    fn nested(&mut self, value: &Value) -> VmResult<()> {
        let same = |other: &Value| match (value, other) {
            (Value::List(one), Value::List(other)) => one == other,
            (Value::Record(one), Value::Record(other)) => one == other,
            _ => false,
        };
        let is_cycle = self.path.iter().any(same);
        // What is shown is put into other documents.
        let is_shown = self.manner == NonJsonValues::Show;
        if is_shown && (is_cycle || self.path.len() >= Json::MAX_DEPTH - 2) {
            return Ok(self.out.null()?);
        }
        if is_cycle {
            return Err(type_error("the value cannot be written as JSON: it contains itself"));
        }
        self.path.push(value.clone());
        match value {
            Value::List(at) => self.list(self.heap.lists.get(*at).map_or(&[], |list| list))?,
            Value::Record(at) => {
                let record = self.heap.records.get(*at);
                match (self.names, record) {
                    (Some(names), Some(record)) => {
                        let found = |name: &Text| Some((name.clone(), record.get(name)?.clone()));
                        let entries: Vec<(Text, Value)> = names.iter().filter_map(found).collect();
                        self.record(&entries)?;
                    }
                    (None, Some(record)) if self.manner == NonJsonValues::Stringify => {
                        self.record(&record.enumerable())?;
                    }
                    (None, Some(record)) if record.extra().is_some() => {
                        let entries = self.shown_entries(*at, record);
                        self.record(&entries)?;
                    }
                    (None, Some(record)) => self.record(&record.ordered())?,
                    (_, None) => self.record(&[])?,
                }
            }
            _ => {}
        }
        self.path.pop();
        Ok(())
    }

    /// The properties of an object with a class. An error also has its name.
    fn shown_entries(&self, at: RecordRef, record: &Record) -> Vec<(Text, Value)> {
        if !record.is_made_error() {
            return record.enumerable();
        }
        let mut entries = Vec::new();
        if record.get_str("name").is_none() {
            entries.push((Text::new("name"), Value::text(self.heap.error_name(at))));
        }
        let is_public = |entry: &(Text, Value)| !Record::is_private(entry.0.as_str());
        entries.extend(record.ordered().iter().filter(|entry| is_public(entry)).cloned());
        entries
    }

    fn list(&mut self, items: &[Value]) -> VmResult<()> {
        self.out.list()?;
        for item in items {
            self.value(item)?;
        }
        self.out.end_of_list();
        Ok(())
    }

    fn record(&mut self, entries: &[(Text, Value)]) -> VmResult<()> {
        self.out.object()?;
        for (name, value) in entries {
            if self.is_left_out(value) {
                continue;
            }
            self.out.key(name.as_str())?;
            self.value(value)?;
        }
        self.out.end_of_object();
        Ok(())
    }

    /// Whether a property is left out: `undefined`, or a value that cannot be shown.
    fn is_left_out(&self, value: &Value) -> bool {
        match value {
            Value::Undefined => true,
            Value::Function(_) | Value::Builtin(_) => self.manner != NonJsonValues::Strict,
            Value::Awaitable(_) | Value::Accessor(_) => self.manner == NonJsonValues::Show,
            _ => false,
        }
    }
}
