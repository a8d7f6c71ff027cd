//! Patterns of numbers: `#,##0.00`, `0%`, `0.###E0`, `0.00;(0.00)`.

/// A parsed pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NumberPattern {
    pub(super) positive: Affixes,
    pub(super) negative: Option<Affixes>,
    pub(super) min_whole: usize,
    /// With an exponent: the maximum number of integer digits.
    pub(super) max_whole: usize,
    pub(super) min_fraction: usize,
    pub(super) max_fraction: usize,
    /// Digits per group; zero for no grouping.
    pub(super) grouping: usize,
    /// For percent or per mille: the number of decimal positions to shift.
    pub(super) shift: i64,
    /// The minimum number of digits of the exponent.
    pub(super) exponent: Option<usize>,
}

/// The text before and after the digits.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Affixes {
    pub(super) prefix: String,
    pub(super) suffix: String,
}

/// The digits of a pattern.
#[derive(Default)]
struct DigitCounts {
    whole_optional: usize,
    whole_required: usize,
    fraction_required: usize,
    fraction_optional: usize,
    in_fraction: bool,
    since_comma: Option<usize>,
    exponent: Option<usize>,
}

/// Bytes of a pattern. It determines the widths of its fields; the resulting text has its own
/// limit.
const MAX_PATTERN_BYTES: usize = 10_000;

impl NumberPattern {
    /// Parses a pattern; none if it is invalid.
    pub(crate) fn parse(pattern: &str) -> Option<Self> {
        if pattern.len() > MAX_PATTERN_BYTES {
            return None;
        }
        let mut chars = pattern.chars().peekable();
        let mut shift = 0;
        let prefix = affix(&mut chars, &mut shift);
        let digits = digits(&mut chars)?;
        let suffix = affix(&mut chars, &mut shift);
        let negative = match chars.next() {
            Some(';') => {
                let mut ignored = 0;
                let prefix = affix(&mut chars, &mut ignored);
                self::digits(&mut chars)?;
                let suffix = affix(&mut chars, &mut ignored);
                Some(Affixes { prefix, suffix })
            }
            None => None,
            Some(_) => return None,
        };
        let whole = digits.whole_required + digits.whole_optional;
        Some(Self {
            positive: Affixes { prefix, suffix },
            negative,
            min_whole: digits.whole_required,
            max_whole: whole,
            min_fraction: digits.fraction_required,
            max_fraction: digits.fraction_required + digits.fraction_optional,
            grouping: digits.since_comma.unwrap_or(0),
            shift,
            exponent: digits.exponent,
        })
    }
}

type Chars<'c> = std::iter::Peekable<std::str::Chars<'c>>;

/// Text up to the digits or the end of the part; quotes escape signs.
fn affix(chars: &mut Chars<'_>, shift: &mut i64) -> String {
    let mut text = String::new();
    while let Some(c) = chars.peek().copied() {
        match c {
            '#' | '0' | ',' | '.' | ';' => break,
            '\'' => {
                chars.next();
                if chars.peek() == Some(&'\'') {
                    chars.next();
                    text.push('\'');
                    continue;
                }
                text.extend(chars.by_ref().take_while(|c| *c != '\''));
                continue;
            }
            '%' => *shift = 2,
            '‰' => *shift = 3,
            _ => {}
        }
        chars.next();
        text.push(c);
    }
    text
}

fn digits(chars: &mut Chars<'_>) -> Option<DigitCounts> {
    let mut digits = DigitCounts::default();
    while let Some(c) = chars.peek().copied() {
        match (c, digits.in_fraction) {
            ('#', false) if digits.whole_required > 0 => return None,
            ('#', false) => digits.whole_optional += 1,
            ('0', false) => digits.whole_required += 1,
            ('0', true) if digits.fraction_optional > 0 => return None,
            ('0', true) => digits.fraction_required += 1,
            ('#', true) => digits.fraction_optional += 1,
            (',', false) => {
                digits.since_comma = Some(0);
                chars.next();
                continue;
            }
            ('.', false) => {
                digits.in_fraction = true;
                chars.next();
                continue;
            }
            ('E', _) => {
                chars.next();
                let mut zeros = 0;
                while chars.peek() == Some(&'0') {
                    chars.next();
                    zeros += 1;
                }
                digits.exponent = Some(zeros).filter(|zeros| *zeros > 0);
                digits.exponent?;
                break;
            }
            _ => break,
        }
        if !digits.in_fraction {
            digits.since_comma = digits.since_comma.map(|count| count + 1);
        }
        chars.next();
    }
    Some(digits)
}
