//! The scanner: white space, comments, names, punctuators, and how they affect each other.

use std::sync::Arc;

use super::token::{Kind, Token};
use crate::front_matter::{FrontMatter, front_matter};
use crate::problem::{Code, Problems};
use crate::span::Span;

/// Longest first, so that the first match is the right one.
const PUNCTUATORS: &[&str] = &[
    ">>>=", "...", "===", "!==", "**=", "<<=", ">>=", ">>>", "&&=", "||=", "??=", "=>", "==", "!=",
    "<=", ">=", "&&", "||", "??", "?.", "++", "--", "+=", "-=", "*=", "/=", "%=", "**", "<<", ">>",
    "&=", "|=", "^=", "{", "}", "(", ")", "[", "]", ";", ",", "<", ">", "+", "-", "*", "/", "%",
    "!", "?", ":", "=", ".", "&", "|", "^", "~", "@", "#",
];

/// Words after which a slash begins a regular expression.
const WORDS_BEFORE_EXPRESSION: &[&str] =
    &["return", "typeof", "case", "do", "else", "in", "of", "throw", "await", "delete", "void"];

/// The most tokens of one script. The compiled form of each takes about two hundred bytes.
const MAX_TOKENS: usize = 200_000;

/// All tokens of a text; the last one is `End`. With types, `!` may also follow a value.
pub(crate) fn tokenize(text: &str, types: bool, problems: &mut Problems) -> Vec<Token> {
    let mut scanner = Scanner {
        text,
        at: 0,
        tokens: Vec::new(),
        after_newline: true,
        templates: Vec::new(),
        braces: 0,
        front_matter: front_matter(text),
        types,
        problems,
    };
    scanner.run();
    scanner.tokens
}

pub(super) struct Scanner<'a> {
    pub(super) text: &'a str,
    pub(super) at: usize,
    tokens: Vec<Token>,
    after_newline: bool,
    /// The brace depth at which each open template continues.
    templates: Vec<u32>,
    braces: u32,
    front_matter: Option<FrontMatter>,
    types: bool,
    pub(super) problems: &'a mut Problems,
}

