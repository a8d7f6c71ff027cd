//! Conversions between numbers, texts and booleans. They never guess: what is no number throws.

use super::dispatch::arg;
use super::math::whole;
use crate::script::library::Builtin;
use crate::script::vm::arithmetic::need_number;
use crate::script::vm::json_out::Style;
use crate::script::vm::{
    Machine, Outcome, Text, Value, parse_number, print_float, range_error, type_error,
};

impl Machine<'_> {
    pub(super) fn convert(&mut self, function: Builtin, args: &[Value]) -> Outcome<Value> {
        let value = arg(args, 0);
        match function {
            Builtin::ToText => {
                let text = if args.is_empty() { String::new() } else { self.text_of(&value)? };
                self.new_text(text)
            }
            Builtin::ToNumber => number_of(&value, args.is_empty()),
            Builtin::ToBoolean => Ok(Value::Bool(value.is_truthy())),
            Builtin::ParseInt | Builtin::NumberParseInt => self.parse_int(&value, &arg(args, 1)),
            Builtin::ParseFloat | Builtin::NumberParseFloat => parse_float(&value),
            Builtin::NumberIsInteger => Ok(Value::Bool(match value {
                Value::Int(_) => true,
                Value::Float(value) => value.fract() == 0.0,
                _ => false,
            })),
            Builtin::NumberIsFinite => {
                Ok(Value::Bool(matches!(value, Value::Int(_) | Value::Float(_))))
            }
            // There is no NaN to be found.
            _ => Ok(Value::Bool(false)),
        }
    }

    fn parse_int(&mut self, value: &Value, radix: &Value) -> Outcome<Value> {
        if let Value::Int(_) | Value::Float(_) = value {
            return self.math(Builtin::MathTrunc, std::slice::from_ref(value));
        }
        let text = need_text(value, "parseInt")?;
        let radix = match radix {
            Value::Undefined => 10,
            other => other.as_int().and_then(|it| u32::try_from(it).ok()).unwrap_or(0),
        };
        if !(2..=36).contains(&radix) {
            return Err(range_error("the base of `parseInt` is between 2 and 36"));
        }
        let trimmed = text.as_str().trim_start();
        let sign = usize::from(trimmed.starts_with(['-', '+']));
        let digits = trimmed.get(sign..).unwrap_or_default();
        let length = digits.find(|c: char| !c.is_digit(radix)).unwrap_or(digits.len());
        if length == 0 {
            return Err(range_error(format!("{:?} does not begin with a number", clip(&text))));
        }
        let number = trimmed.get(..sign + length).unwrap_or_default();
        let number = number.strip_prefix('+').unwrap_or(number);
        let value = i64::from_str_radix(number, radix);
        value.map(Value::Int).map_err(|_| range_error("the number does not fit into 64 bits"))
    }

    /// A number with so many digits behind the point.
    pub(super) fn fixed(&mut self, value: &Value, digits: &Value) -> Outcome<Value> {
        let digits = match digits {
            Value::Undefined => 0,
            other => other.as_int().and_then(|it| usize::try_from(it).ok()).unwrap_or(usize::MAX),
        };
        if digits > 20 {
            return Err(range_error("`toFixed` gives up to 20 digits"));
        }
        let number = need_number(value)?.as_float();
        self.new_text(format!("{number:.digits$}"))
    }

    /// A value as text, for `+`, templates and `String()`.
    pub(crate) fn text_of(&mut self, value: &Value) -> Outcome<String> {
        Ok(match value {
            Value::Undefined | Value::Cell(_) => "undefined".to_owned(),
            Value::Null => "null".to_owned(),
            Value::Bool(value) => value.to_string(),
            Value::Int(value) => value.to_string(),
            Value::Float(value) => print_float(*value),
            Value::Text(text) | Value::Verbatim(text) => text.as_str().to_owned(),
            Value::Function(_) | Value::Builtin(_) => "function".to_owned(),
            Value::Awaitable(at) => {
                let instance = self.instance;
                self.heap.awaitables.get(*at).map(|it| it.id(instance)).unwrap_or_default()
            }
            Value::List(_) => self.joined(value, ",", 0)?,
            Value::Record(at) => {
                let record = self.heap.records.get(*at);
                let part = |name: &str| match record.and_then(|it| it.get_str(name)) {
                    Some(Value::Text(text)) => Some(text.as_str().to_owned()),
                    _ => None,
                };
                // An error reads as one; any other object as its JSON.
                match (part("name"), part("message")) {
                    (Some(name), Some(message)) => format!("{name}: {message}"),
                    _ => match self.stringify(value, &Style::default())? {
                        Value::Text(text) => text.as_str().to_owned(),
                        _ => String::new(),
                    },
                }
            }
        })
    }
}

/// A value that must be a string.
pub(crate) fn need_text(value: &Value, of: &str) -> Outcome<Text> {
    match value {
        Value::Text(text) => Ok(text.clone()),
        other => Err(type_error(format!("`{of}` needs a string, not {}", other.kind_name()))),
    }
}

/// `Number(value)`
fn number_of(value: &Value, missing: bool) -> Outcome<Value> {
    match value {
        _ if missing => Ok(Value::Int(0)),
        Value::Int(_) | Value::Float(_) | Value::Verbatim(_) => Ok(value.clone()),
        Value::Bool(value) => Ok(Value::Int(i64::from(*value))),
        Value::Text(text) => {
            let trimmed = text.as_str().trim();
            if is_decimal(trimmed) {
                Ok(parse_number(trimmed.strip_prefix('+').unwrap_or(trimmed)))
            } else {
                Err(range_error(format!("{:?} is not a number", clip(text))))
            }
        }
        other => Err(type_error(format!("{} is not a number", other.kind_name()))),
    }
}

/// The beginning of a text, for messages.
fn clip(text: &Text) -> String {
    text.as_str().chars().take(40).collect()
}

fn is_decimal(text: &str) -> bool {
    !text.is_empty() && decimal_length(text) == text.len()
}

/// How much of a text is a decimal number.
fn decimal_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digits = |from: usize| {
        bytes.get(from..).unwrap_or_default().iter().take_while(|it| it.is_ascii_digit()).count()
    };
    let start = usize::from(matches!(bytes.first(), Some(b'-' | b'+')));
    let mut count = digits(start);
    let mut end = start + count;
    if bytes.get(end) == Some(&b'.') && digits(end + 1) > 0 {
        count += digits(end + 1);
        end += 1 + digits(end + 1);
    }
    if count == 0 {
        return 0;
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let signed = usize::from(matches!(bytes.get(end + 1), Some(b'-' | b'+')));
        let exponent = digits(end + 1 + signed);
        end += if exponent > 0 { 1 + signed + exponent } else { 0 };
    }
    end
}

fn parse_float(value: &Value) -> Outcome<Value> {
    if let Value::Int(_) | Value::Float(_) = value {
        return Ok(value.clone());
    }
    let text = need_text(value, "parseFloat")?;
    let trimmed = text.as_str().trim_start();
    let length = decimal_length(trimmed);
    let number = trimmed.get(..length).unwrap_or_default();
    match number.parse::<f64>() {
        Ok(value) if length > 0 && value.is_finite() => Ok(whole(Value::Float(value))),
        _ => Err(range_error(format!("{:?} does not begin with a number", clip(&text)))),
    }
}
