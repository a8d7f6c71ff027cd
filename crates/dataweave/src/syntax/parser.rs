//! The parser: its state, its entry point and its recovery after errors.

use std::collections::BTreeSet;

use meantime_core::Severity;

use super::cursor::Cursor;
use super::{Directive, Expr, ExprKind, Span};
use crate::diagnostic::{Code, Problem};

/// The nesting depth of expressions.
const MAX_DEPTH: u32 = 200;

/// Parsing stops after this number of problems.
const MAX_PROBLEMS: usize = 20;

/// The result of parsing.
#[derive(Debug)]
pub(crate) struct ParsedScript {
    pub(crate) directives: Vec<Directive>,
    pub(crate) body: Expr,
    pub(crate) problems: Vec<Problem>,
}

/// Parses a script: an optional header, and the body.
pub(crate) fn parse(source: &str) -> ParsedScript {
    let mut parser = Parser::new(source);
    let (directives, body) = parser.script();
    ParsedScript { directives, body, problems: parser.problems }
}

/// Parsing of a construct was aborted; the problem is already recorded.
#[derive(Debug, Clone, Copy)]
pub(super) struct ParseAborted;

pub(super) type Result<T = Expr> = std::result::Result<T, ParseAborted>;

/// What an opening token may begin; tried once per offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Lookahead {
    Lambda,
    FunctionType,
    TextKey,
    ShortCondition,
}

pub(super) struct Parser<'s> {
    pub(super) cursor: Cursor<'s>,
    pub(super) problems: Vec<Problem>,
    pub(super) depth: u32,
    /// Without a header `output` is an ordinary name.
    pub(super) has_header: bool,
    /// In the condition of `if c then …`, the word `then` ends the expression.
    pub(super) stops_at_then: bool,
    /// Failed lookaheads by position. Trying each only once keeps parsing quadratic when lookaheads
    /// are nested.
    pub(super) failed_lookaheads: BTreeSet<(usize, Lookahead)>,
}

impl<'s> Parser<'s> {
    fn new(source: &'s str) -> Self {
        Self {
            cursor: Cursor { source, at: 0 },
            problems: Vec::new(),
            depth: 0,
            has_header: false,
            stops_at_then: false,
            failed_lookaheads: BTreeSet::new(),
        }
    }

    fn script(&mut self) -> (Vec<Directive>, Expr) {
        let directives = self.header();
        self.cursor.space();
        let start = self.cursor.at;
        if self.cursor.is_end() {
            self.error(Span::new(start, start), "the script has no body expression");
            return (directives, self.error_node(start));
        }
        let body = self.body().unwrap_or_else(|ParseAborted| self.error_node(start));
        self.cursor.space();
        if !self.cursor.is_end() && !self.has_errors() {
            let at = self.cursor.at;
            let problem = self.unexpected("the end");
            self.explain_trailing_text(at, problem);
        }
        (directives, body)
    }

    /// Explains the most common reasons for text after a complete expression.
    fn explain_trailing_text(&mut self, at: usize, mut problem: Problem) {
        let rest = &self.cursor.source[at..];
        if rest.starts_with("---") {
            problem.help = Some("a script has one `---`, between its header and its body".into());
        } else if rest.starts_with(['+', '-', '*', '/', '<', '>', '=']) {
            let help = "put parentheses around what stands before: functions between two values, \
                        `default`, `match` and `update` bind more loosely than this operator";
            problem.help = Some(help.into());
        } else if rest.starts_with(',') {
            problem.help = Some("put several pairs into braces: `{a: 1, b: 2}`".into());
        }
        self.problems.push(problem);
    }

    fn body(&mut self) -> Result {
        self.pair_or_expression()
    }

    pub(super) fn error_node(&self, start: usize) -> Expr {
        Expr::new(ExprKind::Broken, self.cursor.span(start))
    }

    pub(super) fn has_errors(&self) -> bool {
        self.problems.iter().any(|problem| problem.severity == Severity::Error)
    }

    /// Whether to continue after an error.
    pub(super) fn may_recover(&self) -> bool {
        self.problems.len() < MAX_PROBLEMS
    }

    pub(super) fn error(&mut self, span: Span, message: impl Into<String>) -> ParseAborted {
        self.problems.push(Problem::error(Code::Syntax, span, message));
        ParseAborted
    }