impl Scanner<'_> {
    fn run(&mut self) {
        if self.text.starts_with("#!") {
            self.skip_line();
        }
        loop {
            self.blanks();
            if self.tokens.len() >= MAX_TOKENS {
                let message = format!("the script has more than {MAX_TOKENS} words and signs");
                let span = self.span_from(self.at);
                self.problems.add(Code::TooComplex, span, message);
                // Further problems would only be about the missing part.
                self.tokens = Vec::new();
                self.at = self.text.len();
            }
            let start = self.at;
            let Some(c) = self.peek() else { break };
            match c {
                '0'..='9' => self.number(),
                '.' if self.byte(1).is_some_and(|byte| byte.is_ascii_digit()) => self.number(),
                '"' | '\'' => self.string(c),
                '`' => self.template(true),
                '}' if self.templates.last() == Some(&self.braces) => {
                    self.templates.pop();
                    self.template(false);
                }
                '/' if self.slash_begins_regex() => self.regex(),
                _ if is_name_start(c) => self.word(),
                _ => self.sign(start),
            }
        }
        self.push(self.at, Kind::End);
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.text.get(self.at..).and_then(|rest| rest.chars().next())
    }

    pub(super) fn byte(&self, ahead: usize) -> Option<u8> {
        self.text.as_bytes().get(self.at + ahead).copied()
    }

    pub(super) fn starts_with(&self, text: &str) -> bool {
        self.text.get(self.at..).is_some_and(|rest| rest.starts_with(text))
    }

    pub(super) fn span_from(&self, start: usize) -> Span {
        let number = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        Span::new(number(start), number(self.at))
    }

    pub(super) fn push(&mut self, start: usize, kind: Kind) {
        let (span, after_newline) = (self.span_from(start), self.after_newline);
        self.tokens.push(Token { kind, span, after_newline });
        self.after_newline = false;
    }

    /// Enters an expression of a template, which continues at the closing brace.
    pub(super) fn open_template(&mut self) {
        self.templates.push(self.braces);
    }

    /// Skips white space and comments; records whether a line ended.
    fn blanks(&mut self) {
        while let Some(c) = self.peek() {
            if c == '\n' || c == '\r' || c == '\u{2028}' || c == '\u{2029}' {
                self.after_newline = true;
                self.at += c.len_utf8();
            } else if c.is_whitespace() || c == '\u{feff}' {
                self.at += c.len_utf8();
            } else if self.starts_with("//") {
                self.skip_line();
            } else if self.starts_with("/*") {
                self.comment();
            } else {
                return;
            }
        }
    }

    fn skip_line(&mut self) {
        let rest = self.text.get(self.at..).unwrap_or_default();
        self.at += rest.find(['\n', '\r']).unwrap_or(rest.len());
    }

    fn comment(&mut self) {
        let start = self.at;
        let rest = self.text.get(self.at..).unwrap_or_default();
        let front_matter = self.front_matter.filter(|it| it.start == start);
        let length = match front_matter {
            Some(found) => found.end.map(|end| end - start),
            None => rest.get(2..).and_then(|inside| inside.find("*/")).map(|at| at + 4),
        };
        let comment = rest.get(..length.unwrap_or(rest.len())).unwrap_or_default();
        self.after_newline |= comment.contains('\n');
        self.at += comment.len();
        if length.is_none() {
            let span = self.span_from(start);
            let span = Span::new(span.start, span.start + 2);
            if front_matter.is_some() {
                let message = "the front matter has no line that begins or ends with `*/`";
                let help = "close it with `*/` on a line of its own";
                self.problems.add_with_help(Code::Unterminated, span, message, help);
            } else {
                self.problems.add(Code::Unterminated, span, "this comment has no `*/`");
            }
        }
    }

    fn word(&mut self) {
        let start = self.at;
        while let Some(c) = self.peek().filter(|c| is_name_part(*c)) {
            self.at += c.len_utf8();
        }
        let text = self.text.get(start..self.at).unwrap_or_default();
        self.push(start, Kind::Word(Arc::from(text)));
    }

    fn sign(&mut self, start: usize) {
        let Some(mut sign) = PUNCTUATORS.iter().find(|sign| self.starts_with(sign)).copied() else {
            let c = self.peek().unwrap_or_default();
            self.at += c.len_utf8();
            let span = self.span_from(start);
            let message = format!("the character {c:?} means nothing here");
            self.problems.add(Code::Literal, span, message);
            return;
        };
        // `a?.5:b` is a conditional, not a chain.
        if sign == "?." && self.byte(2).is_some_and(|byte| byte.is_ascii_digit()) {
            sign = "?";
        }
        match sign {
            "{" => self.braces += 1,
            "}" => self.braces = self.braces.saturating_sub(1),
            _ => {}
        }
        self.at += sign.len();
        self.push(start, Kind::Sign(sign));
    }

    /// After a value a slash divides; elsewhere it begins a regular expression.
    fn slash_begins_regex(&self) -> bool {
        let mut before = self.tokens.iter().rev();
        let mut last = before.next();
        if self.types
            && let Some(Token { kind: Kind::Sign("!"), after_newline: false, .. }) = last
            && let Some(value) = before.next().filter(|token| ends_value(&token.kind))
        {
            // `value! / 2`
            last = Some(value);
        }
        match last.map(|token| &token.kind) {
            None => true,
            Some(Kind::Word(word)) => WORDS_BEFORE_EXPRESSION.contains(&&**word),
            Some(Kind::Sign(sign)) => !matches!(*sign, ")" | "]" | "}" | "++" | "--"),
            Some(Kind::Template { last, .. }) => !last,
            Some(_) => false,
        }
    }

    fn regex(&mut self) {
        let start = self.at;
        self.at += 1;
        let mut in_class = false;
        while let Some(c) = self.peek().filter(|c| *c != '\n') {
            self.at += c.len_utf8();
            match c {
                '\\' => self.at += self.peek().filter(|c| *c != '\n').map_or(0, char::len_utf8),
                '[' => in_class = true,
                ']' => in_class = false,
                '/' if !in_class => break,
                _ => {}
            }
        }
        let body = self.text.get(start + 1..self.at).unwrap_or_default();
        let end = self.at;
        let Some(source) = body.strip_suffix('/') else {
            let span = self.span_from(start);
            let message = "this regular expression has no closing `/` on its line";
            self.problems.add(Code::Unterminated, span, message);
            return self.push(start, Kind::Regex { source: Arc::from(""), flags: Arc::from("") });
        };
        while self.peek().is_some_and(is_name_part) {
            self.at += self.peek().map_or(0, char::len_utf8);
        }
        let flags = self.text.get(end..self.at).unwrap_or_default();
        self.push(start, Kind::Regex { source: Arc::from(source), flags: Arc::from(flags) });
    }
}

/// Whether a token is the end of a value.
fn ends_value(kind: &Kind) -> bool {
    match kind {
        Kind::Word(word) => !WORDS_BEFORE_EXPRESSION.contains(&&**word),
        Kind::Sign(sign) => matches!(*sign, ")" | "]" | "}"),
        Kind::Template { last, .. } => *last,
        Kind::Number(_) | Kind::Text(_) | Kind::Regex { .. } => true,
        Kind::End => false,
    }
}

pub(super) fn is_name_start(c: char) -> bool {
    c.is_alphabetic() || c == '_' || c == '$'
}

fn is_name_part(c: char) -> bool {
    is_name_start(c) || c.is_numeric() || c == '\u{200c}' || c == '\u{200d}'
}
