//! Numbers as text, both ways.

use std::fmt::Write as _;

use super::arithmetic::{number, safe};
use super::convert::is_blank;
use super::text::Text;
use super::value::Value;

/// A number of a document: an integer or a double if it is exact, otherwise the text itself, so
/// that it is written back unchanged.
pub(crate) fn document_number(text: &str) -> Value {
    let is_integer = !text.bytes().any(|byte| matches!(byte, b'.' | b'e' | b'E'));
    if is_integer && let Ok(value) = text.parse::<i64>() {
        return if text == "-0" { Value::Float(-0.0) } else { Value::Int(value) };
    }
    // Every decimal of 15 digits, without an exponent, is told from its neighbours by its double.
    let is_short = text.len() <= 16 && !text.bytes().any(|byte| matches!(byte, b'e' | b'E'));
    let is_same = |value: f64| is_short || same_decimal(text, &format!("{value:e}"));
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() && is_same(value) => Value::Float(value),
        _ => Value::Verbatim(Text::new(text)),
    }
}

/// Reads a number as `JSON.parse` does: the nearest double.
pub(crate) fn nearest_number(text: &str) -> Value {
    match text.parse::<i64>() {
        Ok(value) if safe(value) && text != "-0" => Value::Int(value),
        _ => number(text.parse::<f64>().unwrap_or(f64::NAN)),
    }
}

/// Whether two texts are the same decimal number.
fn same_decimal(one: &str, other: &str) -> bool {
    decimal(one) == decimal(other)
}

/// Whether the nearest double of a literal is exactly the written number.
pub(crate) fn is_exact(text: &str) -> bool {
    text.parse::<f64>().is_ok_and(|value| same_decimal(text, &format!("{value:e}")))
}

/// Sign, digits without leading and trailing zeros, and the exponent of the last digit.
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

