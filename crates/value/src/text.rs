//! Text, and its positions as UTF-16 counts them.
//!
//! DataWeave and FEEL come from Java: sizes and indices count UTF-16 units. Text is stored as
//! UTF-8, so positions are translated; for ASCII, which is nearly all text, both are the same. An
//! index into the middle of a surrogate pair yields the replacement character, because half a
//! character cannot be stored.

use std::sync::Arc;

/// Immutable text.
pub type Text = Arc<str>;

/// The number of UTF-16 units.
pub fn length(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.encode_utf16().count() }
}

/// The text of UTF-16 units `from..to`; positions beyond the end are cut off.
pub fn slice(text: &str, from: usize, to: usize) -> String {
    if text.is_ascii() {
        let to = to.min(text.len());
        return text.get(from.min(to)..to).unwrap_or_default().to_owned();
    }
    let units: Vec<u16> = text.encode_utf16().skip(from).take(to.saturating_sub(from)).collect();
    String::from_utf16_lossy(&units)
}

/// The text of one UTF-16 unit.
pub fn unit(text: &str, at: usize) -> Option<String> {
    (at < length(text)).then(|| slice(text, at, at + 1))
}

/// Every UTF-16 unit as a text of its own.
pub fn units(text: &str) -> Vec<Text> {
    let mut buffer = [0; 4];
    if text.is_ascii() {
        return text.chars().map(|c| Text::from(&*c.encode_utf8(&mut buffer))).collect();
    }
    let single = |unit: u16| Text::from(String::from_utf16_lossy(&[unit]));
    text.encode_utf16().map(single).collect()
}

/// Translates a byte offset to a position in UTF-16 units.
pub fn position(text: &str, byte: usize) -> usize {
    length(text.get(..byte).unwrap_or(text))
}

/// Orders by UTF-16 units, which differs from UTF-8 order for characters beyond U+FFFF.
pub fn compare(left: &str, right: &str) -> std::cmp::Ordering {
    if left.is_ascii() || right.is_ascii() {
        return left.cmp(right);
    }
    left.encode_utf16().cmp(right.encode_utf16())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_utf16_units() {
        assert_eq!(length("héllo😀"), 7);
        assert_eq!(slice("héllo😀!", 1, 3), "él");
        assert_eq!(slice("héllo😀!", 7, 99), "!");
        assert_eq!(unit("a😀", 1), Some("\u{fffd}".to_owned()));
        assert_eq!(unit("ab", 2), None);
        assert_eq!(position("é😀x", 6), 3);
    }

    #[test]
    fn order_is_by_unit() {
        assert!(compare("\u{ffff}", "\u{10000}").is_gt());
        assert!(compare("a", "b").is_lt());
    }
}
