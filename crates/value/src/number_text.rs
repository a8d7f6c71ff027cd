//! Numbers as text: parsing, and the two forms of writing.

use std::fmt;
use std::str::FromStr;

use bigdecimal::num_bigint::BigInt;

use super::number::{MAX_DIGITS, Number, NumberError, sign_of};

/// Reads digits with an optional sign, point and exponent: `-1.50`, `.5`, `12.`, `1e3`.
impl FromStr for Number {
    type Err = NumberError;

    fn from_str(text: &str) -> Result<Self, NumberError> {
        if let Some(value) = small(text) {
            return Ok(Self::Int(value));
        }
        let (mantissa, exponent) = match text.find(['e', 'E']) {
            Some(at) => (&text[..at], exponent(&text[at + 1..])?),
            None => (text, 0),
        };
        let (sign, digits) = match mantissa.as_bytes().first() {
            Some(b'-') => ("-", &mantissa[1..]),
            Some(b'+') => ("", &mantissa[1..]),
            _ => ("", mantissa),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let is_digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
        if (whole.is_empty() && fraction.is_empty()) || !is_digits(whole) || !is_digits(fraction) {
            return Err(NumberError::NotANumber);
        }
        let scale = i64::try_from(fraction.len()).unwrap_or(i64::MAX).saturating_sub(exponent);
        if scale.unsigned_abs() > MAX_DIGITS.unsigned_abs()
            || (whole.len() + fraction.len()) as u64 > 2 * MAX_DIGITS.unsigned_abs()
        {
            return Err(NumberError::TooManyDigits);
        }
        let unscaled = if whole.len() + fraction.len() <= SMALL_DIGITS {
            let digits = whole.bytes().chain(fraction.bytes());
            let size = digits.fold(0_i64, |sum, digit| sum * 10 + i64::from(digit - b'0'));
            BigInt::from(if sign.is_empty() { size } else { -size })
        } else {
            let digits = format!("{sign}{whole}{fraction}");
            BigInt::from_str(&digits).map_err(|_| NumberError::NotANumber)?
        };
        Self::from_parts(unscaled, scale)
    }
}

/// Digits that always fit a machine number.
const SMALL_DIGITS: usize = 18;

/// The common case: a short whole number.
fn small(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let fits = !digits.is_empty() && digits.len() <= SMALL_DIGITS;
    (fits && digits.bytes().all(|b| b.is_ascii_digit())).then(|| text.parse().ok())?
}

fn exponent(text: &str) -> Result<i64, NumberError> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(NumberError::NotANumber);
    }
    text.trim_start_matches('+').parse().map_err(|_| NumberError::TooManyDigits)
}

/// As Java writes it: plain, or with an exponent if the number has one or is below a millionth.
impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unscaled, scale) = match self {
            Self::Int(value) => return write!(f, "{value}"),
            Self::Big(_) => self.to_parts(),
        };
        let digits = unscaled.magnitude().to_str_radix(10);
        let last = i64::try_from(digits.len()).unwrap_or(i64::MAX) - 1;
        let exponent = last - scale;
        if scale >= 0 && exponent >= -6 {
            return f.write_str(&self.to_plain_string());
        }
        f.write_str(sign_of(&unscaled))?;
        let (first, rest) = digits.split_at(1);
        f.write_str(first)?;
        if !rest.is_empty() {
            write!(f, ".{rest}")?;
        }
        if exponent == 0 { Ok(()) } else { write!(f, "E{exponent:+}") }
    }
}

