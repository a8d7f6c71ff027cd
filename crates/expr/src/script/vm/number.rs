//! Numbers as text, both ways.

use std::fmt::Write as _;

use super::text::Text;
use super::value::Value;

/// Reads a JSON number: an integer, a double, or, when it is neither exactly, the text itself.
pub(crate) fn parse_number(text: &str) -> Value {
    let is_integer = !text.bytes().any(|byte| matches!(byte, b'.' | b'e' | b'E'));
    if is_integer && let Ok(value) = text.parse::<i64>() {
        return if text == "-0" { Value::Float(-0.0) } else { Value::Int(value) };
    }
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() && same_decimal(text, &format!("{value:e}")) => {
            Value::Float(value)
        }
        _ => Value::Verbatim(Text::new(text)),
    }
}

/// Whether two texts are the same decimal number.
fn same_decimal(one: &str, other: &str) -> bool {
    decimal(one) == decimal(other)
}

/// Sign, digits without zeros at their ends, and the exponent of the last digit.
fn decimal(text: &str) -> Option<(bool, String, i64)> {
    let (text, negative) = text.strip_prefix('-').map_or((text, false), |rest| (rest, true));
    let (mantissa, exponent) = match text.find(['e', 'E']) {
        Some(at) => (text.get(..at)?, text.get(at + 1..)?.parse::<i64>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let trimmed = digits.trim_end_matches('0');
    let dropped = i64::try_from(digits.len() - trimmed.len()).ok()?;
    let exponent = exponent.checked_sub(i64::try_from(fraction.len()).ok()?)? + dropped;
    let digits = trimmed.trim_start_matches('0').to_owned();
    let exponent = if digits.is_empty() { 0 } else { exponent };
    Some((negative && !digits.is_empty(), digits, exponent))
}

/// A double as JavaScript prints it: the shortest text that reads back as the same number.
pub(crate) fn print_float(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let scientific = format!("{value:e}");
    let Some((mantissa, exponent)) = scientific.split_once('e') else { return scientific };
    let (sign, mantissa) = mantissa.strip_prefix('-').map_or(("", mantissa), |it| ("-", it));
    let digits: String = mantissa.chars().filter(|c| *c != '.').collect();
    let exponent: i32 = exponent.parse().unwrap_or_default();
    let count = i32::try_from(digits.len()).unwrap_or(i32::MAX);
    let mut text = String::from(sign);
    if (0..21).contains(&exponent) {
        if count <= exponent + 1 {
            text.push_str(&digits);
            text.extend(std::iter::repeat_n(
                '0',
                usize::try_from(exponent + 1 - count).unwrap_or(0),
            ));
        } else {
            let (whole, fraction) = digits.split_at(usize::try_from(exponent + 1).unwrap_or(0));
            // Writing to a String cannot fail.
            let _ = write!(text, "{whole}.{fraction}");
        }
    } else if (-6..0).contains(&exponent) {
        let zeros = usize::try_from(-exponent - 1).unwrap_or(0);
        let _ = write!(text, "0.{}{digits}", "0".repeat(zeros));
    } else {
        let (first, rest) = digits.split_at(1.min(digits.len()));
        let point = if rest.is_empty() { "" } else { "." };
        let plus = if exponent > 0 { "+" } else { "" };
        let _ = write!(text, "{first}{point}{rest}e{plus}{exponent}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_print_as_in_javascript() {
        let cases = [
            (0.1 + 0.2, "0.30000000000000004"),
            (1.0, "1"),
            (-0.0, "0"),
            (1e21, "1e+21"),
            (123_456_789_012_345_680_000.0, "123456789012345680000"),
            (1.5e-7, "1.5e-7"),
            (0.000_001, "0.000001"),
            (-2.5, "-2.5"),
            (1e300, "1e+300"),
        ];
        for (value, text) in cases {
            assert_eq!(print_float(value), text);
        }
    }

    #[test]
    fn numbers_that_fit_nothing_are_kept() {
        assert!(matches!(parse_number("9223372036854775807"), Value::Int(i64::MAX)));
        assert!(matches!(
            parse_number("9223372036854775808"),
            Value::Float(_) | Value::Verbatim(_)
        ));
        assert!(matches!(parse_number("1.50"), Value::Float(value) if (value - 1.5).abs() < 1e-9));
        assert!(matches!(parse_number("1e3"), Value::Float(_)));
        assert!(matches!(parse_number("0.1"), Value::Float(_)));
        let long = "1.000000000000000000000000000001";
        assert!(matches!(parse_number(long), Value::Verbatim(text) if text.as_str() == long));
        assert!(matches!(parse_number("1e400"), Value::Verbatim(_)));
        assert!(matches!(parse_number("12345678901234567890"), Value::Verbatim(_)));
    }
}
