//! The one reader of JSON: a document as tokens, checked while they are taken.
//!
//! Everything that reads JSON is built on it: the check of what enters, the values of expressions
//! and of scripts, and typed requests ([`super::de`]). So all of them agree on what is a document.
//!
//! JSON allows documents that two programs read differently: keys that stand twice, halves of
//! surrogate pairs, numbers beyond every type, any depth. Reading one of those and writing it
//! again changes it, so they are refused here, by name. Only `JSON.parse` of scripts takes the
//! first and the third, because JavaScript says what they mean ([`Policy`]).

use std::borrow::Cow;

use super::escape::{EscapeError, RawText, escaped_character, plain_end};
use super::number::{Digits, scan_number};
use super::{InvalidJson, InvalidKind, Json};

/// Objects with more keys are sorted to find a key that stands twice; few are compared.
const FEW_KEYS: usize = 12;

/// What comes next in a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Token<'t> {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number, as it is written.
    Number(&'t str),
    /// A text.
    Text(RawText<'t>),
    /// `[`
    List,
    /// `]`
    EndOfList,
    /// `{`
    Object,
    /// The name of the value that follows.
    Key(RawText<'t>),
    /// `}`
    EndOfObject,
    /// Nothing follows the document.
    End,
}

/// What becomes of JSON that cannot be kept unchanged, but that a language gives a meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// A key that stands twice and a number with too many digits are refused: for documents.
    Unchanged,
    /// Both are passed on, and the caller does as ECMAScript says: the last of equal keys wins, a
    /// number is the nearest double. For texts that a script parses.
    EcmaScript,
}

/// A list or an object whose end has not come.
#[derive(Debug, Clone, Copy)]
enum Open {
    List,
    /// With the number of keys of the objects around it.
    Object(usize),
}

/// What the grammar allows at this place.
#[derive(Debug, Clone, Copy)]
enum Expected {
    Value,
    /// Or the end of the list.
    FirstItem,
    /// Or the end of the object.
    FirstKey,
    /// A comma, the end of what is open, or the end of the text.
    Next,
}

/// Reads a document token by token. After an error it is not asked again.
#[derive(Debug)]
pub struct Reader<'t> {
    text: &'t str,
    at: usize,
    token_start: usize,
    expected: Expected,
    open: Vec<Open>,
    /// Keys of all open objects, the innermost last.
    keys: Vec<Cow<'t, str>>,
    compares_keys: bool,
    counts_digits: bool,
    max_depth: usize,
}

type Result<T = (), E = InvalidJson> = std::result::Result<T, E>;

impl<'t> Reader<'t> {
    /// Reads a text that may be anything.
    pub const fn new(text: &'t str, policy: Policy) -> Self {
        let is_kept = matches!(policy, Policy::Unchanged);
        Self {
            text,
            at: 0,
            token_start: 0,
            expected: Expected::Value,
            open: Vec::new(),
            keys: Vec::new(),
            compares_keys: is_kept,
            counts_digits: is_kept,
            max_depth: Json::MAX_DEPTH,
        }
    }

    /// Reads a document. Its keys were compared when it entered; how deep it is can have changed
    /// since, because documents are put into others.
    pub fn of_document(json: &'t Json) -> Self {
        Self { compares_keys: false, ..Self::new(json.as_str(), Policy::Unchanged) }
    }

    /// With fewer levels than every document may have.
    #[must_use]
    pub fn with_max_depth(self, max_depth: usize) -> Self {
        Self { max_depth: max_depth.min(Json::MAX_DEPTH), ..self }
    }

    /// Where the last token begins, in bytes.
    pub const fn token_start(&self) -> usize {
        self.token_start
    }

    /// Where the last token ends, in bytes.
    pub const fn offset(&self) -> usize {
        self.at
    }

