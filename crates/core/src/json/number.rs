//! The one policy for numbers: any decimal number is kept exactly, up to so many digits.
//!
//! A document keeps a number as it is written. The values of expressions are exact decimals with
//! the same limits, so that everything that enters can be computed with, and everything that is
//! computed can be written.

/// Digits that a number may have after its point, written without an exponent, and zeros that an
/// exponent may stand for.
pub const MAX_PLACES: usize = 5_000;

/// Digits that a number may have in all, written without an exponent.
pub const MAX_DIGITS: usize = 2 * MAX_PLACES;

/// What stands where a number begins.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Digits {
    Fit,
    TooMany,
    /// No number, or one that begins with a zero too many.
    NoNumber,
    /// A digit is missing after the point or in the exponent.
    Missing,
}

/// Whether a text is a number that a document can hold.
pub fn is_number(text: &str) -> bool {
    scan_number(text.as_bytes()) == (text.len(), Digits::Fit)
}

fn digits(bytes: &[u8], at: usize) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    rest.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(rest.len())
}

/// Reads over the number at the beginning; the length goes up to where it ends or goes wrong.
pub(super) fn scan_number(bytes: &[u8]) -> (usize, Digits) {
    let mut at = usize::from(bytes.first() == Some(&b'-'));
    let whole = digits(bytes, at);
    let leads_with_zero = bytes.get(at) == Some(&b'0');
    at += whole;
    if whole == 0 || (leads_with_zero && whole > 1) {
        return (at, Digits::NoNumber);
    }
    let mut places = 0;
    if bytes.get(at) == Some(&b'.') {
        at += 1;
        places = digits(bytes, at);
        at += places;
        if places == 0 {
            return (at, Digits::Missing);
        }
    }
    let (mut exponent, mut is_negative) = (Some(0_usize), false);
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        at += 1;
        is_negative = bytes.get(at) == Some(&b'-');
        at += usize::from(matches!(bytes.get(at), Some(b'-' | b'+')));
        let count = digits(bytes, at);
        if count == 0 {
            return (at, Digits::Missing);
        }
        exponent = bytes.get(at..at + count).unwrap_or_default().iter().try_fold(0, |sum, byte| {
            usize::checked_mul(sum, 10)?.checked_add(usize::from(byte - b'0'))
        });
        at += count;
    }
    // Without an exponent: so many digits after the point, so many zeros before it.
    let fits = exponent.is_some_and(|exponent| {
        let (after, zeros) = if is_negative {
            (places.saturating_add(exponent), 0)
        } else {
            (places.saturating_sub(exponent), exponent.saturating_sub(places))
        };
        let digits = whole.saturating_add(places.max(after)).saturating_add(zeros);
        after <= MAX_PLACES && zeros <= MAX_PLACES && digits <= MAX_DIGITS
    });
    (at, if fits { Digits::Fit } else { Digits::TooMany })
}
