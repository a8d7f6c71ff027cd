//! Strings: immutable, shared, measured in UTF-16 units as JavaScript does.

use std::sync::Arc;

/// A string. Cheap to clone, one word wide.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Text(Arc<Inner>);

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Inner {
    text: Box<str>,
    units: u32,
}

impl Text {
    pub(crate) fn new(text: impl Into<Box<str>>) -> Self {
        let text = text.into();
        let units = if text.is_ascii() { text.len() } else { text.encode_utf16().count() };
        Self(Arc::new(Inner { text, units: u32::try_from(units).unwrap_or(u32::MAX) }))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0.text
    }

    /// The length in UTF-16 units.
    pub(crate) fn units(&self) -> usize {
        self.0.units as usize
    }

    /// The size in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.0.text.len()
    }

    /// Whether units, bytes and characters are the same.
    fn is_plain(&self) -> bool {
        self.units() == self.bytes()
    }

    /// The part between two indices in units; none if one of them is inside a surrogate pair.
    pub(crate) fn slice(&self, from: usize, to: usize) -> Option<Self> {
        let (from, to) = (from.min(self.units()), to.min(self.units()));
        if from >= to {
            return Some(Self::new(""));
        }
        if from == 0 && to == self.units() {
            return Some(self.clone());
        }
        if self.is_plain() {
            return Some(Self::new(self.as_str().get(from..to).unwrap_or_default()));
        }
        let units: Vec<u16> = self.as_str().encode_utf16().skip(from).take(to - from).collect();
        String::from_utf16(&units).ok().map(Self::new)
    }

    /// Whether an index is between the halves of a surrogate pair.
    pub(crate) fn is_inside_pair(&self, unit: usize) -> bool {
        unit < self.units() && self.unit_at(self.byte_at(unit)) != unit
    }

    /// Whether there is a character of two units.
    pub(crate) fn has_pairs(&self) -> bool {
        !self.is_plain() && self.as_str().chars().any(|c| c.len_utf16() > 1)
    }

    /// The byte offset of an index in units; inside a pair, the end of the pair.
    pub(crate) fn byte_at(&self, unit: usize) -> usize {
        if self.is_plain() {
            return unit.min(self.bytes());
        }
        let mut seen = 0;
        for (at, c) in self.as_str().char_indices() {
            if seen >= unit {
                return at;
            }
            seen += c.len_utf16();
        }
        self.bytes()
    }

    /// The index in units of a byte offset.
    pub(crate) fn unit_at(&self, byte: usize) -> usize {
        if self.is_plain() {
            return byte;
        }
        self.as_str().get(..byte).unwrap_or_default().encode_utf16().count()
    }

    /// One unit of the string as a number.
    pub(crate) fn unit(&self, index: usize) -> Option<u16> {
        if self.is_plain() {
            return self.as_str().as_bytes().get(index).map(|byte| u16::from(*byte));
        }
        self.as_str().encode_utf16().nth(index)
    }

    /// Its address in memory, which clones share. Only for counting.
    pub(crate) fn address(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }

    /// Equality that is fast when both are the same string in memory.
    pub(crate) fn same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.text == other.0.text
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_those_of_utf16() {
        let text = Text::new("a😀b");
        assert_eq!((text.units(), text.bytes()), (4, 6));
        assert_eq!(text.slice(3, 4), Some(Text::new("b")));
        assert_eq!(text.slice(1, 3), Some(Text::new("😀")));
        assert_eq!(text.slice(0, 2), None);
        assert!(text.is_inside_pair(2) && !text.is_inside_pair(1) && text.has_pairs());
        assert_eq!((text.byte_at(3), text.unit_at(5)), (5, 3));
        assert_eq!(text.unit(1), Some(0xd83d));
    }
}
