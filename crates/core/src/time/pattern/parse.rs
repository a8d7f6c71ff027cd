//! Patterns of dates: letters for fields, quotes for text.

/// A parsed pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatePattern {
    pub(super) alphabet: Alphabet,
    pub(super) parts: Vec<DatePatternPart>,
}

/// The letters and signs that have a meaning in a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alphabet {
    /// The letters that most languages share, each in the counts that mean the same there. All
    /// signs stand for themselves.
    Common,
    /// The letters of Java. `[…]` encloses what is optional, `p` pads what follows, and `{`, `}`
    /// and `#` are reserved.
    Java,
}

/// A part of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DatePatternPart {
    /// Text that stands for itself.
    Text(String),
    /// A letter and its count.
    Field {
        /// The letter.
        letter: char,
        /// How often it is repeated.
        count: usize,
        /// The width to which it is padded with spaces.
        pad: usize,
        /// Its byte offset in the pattern.
        offset: usize,
    },
    /// `[…]`: optional.
    Optional(Vec<DatePatternPart>),
}

/// Why a text is not a pattern, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DatePatternError {
    /// The byte offset in the pattern.
    pub offset: usize,
    /// What is wrong there.
    pub problem: DatePatternProblem,
}

/// What is wrong with a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DatePatternProblem {
    /// A quote is not closed.
    OpenQuote,
    /// `[` is not closed.
    OpenBracket,
    /// A sign that cannot be used in a pattern.
    Reserved(char),
    /// A letter, or that many of it, without a meaning.
    UnknownLetter(char),
}

/// How deep optional parts can be nested.
const MAX_NESTING: usize = 8;

impl Alphabet {
    fn has(self, letter: char, count: usize) -> bool {
        match self {
            Self::Common => matches!(
                (letter, count),
                ('y', 2 | 4)
                    | ('M' | 'E', 1..=4)
                    | ('d' | 'H' | 'h' | 'm' | 's', 1 | 2)
                    | ('D' | 'X', 1..=3)
                    | ('S' | 'x', 3)
                    | ('a', 1)
            ),
            Self::Java => "GuyDMLdQqYwWEecFaBhKkHmsSAnNVvzOXxZ".contains(letter),
        }
    }
}

impl DatePattern {
    /// Parses a pattern.
    pub fn parse(pattern: &str, alphabet: Alphabet) -> Result<Self, DatePatternError> {
        let mut reader = Reader { pattern, alphabet, chars: pattern.char_indices().peekable() };
        let parts = reader.parts(0)?;
        Ok(Self { alphabet, parts })
    }

    /// Its parts, in order.
    pub fn parts(&self) -> &[DatePatternPart] {
        &self.parts
    }
}

struct Reader<'p> {
    pattern: &'p str,
    alphabet: Alphabet,
    chars: std::iter::Peekable<std::str::CharIndices<'p>>,
}

impl Reader<'_> {
    fn parts(&mut self, level: usize) -> Result<Vec<DatePatternPart>, DatePatternError> {
        let is_java = self.alphabet == Alphabet::Java;
        let mut parts = Vec::new();
        let mut pad = 0;
        while let Some((offset, c)) = self.chars.next() {
            let error = |problem| DatePatternError { offset, problem };
            match c {
                '\'' => push_text(
                    &mut parts,
                    &self.quoted().ok_or(error(DatePatternProblem::OpenQuote))?,
                ),
                '[' if is_java && level < MAX_NESTING => {
                    parts.push(DatePatternPart::Optional(self.parts(level + 1)?));
                }
                ']' if is_java && level > 0 => return Ok(parts),
                '[' | ']' | '{' | '}' | '#' if is_java => {
                    return Err(error(DatePatternProblem::Reserved(c)));
                }
                'p' if is_java => {
                    pad = 1 + self.repeats('p');
                    continue;
                }
                _ if c.is_ascii_alphabetic() => {
                    let (letter, count) = (c, 1 + self.repeats(c));
                    if !self.alphabet.has(letter, count) {
                        return Err(error(DatePatternProblem::UnknownLetter(letter)));
                    }
                    parts.push(DatePatternPart::Field { letter, count, pad, offset });
                }
                _ => push_text(&mut parts, c.encode_utf8(&mut [0; 4])),
            }
            pad = 0;
        }
        if level > 0 {
            let (offset, problem) = (self.pattern.len(), DatePatternProblem::OpenBracket);
            return Err(DatePatternError { offset, problem });
        }
        Ok(parts)
    }

    fn next_is(&mut self, wanted: char) -> bool {
        self.chars.next_if(|(_, c)| *c == wanted).is_some()
    }

    fn repeats(&mut self, letter: char) -> usize {
        let mut count = 0;
        while self.next_is(letter) {
            count += 1;
        }
        count
    }

    /// Text in quotes; two quotes stand for one, also inside a quoted text. None if the quote is
    /// not closed.
    fn quoted(&mut self) -> Option<String> {
        if self.next_is('\'') {
            return Some("'".to_owned());
        }
        let mut text = String::new();
        loop {
            match self.chars.next()?.1 {
                '\'' if self.next_is('\'') => text.push('\''),
                '\'' => return Some(text),
                c => text.push(c),
            }
        }
    }
}

fn push_text(parts: &mut Vec<DatePatternPart>, text: &str) {
    match parts.last_mut() {
        Some(DatePatternPart::Text(last)) => last.push_str(text),
        _ => parts.push(DatePatternPart::Text(text.to_owned())),
    }
}
