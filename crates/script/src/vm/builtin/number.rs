//! Conversions between numbers, texts and booleans, and number formatting.

use super::dispatch::arg;
use crate::library::{Builtin, Method};
use crate::vm::arithmetic::{number, safe};
use crate::vm::convert::is_blank;
use crate::vm::number::{decimal_length, decimal_number, exponential, fixed, precise, with_radix};
use crate::vm::{Machine, Value, VmResult, print_float, range_error, unsupported};

/// Up to here a text of digits in any base is exact as a double.
const EXACT_INTEGER_LIMIT: f64 = 9_007_199_254_740_992.0;

impl Machine<'_> {
    pub(super) fn convert(&mut self, function: Builtin, args: &[Value]) -> VmResult<Value> {
        let value = arg(args, 0);
        match function {
            Builtin::ToText => {
                let text = if args.is_empty() { String::new() } else { self.text_of(&value)? };
                self.new_text(text)
            }
            Builtin::ToNumber if args.is_empty() => Ok(Value::Int(0)),
            Builtin::ToNumber => match value {
                Value::Verbatim(_) | Value::Int(_) => Ok(value),
                other => self.numeric(&other),
            },
            Builtin::ToBoolean => Ok(Value::Bool(value.is_truthy())),
            Builtin::ParseInt | Builtin::NumberParseInt => self.parse_int(&value, &arg(args, 1)),
            Builtin::ParseFloat | Builtin::NumberParseFloat => self.parse_float(&value),
            Builtin::IsNaN => Ok(Value::Bool(self.float_of(&value)?.is_nan())),
            Builtin::IsFinite => Ok(Value::Bool(self.float_of(&value)?.is_finite())),
            _ => Ok(Value::Bool(is_number(function, &value))),
        }
    }

    fn parse_int(&mut self, value: &Value, radix: &Value) -> VmResult<Value> {
        let text = self.string_of(value)?;
        self.spend_bytes(text.bytes());
        let mut radix = match radix {
            Value::Undefined => 0,
            other => self.whole_number(other, 0)?,
        };
        let trimmed = text.as_str().trim_start_matches(is_blank);
        let negative = trimmed.starts_with('-');
        let mut digits = trimmed.strip_prefix(['-', '+']).unwrap_or(trimmed);
        if matches!(radix, 0 | 16)
            && let Some(rest) = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X"))
        {
            (digits, radix) = (rest, 16);
        }
        let radix = if radix == 0 { 10 } else { radix };
        let Some(radix) = u32::try_from(radix).ok().filter(|it| (2..=36).contains(it)) else {
            return Ok(Value::Float(f64::NAN));
        };
        let length = digits.find(|c: char| !c.is_digit(radix)).unwrap_or(digits.len());
        let digits = digits.get(..length).unwrap_or_default();
        let value = if digits.is_empty() {
            f64::NAN
        } else if radix == 10 {
            decimal_number(digits)
        } else {
            let add = |sum: f64, c: char| {
                sum * f64::from(radix) + f64::from(c.to_digit(radix).unwrap_or(0))
            };
            digits.chars().fold(0.0, add)
        };
        if value > EXACT_INTEGER_LIMIT && radix != 10 {
            return Err(unsupported("`parseInt` to this base is not exact beyond 2^53"));
        }
        Ok(number(if negative { -value } else { value }))
    }

    fn parse_float(&mut self, value: &Value) -> VmResult<Value> {
        let text = self.string_of(value)?;
        self.spend_bytes(text.bytes());
        let trimmed = text.as_str().trim_start_matches(is_blank);
        match decimal_length(trimmed) {
            0 => Ok(Value::Float(f64::NAN)),
            length => Ok(number(decimal_number(trimmed.get(..length).unwrap_or_default()))),
        }
    }

    /// `toFixed`, `toPrecision`, `toExponential` and `toString` of a number.
    pub(super) fn number_method(
        &mut self,
        value: &Value,
        method: Method,
        args: &[Value],
    ) -> VmResult<Option<Value>> {
        let digits = arg(args, 0);
        if method == Method::ToString {
            return self.number_text(value, &digits).map(Some);
        }
        let float = self.float_of(value)?;
        let count = self.whole_number(&digits, 0)?;
        // Formatting computes all digits of a double.
        self.spend(64);
        let none = matches!(digits, Value::Undefined);
        let text = match method {
            Method::ToFixed => fixed(float, digits_within(count, 0, method)?),
            Method::ToPrecision if none || !float.is_finite() => print_float(float),
            Method::ToPrecision => precise(float, digits_within(count, 1, method)?),
            Method::ToExponential if none || !float.is_finite() => exponential(float, None),
            Method::ToExponential => exponential(float, Some(digits_within(count, 0, method)?)),
            _ => return Ok(None),
        };
        self.new_text(text).map(Some)
    }

    fn number_text(&mut self, value: &Value, radix: &Value) -> VmResult<Value> {
        let radix = self.whole_number(radix, 10)?;
        let Some(radix) = u32::try_from(radix).ok().filter(|it| (2..=36).contains(it)) else {
            return Err(range_error("the base of `toString` is between 2 and 36"));
        };
        if radix == 10 {
            let text = self.text_of(value)?;
            return self.new_text(text);
        }
        let float = self.float_of(value)?;
        self.spend(64);
        let text = with_radix(float, radix)
            .ok_or_else(|| unsupported("`toString` to this base is not exact beyond 2^53"))?;
        self.new_text(text)
    }
}

/// The requested number of digits, checked.
fn digits_within(count: i64, least: usize, method: Method) -> VmResult<usize> {
    let digits = usize::try_from(count).ok().filter(|it| (least..=100).contains(it));
    digits.ok_or_else(|| {
        range_error(format!("`{}` gives between {least} and 100 digits", method.name()))
    })
}

/// `Number.isInteger` and similar functions.
fn is_number(function: Builtin, value: &Value) -> bool {
    let float = match value {
        Value::Int(value) => {
            return match function {
                Builtin::NumberIsSafeInteger => safe(*value),
                Builtin::NumberIsNaN => false,
                _ => true,
            };
        }
        Value::Float(value) => *value,
        _ => return false,
    };
    match function {
        Builtin::NumberIsInteger => float.fract() == 0.0,
        Builtin::NumberIsSafeInteger => float.fract() == 0.0 && float.abs() < EXACT_INTEGER_LIMIT,
        Builtin::NumberIsFinite => float.is_finite(),
        _ => float.is_nan(),
    }
}