    /// The text that is read.
    pub const fn text(&self) -> &'t str {
        self.text
    }

    /// The next token.
    #[inline]
    pub fn next_token(&mut self) -> Result<Token<'t>> {
        self.blanks();
        match self.expected {
            Expected::Value => self.value(),
            Expected::FirstItem => {
                if self.peek() == Some(b']') {
                    return self.leave();
                }
                self.value()
            }
            Expected::FirstKey => {
                if self.peek() == Some(b'}') {
                    return self.leave();
                }
                self.key()
            }
            Expected::Next => self.next(),
        }
    }

    /// The text of the value that begins with this token, which was the last one.
    pub fn rest_of_value(&mut self, first: Token<'t>) -> Result<&'t str> {
        let start = self.token_start;
        let mut levels = usize::from(matches!(first, Token::List | Token::Object));
        while levels > 0 {
            match self.next_token()? {
                Token::List | Token::Object => levels += 1,
                Token::EndOfList | Token::EndOfObject => levels -= 1,
                _ => {}
            }
        }
        Ok(self.text.get(start..self.at).unwrap_or_default())
    }

    /// Refuses the last token: it is JSON, and the caller cannot hold it.
    #[cold]
    pub fn refuse(&self, reason: &str) -> InvalidJson {
        InvalidJson::new(InvalidKind::Unsupported, reason).at(self.text, self.token_start)
    }

    /// The text is not JSON.
    #[cold]
    fn broken(&self, reason: &'static str) -> InvalidJson {
        InvalidJson::new(InvalidKind::NotJson, reason).at(self.text, self.at)
    }

    #[inline]
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    #[inline]
    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
    }

    fn value(&mut self) -> Result<Token<'t>> {
        self.token_start = self.at;
        self.expected = Expected::Next;
        match self.peek() {
            Some(b'"') => Ok(Token::Text(self.string()?)),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b'{') => {
                self.enter(Open::Object(self.keys.len()), Expected::FirstKey)?;
                Ok(Token::Object)
            }
            Some(b'[') => {
                self.enter(Open::List, Expected::FirstItem)?;
                Ok(Token::List)
            }
            Some(b't') => self.word("true", Token::Bool(true)),
            Some(b'f') => self.word("false", Token::Bool(false)),
            Some(b'n') => self.word("null", Token::Null),
            Some(_) => Err(self.broken("a value is expected")),
            None => Err(self.broken("the text ends where a value is expected")),
        }
    }

    /// No recursion: nesting is counted, the stack is ours.
    fn enter(&mut self, open: Open, expected: Expected) -> Result {
        if self.open.len() >= self.max_depth {
            return Err(self.refuse(&format!("nested deeper than {} levels", self.max_depth)));
        }
        self.open.push(open);
        self.expected = expected;
        self.at += 1;
        Ok(())
    }

    /// The end of a list or an object.
    fn leave(&mut self) -> Result<Token<'t>> {
        self.token_start = self.at;
        self.at += 1;
        self.expected = Expected::Next;
        let Some(Open::Object(first)) = self.open.pop() else { return Ok(Token::EndOfList) };
        if let Some(key) = self.keys.get_mut(first..).and_then(twice) {
            let reason = format!("the key {key:?} occurs twice in one object");
            return Err(self.refuse(&reason));
        }
        self.keys.truncate(first);
        Ok(Token::EndOfObject)
    }

    /// What follows a value.
    fn next(&mut self) -> Result<Token<'t>> {
        let Some(open) = self.open.last().copied() else {
            self.token_start = self.at;
            let ends = self.at >= self.text.len();
            let after = || self.broken("something follows after the value");
            return if ends { Ok(Token::End) } else { Err(after()) };
        };
        match (self.peek(), open) {
            (Some(b','), Open::List) => {
                self.comma();
                match self.peek() {
                    Some(b']') => Err(self.broken("there is a comma after the last item")),
                    _ => self.value(),
                }
            }
            (Some(b','), Open::Object(_)) => {
                self.comma();
                match self.peek() {
                    Some(b'}') => Err(self.broken("there is a comma after the last member")),
                    _ => self.key(),
                }
            }
            (Some(b']'), Open::List) | (Some(b'}'), Open::Object(_)) => self.leave(),
            (Some(_), Open::List) => Err(self.broken("`,` or `]` is expected")),
            (Some(_), Open::Object(_)) => Err(self.broken("`,` or `}` is expected")),
            (None, Open::List) => Err(self.broken("the text ends within a list")),
            (None, Open::Object(_)) => Err(self.broken("the text ends within an object")),
        }
    }

    fn comma(&mut self) {
        self.at += 1;
        self.blanks();
    }

    fn key(&mut self) -> Result<Token<'t>> {
        match self.peek() {
            Some(b'"') => {}
            Some(_) => {
                return Err(self.broken("the name of a member is a text in double quotes"));
            }
            None => return Err(self.broken("the text ends within an object")),
        }
        self.token_start = self.at;
        let key = self.string()?;
        if self.compares_keys {
            self.keys.push(key.decode());
        }
        self.blanks();
        if self.peek() != Some(b':') {
            return Err(self.broken("`:` is expected"));
        }
        self.at += 1;
        self.expected = Expected::Value;
        Ok(Token::Key(key))
    }

    fn word(&mut self, word: &str, token: Token<'t>) -> Result<Token<'t>> {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        if !rest.starts_with(word.as_bytes()) {
            return Err(self.broken("a value is expected"));
        }
        self.at += word.len();
        Ok(token)
    }

    fn number(&mut self) -> Result<Token<'t>> {
        let start = self.at;
        let rest = self.text.as_bytes().get(start..).unwrap_or_default();
        let (length, found) = scan_number(rest);
        self.at += length;
        match found {
            Digits::TooMany if self.counts_digits => {
                Err(self.refuse("a number with too many digits"))
            }
            Digits::Fit | Digits::TooMany => {
                Ok(Token::Number(self.text.get(start..self.at).unwrap_or_default()))
            }
            Digits::NoNumber => Err(self.broken("a number is expected")),
            Digits::Missing => Err(self.broken("a digit is expected")),
        }
    }

    /// A text, whose escapes are known to be good afterwards.
    #[inline]
    fn string(&mut self) -> Result<RawText<'t>> {
        let bytes = self.text.as_bytes();
        self.at += 1;
        let start = self.at;
        let mut has_escapes = false;
        loop {
            self.at = plain_end(bytes, self.at);
            match self.peek() {
                Some(b'"') => {
                    let raw = self.text.get(start..self.at).unwrap_or_default();
                    self.at += 1;
                    return Ok(RawText::new(raw, has_escapes));
                }
                Some(b'\\') => {
                    has_escapes = true;
                    let from = self.at;
                    match escaped_character(bytes, &mut self.at) {
                        Ok(_) => {}
                        Err(EscapeError::Unknown) => {
                            return Err(self.broken("there is no such escape"));
                        }
                        Err(EscapeError::NoHex) => {
                            return Err(self.broken("four hexadecimal digits are expected"));
                        }
                        Err(EscapeError::HalfPair) => {
                            let reason = "half of a surrogate pair, which is no character";
                            let error = InvalidJson::new(InvalidKind::Unsupported, reason);
                            return Err(error.at(self.text, from));
                        }
                    }
                }
                Some(_) => return Err(self.broken("there is a control character in a text")),
                None => return Err(self.broken("the text ends within a text")),
            }
        }
    }
}

/// The document in a text, without the blanks around it.
pub(super) fn check(text: &str, max_depth: usize) -> Result<&str> {
    let mut reader = Reader::new(text, Policy::Unchanged).with_max_depth(max_depth);
    let first = reader.next_token()?;
    let document = reader.rest_of_value(first)?;
    reader.next_token()?;
    Ok(document)
}

/// A key that stands twice.
fn twice<'k>(keys: &'k mut [Cow<'_, str>]) -> Option<&'k str> {
    if keys.len() > FEW_KEYS {
        keys.sort_unstable();
        return keys.windows(2).find(|pair| pair.first() == pair.last()).map(|pair| &*pair[0]);
    }
    let keys: &[Cow<'_, str>] = keys;
    let mut later = keys.iter().enumerate();
    let found = later.find(|(place, key)| keys.iter().take(*place).any(|known| known == *key));
    found.map(|(_, key)| &**key)
}