    pub(super) fn error_with_help(
        &mut self,
        span: Span,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> ParseAborted {
        self.problems.push(Problem::error(Code::Syntax, span, message).with_help(help));
        ParseAborted
    }

    /// Accepts a construct that is not standard, with a warning.
    pub(super) fn warn_extension(
        &mut self,
        span: Span,
        message: impl Into<String>,
        standard: &str,
    ) {
        let problem = Problem::warning(Code::Extension, span, message);
        self.problems.push(problem.with_help(format!("the standard form is {standard}")));
    }

    /// A problem at the next word or sign, which was not expected.
    pub(super) fn unexpected(&mut self, expected: &str) -> Problem {
        self.cursor.space();
        let start = self.cursor.at;
        let word = self.cursor.word();
        let found = if word.is_empty() { self.cursor.peek().map(String::from) } else { None };
        let length = found.as_ref().map_or(word.len(), String::len);
        let span = Span::new(start, start + length);
        let message = match found {
            Some(sign) => format!("expected {expected}, found `{sign}`"),
            None if word.is_empty() => format!("expected {expected}, but the script ends"),
            None => format!("expected {expected}, found `{word}`"),
        };
        Problem::error(Code::Syntax, span, message)
    }

    pub(super) fn fail<T>(&mut self, expected: &str) -> Result<T> {
        let problem = self.unexpected(expected);
        self.problems.push(problem);
        Err(ParseAborted)
    }

    /// Consumes the sign or fails.
    pub(super) fn expect(&mut self, sign: &str, context: &str) -> Result<()> {
        if self.cursor.sign(sign) { Ok(()) } else { self.fail(&format!("`{sign}` {context}")) }
    }

    /// Parses one level deeper, within the limit.
    pub(super) fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth >= MAX_DEPTH {
            let at = self.cursor.at;
            return Err(self.too_deep(Span::new(at, at)));
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    /// An expression; fails if it makes the tree too deep.
    pub(super) fn node(&mut self, kind: ExprKind, span: Span) -> Result {
        let expr = Expr::new(kind, span);
        if expr.depth > 2 * MAX_DEPTH { Err(self.too_deep(span)) } else { Ok(expr) }
    }

    fn too_deep(&mut self, span: Span) -> ParseAborted {
        let message = "expressions are nested too deeply";
        let problem = Problem::error(Code::TooComplex, span, message);
        self.problems.push(problem.with_help("split it with `var` or `fun`"));
        ParseAborted
    }

    /// Tries to parse; on failure nothing is consumed or reported.
    pub(super) fn attempt<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Option<T> {
        let back = self.cursor.at;
        let problems = self.problems.len();
        let depth = self.depth;
        match read(self) {
            Ok(value) => Some(value),
            Err(ParseAborted) => {
                self.cursor.at = back;
                self.depth = depth;
                self.problems.truncate(problems);
                None
            }
        }
    }

    /// Like [`Self::attempt`], but tries each construct only once per position.
    pub(super) fn lookahead<T>(
        &mut self,
        guess: Lookahead,
        read: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Option<T> {
        let context = (self.cursor.at, guess);
        if self.failed_lookaheads.contains(&context) {
            return None;
        }
        let result = self.attempt(read);
        if result.is_none() {
            self.failed_lookaheads.insert(context);
        }
        result
    }

    /// After an error inside brackets: continues at the next `,` or the closing bracket.
    pub(super) fn skip_to_separator(&mut self, close: char) {
        let mut open = Vec::new();
        loop {
            self.cursor.space();
            match self.cursor.peek() {
                None => return,
                Some(c) if open.is_empty() && (c == ',' || c == close) => return,
                Some('"' | '\'' | '`') => {
                    if self.attempt(Self::string_literal).is_none() {
                        self.cursor.next();
                    }
                }
                Some(c @ ('(' | '[' | '{')) => {
                    open.push(c);
                    self.cursor.next();
                }
                Some(')' | ']' | '}') => {
                    if open.pop().is_none() {
                        return;
                    }
                    self.cursor.next();
                }
                Some(_) => {
                    self.cursor.next();
                }
            }
        }
    }
}