impl Number {
    /// Digits with a point where needed, never an exponent.
    pub fn to_plain_string(&self) -> String {
        let (unscaled, scale) = match self {
            Self::Int(value) => return value.to_string(),
            Self::Big(_) => self.to_parts(),
        };
        let sign = sign_of(&unscaled);
        let mut digits = unscaled.magnitude().to_str_radix(10);
        let decimals = usize::try_from(scale.unsigned_abs()).unwrap_or(0);
        if scale <= 0 {
            digits.extend(std::iter::repeat_n('0', decimals));
            return format!("{sign}{digits}");
        }
        if digits.len() <= decimals {
            digits.insert_str(0, &"0".repeat(decimals + 1 - digits.len()));
        }
        let (whole, fraction) = digits.split_at(digits.len() - decimals);
        format!("{sign}{whole}.{fraction}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Number {
        text.parse().unwrap()
    }

    #[test]
    fn text_round_trips_in_both_forms() {
        for (text, written, plain) in [
            ("1.10", "1.1", "1.1"),
            ("1e3", "1E+3", "1000"),
            ("1.0e10", "1.0E+10", "10000000000"),
            ("1.50e2", "150", "150"),
            ("-0.000001", "-0.000001", "-0.000001"),
            ("0.0000001", "1E-7", "0.0000001"),
            ("-0.0", "0", "0"),
            ("12.", "12", "12"),
            (".5", "0.5", "0.5"),
        ] {
            assert_eq!(number(text).to_string(), written);
            assert_eq!(number(text).to_plain_string(), plain);
        }
    }

    #[test]
    fn what_is_no_number_is_refused() {
        for text in ["", "-", ".", "1_000", " 1", "0x1", "1e", "e3", "1.2.3", "--1"] {
            assert!(text.parse::<Number>().is_err(), "{text}");
        }
        assert_eq!("1e999999999".parse::<Number>(), Err(NumberError::TooManyDigits));
        assert_eq!("1e99999999999999999999".parse::<Number>(), Err(NumberError::TooManyDigits));
    }

    /// Such a number could be read but not read again after writing (found by generated input).
    #[test]
    fn digits_are_counted_as_they_are_written() {
        let parse = |text: String| text.parse::<Number>().map(|it| it.to_plain_string().len());
        assert_eq!(parse("7".repeat(10_000)), Ok(10_000));
        assert_eq!(parse("7".repeat(10_001)), Err(NumberError::TooManyDigits));
        assert_eq!(parse("1e5000".to_owned()), Ok(5_001));
        assert_eq!(parse("1e5001".to_owned()), Err(NumberError::TooManyDigits));
        let both = |digits: usize, exponent| format!("{}e{exponent}", "12".repeat(digits / 2));
        assert_eq!(parse(both(5_000, 5_000)), Ok(10_000));
        assert_eq!(parse(both(7_950, 5_000)), Err(NumberError::TooManyDigits));
        assert_eq!(parse(both(10_000, -5_000)), Ok(10_001), "with its point");
        assert_eq!(parse(format!("{}.5", "7".repeat(9_999))), Ok(10_001));
    }

    #[test]
    fn quotients_are_exact_or_have_34_digits() {
        for (a, b, quotient) in [
            ("1", "3", "0.3333333333333333333333333333333333"),
            ("2", "3", "0.6666666666666666666666666666666667"),
            ("5", "3", "1.666666666666666666666666666666667"),
            ("10", "4", "2.5"),
            ("3", "562949953421312", "5.3290705182007513940334320068359375E-15"),
            ("1", "7e5", "0.000001428571428571428571428571428571429"),
            ("-1", "8", "-0.125"),
            ("1e20", "3", "33333333333333333333.33333333333333"),
        ] {
            assert_eq!(number(a).div(&number(b)).unwrap().to_string(), quotient);
        }
    }

    #[test]
    fn whole_numbers_overflow_into_big_ones() {
        let big = number("9223372036854775807");
        assert_eq!(big.add(&Number::Int(1)).unwrap().to_string(), "9223372036854775808");
        assert_eq!(Number::Int(i64::MIN).neg().to_string(), "9223372036854775808");
        assert_eq!(
            Number::Int(i64::MIN).div(&Number::Int(-1)).unwrap(),
            number("9223372036854775808")
        );
        assert_eq!(
            Number::Int(2).pow(&Number::Int(100)).unwrap().to_string(),
            "1267650600228229401496703205376"
        );
    }

    #[test]
    fn growth_is_bounded() {
        assert_eq!(
            Number::Int(9).pow(&Number::Int(1_000_000_000)),
            Err(NumberError::TooManyDigits)
        );
        assert_eq!(Number::Int(1).pow(&Number::Int(i64::MAX)), Ok(Number::Int(1)));
        assert_eq!(number("1e3").pow(&Number::Int(i64::MAX)), Err(NumberError::TooManyDigits));
    }
}
