//! Reads numbers by a pattern.

use meantime_value::Number;

use super::Locale;
use super::number_pattern::NumberPattern;

impl NumberPattern {
    /// Reads the longest prefix that is a number and ignores the rest, as Java does.
    pub(crate) fn read(&self, text: &str, locale: &Locale) -> Option<Number> {
        let mut rest = text;
        let mut is_negative = false;
        let mut has_own_prefix = false;
        if let Some(after) = self.negative.as_ref().and_then(|affixes| {
            let inner = rest.strip_prefix(affixes.prefix.as_str())?;
            (affixes.prefix != self.positive.prefix).then_some(inner)
        }) {
            is_negative = true;
            has_own_prefix = true;
            rest = after;
        } else if let Some(after) = rest.strip_prefix('-') {
            is_negative = true;
            rest = after;
        }
        if !has_own_prefix {
            rest = rest.strip_prefix(self.positive.prefix.as_str())?;
        }
        let mut digits = String::new();
        let (mut has_point, mut has_exponent, mut last) = (false, false, ' ');
        for c in rest.chars() {
            match c {
                '0'..='9' => digits.push(c),
                _ if c == locale.decimal && !has_point => {
                    has_point = true;
                    digits.push('.');
                }
                _ if c == locale.grouping && self.grouping > 0 && !has_point => {}
                'E' if self.exponent.is_some() && !has_exponent => {
                    has_exponent = true;
                    digits.push('E');
                }
                '-' if last == 'E' => digits.push('-'),
                _ => break,
            }
            last = c;
        }
        let number: Number = digits.parse().ok()?;
        let (unscaled, scale) = number.to_parts();
        let number = Number::from_parts(unscaled, scale.saturating_add(self.shift)).ok()?;
        Some(if is_negative { number.neg() } else { number })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_in_a_pattern() {
        let read = |pattern: &str, text: &str, locale: &str| {
            let pattern = NumberPattern::parse(pattern).unwrap();
            pattern.read(text, Locale::find(locale)).map(|number| number.to_string())
        };
        assert_eq!(read("#,##0.00", "1,234.50", "en").as_deref(), Some("1234.5"));
        assert_eq!(read("#,##0.00", "1.234,5", "de").as_deref(), Some("1234.5"));
        assert_eq!(read("0%", "50%", "en").as_deref(), Some("0.5"));
        assert_eq!(read("0", "12abc", "en").as_deref(), Some("12"));
        assert_eq!(read("0.00;(0.00)", "(5.00)", "en").as_deref(), Some("-5"));
        assert_eq!(read("0", "abc", "en"), None);
    }
}
