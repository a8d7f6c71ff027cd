//! Writes values as JSON: as documents of the engine, and for display.

use std::fmt::Write as _;

use meantime_core::Json;

use super::json_in::MAX_DEPTH;
use super::machine::Machine;
use super::number::print_float;
use super::raise::{VmResult, limit, type_error};
use super::text::Text;
use super::value::Value;
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
        let limit = self.limits.payload_bytes;
        let text =
            write(&self.heap, value, NonJsonValues::Strict, &StringifyStyle::default(), limit)?;
        self.spend_bytes(text.len());
        as_json(&text)
    }

    /// A value as the text of `JSON.stringify`; undefined for values that JSON does not have.
    pub(super) fn stringify(&mut self, value: &Value, style: &StringifyStyle) -> VmResult<Value> {
        if matches!(value, Value::Undefined | Value::Function(_) | Value::Builtin(_)) {
            return Ok(Value::Undefined);
        }
        let text =
            write(&self.heap, value, NonJsonValues::Stringify, style, self.limits.string_bytes)?;
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
    let written = write(heap, value, NonJsonValues::Show, &StringifyStyle::default(), most);
    written.and_then(|text| as_json(&text)).unwrap_or_else(|_| Json::text("(too large to show)"))
}

/// The value of a property for display, or none if it cannot be shown.
pub(crate) fn property_to_display_json(heap: &Heap, value: &Value, most: usize) -> Option<Json> {
    let hidden = matches!(
        value,
        Value::Undefined | Value::Function(_) | Value::Builtin(_) | Value::Awaitable(_)
    );
    if hidden {
        return None;
    }
    let shown = write(heap, value, NonJsonValues::Show, &StringifyStyle::default(), most);
    shown.and_then(|text| as_json(&text)).ok()
}

/// The text written here is always JSON; the check is cheap.
fn as_json(text: &str) -> VmResult<Json> {
    Json::parse(text).map_err(|error| limit("payload_limit", error.to_string()))
}

fn write(
    heap: &Heap,
    value: &Value,
    manner: NonJsonValues,
    style: &StringifyStyle,
    most: usize,
) -> VmResult<String> {
    let (text, path) = (String::new(), Vec::new());
    let mut writer = Writer { heap, text, path, manner, style, most };
    writer.value(value)?;
    Ok(writer.text)
}

struct Writer<'h> {
    heap: &'h Heap,
    text: String,
    /// The lists and objects being written, to detect cycles.
    path: Vec<Value>,
    manner: NonJsonValues,
    style: &'h StringifyStyle,
    most: usize,
}

impl Writer<'_> {
    fn value(&mut self, value: &Value) -> VmResult<()> {
        match value {
            Value::Undefined | Value::Null | Value::Cell(_) => self.text.push_str("null"),
            Value::Bool(value) => self.text.push_str(if *value { "true" } else { "false" }),
            Value::Int(value) => {
                // Writing to a String cannot fail.
                let _ = write!(self.text, "{value}");
            }
            Value::Float(value) if !value.is_finite() && self.manner == NonJsonValues::Strict => {
                let text = format!("{} cannot leave the script", print_float(*value));
                return Err(type_error(text));
            }
            // JSON has neither infinities nor NaN.
            Value::Float(value) if !value.is_finite() => self.text.push_str("null"),
            Value::Float(value) => self.text.push_str(&print_float(*value)),
            Value::Text(text) => write_string(text.as_str(), &mut self.text),
            Value::Verbatim(text) => self.text.push_str(text.as_str()),
            Value::List(_) | Value::Record(_) => self.nested(value)?,
            Value::Function(_) | Value::Builtin(_) | Value::Awaitable(_) => {
                if self.manner == NonJsonValues::Strict || self.refuses(value) {
                    let kind = value.kind_name();
                    let hint =
                        if matches!(value, Value::Awaitable(_)) { ": await it first" } else { "" };
                    return Err(type_error(format!("{kind} cannot leave the script{hint}")));
                }
                self.text.push_str("null");
            }
        }
        if self.text.len() > self.most {
            let text = format!("a document has more than {} bytes", self.most);
            return Err(limit("payload_limit", text));
        }
        Ok(())
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
        // Values for display are inserted into other documents, which adds levels.
        let most = if self.manner == NonJsonValues::Show { MAX_DEPTH - 2 } else { MAX_DEPTH };
        if is_cycle || self.path.len() >= most {
            if self.manner == NonJsonValues::Show {
                self.text.push_str("null");
                return Ok(());
            }
            let text = if is_cycle { "it contains itself" } else { "it is nested too deeply" };
            return Err(type_error(format!("the value cannot be written as JSON: {text}")));
        }
        self.path.push(value.clone());
        match value {
            Value::List(at) => self.list(self.heap.lists.get(*at).map_or(&[], |list| list))?,
            Value::Record(at) => {
                let record = self.heap.records.get(*at);
                match (&self.style.names, record) {
                    (Some(names), Some(record)) => {
                        let found = |name: &Text| Some((name.clone(), record.get(name)?.clone()));
                        let entries: Vec<(Text, Value)> = names.iter().filter_map(found).collect();
                        self.record(&entries)?;
                    }
                    (None, Some(record)) if self.manner == NonJsonValues::Stringify => {
                        self.record(&record.enumerable())?;
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

    fn list(&mut self, items: &[Value]) -> VmResult<()> {
        self.text.push('[');
        for (index, item) in items.iter().enumerate() {
            self.separate(index > 0);
            self.value(item)?;
        }
        self.close(!items.is_empty(), ']');
        Ok(())
    }

    fn record(&mut self, entries: &[(Text, Value)]) -> VmResult<()> {
        self.text.push('{');
        let mut any = false;
        for (name, value) in entries {
            if self.is_left_out(value) {
                continue;
            }
            self.separate(any);
            any = true;
            write_string(name.as_str(), &mut self.text);
            self.text.push_str(if self.style.indent.is_some() { ": " } else { ":" });
            self.value(value)?;
        }
        self.close(any, '}');
        Ok(())
    }

    /// Whether a property is left out: `undefined`, or a value that cannot be shown.
    fn is_left_out(&self, value: &Value) -> bool {
        match value {
            Value::Undefined => true,
            Value::Function(_) | Value::Builtin(_) => self.manner != NonJsonValues::Strict,
            Value::Awaitable(_) => self.manner == NonJsonValues::Show,
            _ => false,
        }
    }

    fn separate(&mut self, follows: bool) {
        if follows {
            self.text.push(',');
        }
        self.new_line(self.path.len());
    }

    fn close(&mut self, any: bool, bracket: char) {
        if any {
            self.new_line(self.path.len().saturating_sub(1));
        }
        self.text.push(bracket);
    }

    fn new_line(&mut self, depth: usize) {
        if let Some(indent) = &self.style.indent {
            self.text.push('\n');
            self.text.extend(std::iter::repeat_n(indent.as_str(), depth));
        }
    }
}

/// A string with quotes and escapes.
pub(super) fn write_string(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            c if c < ' ' => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}
