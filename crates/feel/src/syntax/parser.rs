//! The parser: its tokens, position and nesting depth.

use std::collections::BTreeSet;

use super::ast::Expr;
use super::lex::{Token, TokenKind, tokens};
use super::names::{KEYWORDS, MULTI_WORD_NAMES};
use crate::library;
use crate::problem::SyntaxError;

/// Levels of an expression.
const MAX_DEPTH: u32 = 200;

/// Parses a whole text.
pub(crate) fn parse(text: &str) -> Result<Expr, SyntaxError> {
    let (calls, bound) = (Vec::new(), BTreeSet::new());
    let mut parser = Parser { tokens: tokens(text)?, at: 0, depth: 0, calls, bound };
    let expr = parser.expression()?;
    match parser.peek() {
        TokenKind::End => parser.check_calls().map(|()| expr),
        other => Err(parser.problem(&format!("{} is too much", described(other)))),
    }
}

pub(super) struct Parser {
    tokens: Vec<Token>,
    at: usize,
    depth: u32,
    /// Names that are called, with their offsets.
    pub(super) calls: Vec<(String, usize)>,
    /// Names that the expression itself defines, which may be functions.
    pub(super) bound: BTreeSet<String>,
}

pub(super) type Parsed<T = Expr> = Result<T, SyntaxError>;

impl Parser {
    pub(super) fn peek(&self) -> &TokenKind {
        self.tokens.get(self.at).map_or(&TokenKind::End, |token| &token.kind)
    }

    pub(super) fn peek_at(&self, ahead: usize) -> &TokenKind {
        self.tokens.get(self.at + ahead).map_or(&TokenKind::End, |token| &token.kind)
    }

    pub(super) fn skip(&mut self, count: usize) {
        self.at += count;
    }

    /// Parses one level deeper, unless that is too deep.
    pub(super) fn nested<T>(&mut self, inner: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= MAX_DEPTH {
            return Err(self.problem("the expression is nested too deeply"));
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    /// Variables are never functions, so a call of an unknown name is an error.
    fn check_calls(&self) -> Parsed<()> {
        let is_known = |name: &str| self.bound.contains(name) || library::function(name).is_some();
        match self.calls.iter().find(|(name, _)| !is_known(name)) {
            None => Ok(()),
            Some((name, offset)) => {
                let help = "the functions are listed in docs/reference/feel.md";
                Err(SyntaxError::new(*offset, format!("there is no function `{name}`"))
                    .with_help(help))
            }
        }
    }

    /// Where the next token is.
    pub(super) fn offset(&self) -> usize {
        self.tokens.get(self.at).or(self.tokens.last()).map_or(0, |it| it.offset)
    }

    pub(super) fn problem(&self, message: &str) -> SyntaxError {
        SyntaxError::new(self.offset(), message)
    }

    pub(super) fn expected(&self, what: &str) -> SyntaxError {
        self.problem(&format!("expected {what} instead of {}", described(self.peek())))
    }

    pub(super) fn is_symbol(&self, symbol: &str) -> bool {
        matches!(self.peek(), TokenKind::Symbol(it) if *it == symbol)
    }

    pub(super) fn take_symbol(&mut self, symbol: &str) -> bool {
        let found = self.is_symbol(symbol);
        self.at += usize::from(found);
        found
    }

    pub(super) fn need_symbol(&mut self, symbol: &str) -> Parsed<()> {
        if self.take_symbol(symbol) { Ok(()) } else { Err(self.expected(&format!("`{symbol}`"))) }
    }

    pub(super) fn is_word(&self, word: &str) -> bool {
        matches!(self.peek(), TokenKind::Word(it) if it == word)
    }

    pub(super) fn take_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        self.at += usize::from(found);
        found
    }

    pub(super) fn need_word(&mut self, word: &str) -> Parsed<()> {
        if self.take_word(word) { Ok(()) } else { Err(self.expected(&format!("`{word}`"))) }
    }

    /// A name of the library with several words, if one begins here.
    pub(super) fn composed(&self) -> Option<(&'static str, usize)> {
        let mut best = None;
        for name in MULTI_WORD_NAMES {
            let words: Vec<&str> = name.split(' ').collect();
            let is_it = |(ahead, word): (usize, &&str)| {
                let token = self.peek_at(ahead);
                matches!(token, TokenKind::Word(it) if it == word)
            };
            let longer = best.is_none_or(|(_, count)| words.len() > count);
            if longer && words.iter().enumerate().all(is_it) {
                best = Some((*name, words.len()));
            }
        }
        best
    }

    /// Any name: of a variable, a parameter, a property.
    pub(super) fn name(&mut self) -> Parsed<String> {
        if let Some((name, words)) = self.composed() {
            self.skip(words);
            return Ok(name.to_owned());
        }
        match self.peek().clone() {
            TokenKind::Word(word) if !KEYWORDS.contains(&word.as_str()) => {
                self.skip(1);
                Ok(word)
            }
            TokenKind::Quoted(name) => {
                self.skip(1);
                Ok(name)
            }
            _ => Err(self.expected("a name")),
        }
    }
}

pub(super) fn described(token: &TokenKind) -> String {
    match token {
        TokenKind::Word(word) | TokenKind::Number(word) => format!("`{word}`"),
        TokenKind::Quoted(name) => format!("`{name}`"),
        TokenKind::Text(_) | TokenKind::At(_) => "a text".to_owned(),
        TokenKind::Symbol(symbol) => format!("`{symbol}`"),
        TokenKind::End => "the end".to_owned(),
    }
}