/// A double as JavaScript prints it: the shortest text that parses to the same number.
pub(crate) fn print_float(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    if !value.is_finite() {
        let name = if value.is_nan() { "NaN" } else { "Infinity" };
        return if value < 0.0 { format!("-{name}") } else { name.to_owned() };
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

/// A text as a number, as `Number()` parses it; NaN if it is none.
pub(crate) fn read_number(text: &str) -> f64 {
    let text = text.trim_matches(is_blank);
    if text.is_empty() {
        return 0.0;
    }
    for (prefix, radix) in [("0x", 16), ("0X", 16), ("0o", 8), ("0O", 8), ("0b", 2), ("0B", 2)] {
        if let Some(digits) = text.strip_prefix(prefix) {
            return radix_number(digits, radix).unwrap_or(f64::NAN);
        }
    }
    match decimal_length(text) {
        0 => f64::NAN,
        length if length < text.len() => f64::NAN,
        _ => decimal_number(text),
    }
}

/// Digits in a base that is a power of two: the nearest double, halves to even.
fn radix_number(digits: &str, radix: u32) -> Option<f64> {
    if digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
        return None;
    }
    let (mut value, mut shift, mut lost) = (0u128, 0i32, false);
    for digit in digits.chars().filter_map(|c| c.to_digit(radix)) {
        if value >> 100 == 0 {
            value = value * u128::from(radix) + u128::from(digit);
        } else {
            // Beyond the precision of a double only whether a digit is non-zero matters.
            lost |= digit != 0;
            shift = shift.saturating_add(radix.ilog2().cast_signed());
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "rounds to the nearest double")]
    let nearest = (value | u128::from(lost)) as f64;
    Some(nearest * libm::exp2(f64::from(shift)))
}

/// A text that is one decimal number and nothing else.
pub(crate) fn decimal_number(text: &str) -> f64 {
    match text.trim_start_matches(['-', '+']) {
        "Infinity" if text.starts_with('-') => f64::NEG_INFINITY,
        "Infinity" => f64::INFINITY,
        _ => text.parse().unwrap_or(f64::NAN),
    }
}

/// The length of the decimal number or `Infinity` at the beginning of a text.
pub(crate) fn decimal_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digits = |from: usize| {
        bytes.get(from..).unwrap_or_default().iter().take_while(|it| it.is_ascii_digit()).count()
    };
    let start = usize::from(matches!(bytes.first(), Some(b'-' | b'+')));
    if text.get(start..).is_some_and(|rest| rest.starts_with("Infinity")) {
        return start + 8;
    }
    let mut count = digits(start);
    let mut end = start + count;
    if bytes.get(end) == Some(&b'.') && (count > 0 || digits(end + 1) > 0) {
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

/// All digits of a double, exactly: integer part and fraction.
fn exact_digits(value: f64) -> (String, String) {
    // No double has more digits after its point.
    let text = format!("{:.1074}", value.abs());
    let (whole, fraction) = text.split_once('.').unwrap_or((text.as_str(), ""));
    (whole.to_owned(), fraction.to_owned())
}

/// The first digits, with the last one rounded half up. True if a digit was added in front.
fn round_digits(digits: &str, keep: usize) -> (String, bool) {
    let mut kept: Vec<u8> = digits.bytes().take(keep).collect();
    if digits.as_bytes().get(keep).is_none_or(|digit| *digit < b'5') {
        return (String::from_utf8_lossy(&kept).into_owned(), false);
    }
    for digit in kept.iter_mut().rev() {
        if *digit < b'9' {
            *digit += 1;
            return (String::from_utf8_lossy(&kept).into_owned(), false);
        }
        *digit = b'0';
    }
    kept.insert(0, b'1');
    (String::from_utf8_lossy(&kept).into_owned(), true)
}

/// `toFixed`
pub(crate) fn fixed(value: f64, digits: usize) -> String {
    if !value.is_finite() || value.abs() >= 1e21 {
        return print_float(value);
    }
    let (whole, fraction) = exact_digits(value);
    let (rounded, _) = round_digits(&format!("{whole}{fraction}"), whole.len() + digits);
    let (whole, fraction) = rounded.split_at(rounded.len().saturating_sub(digits));
    let sign = if value < 0.0 { "-" } else { "" };
    let point = if digits > 0 { "." } else { "" };
    format!("{sign}{whole}{point}{fraction}")
}

/// This many significant digits, and the exponent of the first one.
fn significant(value: f64, count: usize) -> (String, i32) {
    let (whole, fraction) = exact_digits(value);
    let all = format!("{whole}{fraction}");
    let zeros = all.len() - all.trim_start_matches('0').len();
    if zeros == all.len() {
        return ("0".repeat(count), 0);
    }
    let index = |count: usize| i32::try_from(count).unwrap_or(i32::MAX);
    let exponent = index(whole.len()) - 1 - index(zeros);
    let mut digits = all.get(zeros..).unwrap_or_default().to_owned();
    // A subnormal double has fewer digits than requested.
    digits.extend(std::iter::repeat_n('0', count.saturating_sub(digits.len())));
    let (mut digits, carried) = round_digits(&digits, count);
    digits.truncate(count);
    (digits, exponent + i32::from(carried))
}

/// `toPrecision`
pub(crate) fn precise(value: f64, count: usize) -> String {
    if !value.is_finite() {
        return print_float(value);
    }
    let (digits, exponent) = significant(value, count);
    let sign = if value < 0.0 { "-" } else { "" };
    let all = i32::try_from(count).unwrap_or(i32::MAX);
    if exponent < -6 || exponent >= all {
        return format!("{sign}{}", with_exponent(&digits, exponent));
    }
    if exponent < 0 {
        let zeros = usize::try_from(-exponent - 1).unwrap_or(0);
        return format!("{sign}0.{}{digits}", "0".repeat(zeros));
    }
    let (whole, fraction) = digits.split_at(usize::try_from(exponent + 1).unwrap_or(0));
    let point = if fraction.is_empty() { "" } else { "." };
    format!("{sign}{whole}{point}{fraction}")
}

/// `toExponential`; without a count, as many digits as the number needs.
pub(crate) fn exponential(value: f64, count: Option<usize>) -> String {
    if !value.is_finite() {
        return print_float(value);
    }
    let sign = if value < 0.0 { "-" } else { "" };
    let (digits, exponent) = match count {
        Some(count) => significant(value, count + 1),
        None => {
            let text = format!("{:e}", value.abs());
            let (mantissa, exponent) = text.split_once('e').unwrap_or((text.as_str(), "0"));
            (mantissa.replace('.', ""), exponent.parse().unwrap_or_default())
        }
    };
    format!("{sign}{}", with_exponent(&digits, exponent))
}

fn with_exponent(digits: &str, exponent: i32) -> String {
    let (first, rest) = digits.split_at(1.min(digits.len()));
    let point = if rest.is_empty() { "" } else { "." };
    let plus = if exponent >= 0 { "+" } else { "" };
    format!("{first}{point}{rest}e{plus}{exponent}")
}

/// `toString(radix)`: the shortest digits that distinguish the double from its neighbours. None for
/// integer parts beyond the precision of a double in a base that is not a power of two.
pub(crate) fn with_radix(value: f64, radix: u32) -> Option<String> {
    if !value.is_finite() || value == 0.0 {
        return Some(print_float(value));
    }
    let size = value.abs();
    let mut text = String::from(if value < 0.0 { "-" } else { "" });
    text.push_str(&whole_digits(size.trunc(), radix)?);
    let behind = fraction_digits(size, radix);
    if !behind.is_empty() {
        text.push('.');
        text.extend(behind.into_iter().filter_map(|digit| char::from_digit(digit, radix)));
    }
    Some(text)
}

/// The digits of an integer.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the number is whole, not negative, and below the limit"
)]
fn whole_digits(whole: f64, radix: u32) -> Option<String> {
    if whole > 9_007_199_254_740_992.0 && !radix.is_power_of_two() {
        return None;
    }
    // Beyond 2^53 a double is an integer of 53 bits followed by zeros, which are written at the
    // end.
    let (mut rest, mut zeros) = (whole, 0);
    while rest >= 18_446_744_073_709_551_616.0 {
        rest /= f64::from(radix);
        zeros += 1;
    }
    let mut rest = rest as u64;
    let mut digits = Vec::new();
    while rest > 0 || digits.is_empty() {
        digits.push((rest % u64::from(radix)) as u32);
        rest /= u64::from(radix);
    }
    let digits = digits.into_iter().rev().filter_map(|digit| char::from_digit(digit, radix));
    Some(digits.chain(std::iter::repeat_n('0', zeros)).collect())
}

