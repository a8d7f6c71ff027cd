//! Reads the text of durations and instants from left to right.

use std::borrow::Cow;

use super::error::Problem;

/// A text, and how far it is read.
pub(super) struct TextReader<'a> {
    text: &'a str,
    pub(super) at: usize,
}

impl<'a> TextReader<'a> {
    pub(super) const fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Reads one of these bytes; returns whether it is there.
    pub(super) fn eat(&mut self, any_of: &[u8]) -> bool {
        let found = self.peek().is_some_and(|byte| any_of.contains(&byte));
        self.at += usize::from(found);
        found
    }

    pub(super) fn digit(&mut self) -> Option<u8> {
        let digit = self.peek().filter(u8::is_ascii_digit)?;
        self.at += 1;
        Some(digit - b'0')
    }

    /// Reads a decimal mark and the digits after it, of which the first three count.
    pub(super) fn fraction(
        &mut self,
        marks: &[u8],
        expected: &'static str,
        hint: &'static str,
    ) -> Result<Option<u16>, Problem> {
        if !self.eat(marks) {
            return Ok(None);
        }
        let (mut millis, mut weight, start) = (0, 100, self.at);
        while let Some(digit) = self.digit() {
            millis += u16::from(digit) * weight;
            weight /= 10;
        }
        if self.at == start {
            return Err(self.problem(expected, hint));
        }
        Ok(Some(millis))
    }

    /// A problem at the byte that is read next.
    pub(super) fn problem(
        &self,
        reason: impl Into<Cow<'static, str>>,
        hint: &'static str,
    ) -> Problem {
        Problem::new(self.at, reason, hint)
    }
}
