//! Text that PostgreSQL cannot store as it is: it does not support the character U+0000.
//!
//! That character is written as a noncharacter and a digit. Text without either is stored
//! unchanged, so that users can query it.

use std::borrow::Cow;

const MARK: char = '\u{10ffff}';
const ZERO: &str = "\u{10ffff}0";
const ITSELF: &str = "\u{10ffff}1";

/// The stored form.
pub(super) fn text(plain: &str) -> Cow<'_, str> {
    if !plain.contains(['\0', MARK]) {
        return Cow::Borrowed(plain);
    }
    Cow::Owned(plain.replace(MARK, ITSELF).replace('\0', ZERO))
}

/// The stored form of an optional text.
pub(super) fn text_if(plain: Option<&str>) -> Option<Cow<'_, str>> {
    plain.map(text)
}

/// Reads the stored form.
pub(super) fn plain(stored: String) -> String {
    if !stored.contains(MARK) {
        return stored;
    }
    stored.replace(ZERO, "\0").replace(ITSELF, "\u{10ffff}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_is_read_back_as_it_was() {
        for case in
            ["", "käse", "\0", "a\0b", "\u{10ffff}", "\u{10ffff}0", "\u{10ffff}\0\u{10ffff}1"]
        {
            let stored = text(case).into_owned();
            assert!(!stored.contains('\0'));
            assert_eq!(plain(stored), case);
        }
    }

    #[test]
    fn different_texts_stay_different() {
        assert_ne!(text("\0"), text("\u{10ffff}0"));
    }
}