/// The digits after the point, by the fixed-point method of Steele and White ("How to print
/// floating-point numbers accurately", 1990): digits are generated until the remainder, or the
/// distance to the next digit, is less than half the distance to the next double.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::float_cmp,
    reason = "digits are below the base; exactly a half is meant"
)]
fn fraction_digits(size: f64, radix: u32) -> Vec<u32> {
    let base = f64::from(radix);
    let mut left = size.fract();
    // Half of the smallest double is zero, so the smallest double itself is used.
    let mut unsure = ((size.next_up() - size) / 2.0).max(f64::from_bits(1));
    let mut digits = Vec::new();
    let mut is_done = left < unsure;
    while !is_done {
        left *= base;
        unsure *= base;
        let mut digit = left as u32;
        left -= f64::from(digit);
        is_done = left < unsure || left > 1.0 - unsure;
        if is_done && (left > 0.5 || left == 0.5 && digit % 2 == 1) {
            digit += 1;
        }
        digits.push(digit);
    }
    while digits.last() == Some(&0) {
        digits.pop();
    }
    digits
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
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-Infinity"),
        ];
        for (value, text) in cases {
            assert_eq!(print_float(value), text);
        }
    }

    #[test]
    fn numbers_that_fit_nothing_are_kept() {
        assert!(matches!(document_number("9223372036854775807"), Value::Int(i64::MAX)));
        assert!(matches!(
            document_number("9223372036854775808"),
            Value::Float(_) | Value::Verbatim(_)
        ));
        assert!(
            matches!(document_number("1.50"), Value::Float(value) if (value - 1.5).abs() < 1e-9)
        );
        assert!(matches!(document_number("1e3"), Value::Float(_)));
        assert!(matches!(document_number("0.1"), Value::Float(_)));
        let long = "1.000000000000000000000000000001";
        assert!(matches!(document_number(long), Value::Verbatim(text) if text.as_str() == long));
        assert!(matches!(document_number("1e400"), Value::Verbatim(_)));
        assert!(matches!(document_number("12345678901234567890"), Value::Verbatim(_)));
    }

    #[test]
    fn numbers_that_a_script_parses_are_doubles() {
        assert!(matches!(nearest_number("9007199254740991"), Value::Int(9_007_199_254_740_991)));
        assert!(matches!(nearest_number("1e3"), Value::Int(1_000)));
        let cases = [
            ("-0", -0.0),
            ("9007199254740993", 9_007_199_254_740_992.0),
            ("12345678901234567890", 12_345_678_901_234_567_000.0),
            ("1e400", f64::INFINITY),
            ("-1e99999999999999999999", f64::NEG_INFINITY),
            ("-1e-400", -0.0),
        ];
        for (text, number) in cases {
            let found = nearest_number(text);
            let is_same = |it: f64| it.to_bits() == f64::to_bits(number);
            assert!(matches!(found, Value::Float(it) if is_same(it)), "{text}: {found:?}");
        }
    }

    #[test]
    fn texts_are_numbers_as_in_javascript() {
        let cases = [
            ("", 0.0),
            (" 12 ", 12.0),
            ("\u{feff}.5e1", 5.0),
            ("5.", 5.0),
            ("0x1f", 31.0),
            ("0b101", 5.0),
            ("-Infinity", f64::NEG_INFINITY),
        ];
        for (text, number) in cases {
            assert_eq!(read_number(text).to_bits(), number.to_bits(), "{text}");
        }
        for text in ["x", "1 2", "-0x1f", "inf", "nan", "1e", ".", "1_000", "0x"] {
            assert!(read_number(text).is_nan(), "{text}");
        }
    }
}
