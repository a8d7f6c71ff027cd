//! Reads characters: white space, comments, words and signs.

use super::Span;

/// Words that cannot be names.
const RESERVED: &[&str] = &[
    "and", "as", "async", "case", "default", "do", "else", "enum", "false", "for", "fun", "if",
    "import", "input", "is", "ns", "null", "or", "output", "private", "throw", "true", "type",
    "unless", "using", "var", "yield",
];

/// Whether a word is reserved.
pub(crate) fn is_reserved(word: &str) -> bool {
    RESERVED.contains(&word)
}

/// A position in the source; it moves back when a lookahead fails.
#[derive(Debug, Clone)]
pub(super) struct Cursor<'s> {
    pub(super) source: &'s str,
    pub(super) at: usize,
}

impl<'s> Cursor<'s> {
    pub(super) fn rest(&self) -> &'s str {
        &self.source[self.at..]
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// The byte at an offset from the position, if there is one.
    pub(super) fn byte(&self, ahead: usize) -> Option<u8> {
        self.source.as_bytes().get(self.at + ahead).copied()
    }

    pub(super) fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        Some(next)
    }

    /// Skips white space and comments.
    pub(super) fn space(&mut self) {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start();
            self.at += rest.len() - trimmed.len();
            if trimmed.starts_with("//") {
                self.at += trimmed.find('\n').unwrap_or(trimmed.len());
            } else if trimmed.starts_with("/*") {
                self.at += trimmed.find("*/").map_or(trimmed.len(), |end| end + 2);
            } else {
                return;
            }
        }
    }

    pub(super) fn starts_with(&self, sign: &str) -> bool {
        self.rest().starts_with(sign)
    }

    /// Skips white space and consumes the sign.
    pub(super) fn sign(&mut self, sign: &str) -> bool {
        let back = self.at;
        self.space();
        if self.starts_with(sign) {
            self.at += sign.len();
            return true;
        }
        self.at = back;
        false
    }

    /// Whether the sign follows, after white space.
    pub(super) fn is_next(&self, sign: &str) -> bool {
        let mut ahead = self.clone();
        ahead.sign(sign)
    }

    /// The word at the current position.
    pub(super) fn word(&self) -> &'s str {
        let rest = self.rest();
        let is_start = |c: char| c.is_alphabetic() || c == '_';
        if !rest.starts_with(is_start) {
            return "";
        }
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        &rest[..end]
    }

    /// The word after white space, not consumed.
    pub(super) fn next_word(&self) -> &'s str {
        let mut ahead = self.clone();
        ahead.space();
        ahead.word()
    }

    /// Skips white space and consumes the word if it is exactly this one.
    pub(super) fn keyword(&mut self, keyword: &str) -> bool {
        let back = self.at;
        self.space();
        if self.word() == keyword {
            self.at += keyword.len();
            return true;
        }
        self.at = back;
        false
    }

    pub(super) fn span(&self, start: usize) -> Span {
        Span::new(start, self.at)
    }

    pub(super) fn is_end(&self) -> bool {
        self.at >= self.source.len()
    }
}
