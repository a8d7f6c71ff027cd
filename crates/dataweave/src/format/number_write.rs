//! Writes numbers by a pattern.

use bigdecimal::RoundingMode;
use meantime_value::Number;

use super::Locale;
use super::number_pattern::{Affixes, NumberPattern};

impl NumberPattern {
    /// The number in this pattern.
    pub(crate) fn write(&self, number: &Number, locale: &Locale, rounding: RoundingMode) -> String {
        let shifted = shift(number, self.shift);
        let (digits, is_negative) = match self.exponent {
            Some(_) => self.scientific(&shifted, locale, rounding),
            None => self.plain(&shifted, locale, rounding),
        };
        let minus = Affixes {
            prefix: format!("-{}", self.positive.prefix),
            suffix: self.positive.suffix.clone(),
        };
        let affixes = match (is_negative, &self.negative) {
            (false, _) => &self.positive,
            (true, Some(negative)) => negative,
            (true, None) => &minus,
        };
        format!("{}{digits}{}", affixes.prefix, affixes.suffix)
    }

    fn plain(&self, number: &Number, locale: &Locale, rounding: RoundingMode) -> (String, bool) {
        let scale = i64::try_from(self.max_fraction).unwrap_or(i64::MAX);
        let rounded = number.round_to(scale, rounding);
        let text = rounded.abs().to_plain_string();
        let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
        let no_digits = self.min_whole == 0 && !(fraction.is_empty() && self.min_fraction == 0);
        // `#.##` writes 0.5 with a leading zero, `.00` and `#.00` without.
        let drop_zero = no_digits && whole == "0" && (self.min_fraction > 0);
        let whole = if drop_zero { "" } else { whole };
        let mut out = self.group(&format!("{whole:0>0$}", self.min_whole), locale);
        let mut fraction = fraction.to_owned();
        while fraction.len() < self.min_fraction {
            fraction.push('0');
        }
        if !fraction.is_empty() {
            out.push(locale.decimal);
            out.push_str(&fraction);
        }
        (out, rounded.is_negative())
    }

    fn group(&self, whole: &str, locale: &Locale) -> String {
        if self.grouping == 0 {
            return whole.to_owned();
        }
        let mut out = String::new();
        for (index, digit) in whole.chars().enumerate() {
            if index > 0 && (whole.len() - index).is_multiple_of(self.grouping) {
                out.push(locale.grouping);
            }
            out.push(digit);
        }
        out
    }

    /// If the pattern allows more integer digits than it requires, the exponent is a multiple of
    /// their number.
    fn scientific(
        &self,
        number: &Number,
        locale: &Locale,
        rounding: RoundingMode,
    ) -> (String, bool) {
        let (unscaled, scale) = number.abs().to_parts();
        let digits = unscaled.to_string();
        let magnitude = i64::try_from(digits.len()).unwrap_or(0) - scale;
        let signed = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        let mut exponent = if number.is_zero() {
            0
        } else if self.max_whole > self.min_whole && self.max_whole > 1 {
            let step = signed(self.max_whole);
            (magnitude - 1).div_euclid(step) * step
        } else {
            magnitude - signed(self.min_whole.max(1))
        };
        // With such a stepped exponent the number of significant digits is fixed, otherwise the
        // number of fraction digits.
        let mantissa = shift(&number.abs(), -exponent);
        let decimals = if self.max_whole > self.min_whole && self.max_whole > 1 {
            let whole = signed(mantissa.to_plain_string().split('.').next().map_or(1, str::len));
            (signed(self.min_whole + self.max_fraction) - whole).max(signed(self.max_fraction) + 1)
        } else {
            signed(self.max_fraction)
        };
        let mut mantissa = mantissa.round_to(decimals.max(0), rounding);
        if self.max_whole <= self.min_whole
            && mantissa >= Number::Int(10_i64.pow(1))
            && self.min_whole <= 1
        {
            mantissa = shift(&mantissa, -1);
            exponent += 1;
        }
        let text = mantissa.to_plain_string();
        let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
        let mut out = format!("{whole:0>0$}", self.min_whole);
        let mut fraction = fraction.to_owned();
        while fraction.len() < self.min_fraction {
            fraction.push('0');
        }
        if !fraction.is_empty() {
            out.push(locale.decimal);
            out.push_str(&fraction);
        }
        let sign = if exponent < 0 { "-" } else { "" };
        let width = self.exponent.unwrap_or(1);
        let exponent = format!("{:0>width$}", exponent.abs());
        out.extend(["E", sign, &exponent]);
        (out, number.is_negative())
    }
}

/// The number with its decimal point moved to the right.
fn shift(number: &Number, decimals: i64) -> Number {
    if decimals == 0 {
        return number.clone();
    }
    let (unscaled, scale) = number.to_parts();
    Number::from_parts(unscaled, scale.saturating_sub(decimals)).unwrap_or_else(|_| number.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(pattern: &str, number: &str) -> String {
        let number: Number = number.parse().unwrap();
        let pattern = NumberPattern::parse(pattern).unwrap();
        pattern.write(&number, Locale::english(), RoundingMode::HalfUp)
    }

    #[test]
    fn patterns() {
        for (pattern, number, text) in [
            ("#,##0.00", "1234567.891", "1,234,567.89"),
            ("0", "0.5", "1"),
            ("000.00", "12", "012.00"),
            ("#.##", "0.5", "0.5"),
            ("#.##", "0", "0"),
            (".00", "0.005", ".01"),
            ("#.00", "0.035", ".04"),
            ("0%", "0.12", "12%"),
            ("0.###E0", "1234", "1.234E3"),
            ("0.##E00", "0.00012", "1.2E-04"),
            ("##0.##E0", "12345", "12.345E3"),
            ("0.00;(0.00)", "-5", "(5.00)"),
            ("'#'0", "5", "#5"),
            ("#,####", "12345678", "1234,5678"),
            ("###", "1234", "1234"),
            ("$.## 'in my account'", "1.1234", "$1.12 in my account"),
        ] {
            assert_eq!(write(pattern, number), text, "{pattern} {number}");
        }
        assert!(NumberPattern::parse("0#").is_none());
        assert!(NumberPattern::parse("0.#0").is_none());
    }
}
