//! The state of the parser: reading tokens, reporting and recovering.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::refused;
use crate::ast::{File, Ident, Stmt, Workflow, WorkflowForm};
use crate::lex::{Kind, Token, tokenize};
use crate::problem::{Code, Problems};
use crate::span::Span;

/// The nesting depth of brackets, blocks, operators and functions. The tree is visited by
/// recursion, so this limits the stack.
pub(crate) const MAX_DEPTH: u32 = 200;

/// A problem was reported; the current statement is abandoned.
#[derive(Debug)]
pub(super) struct ParseAborted;

pub(super) type Parsed<T> = Result<T, ParseAborted>;

/// Parses a file.
pub(crate) fn parse(text: &str, language: Language, problems: &mut Problems) -> File {
    let types = language == Language::TypeScript;
    let tokens = tokenize(text, types, problems);
    let closers = match_brackets(&tokens);
    let lost = BTreeSet::new();
    let is_module = super::module::has_default_export(&tokens);
    let mut parser = Parser {
        tokens,
        closers,
        at: 0,
        depth: 0,
        problems,
        no_in: false,
        lost,
        is_module,
        types,
        no_conditional: false,
        in_then: false,
        cast_end: None,
        splits: Vec::new(),
        no_type_args: BTreeSet::new(),
        typed_arrows: BTreeMap::new(),
        arrows_before_colon: BTreeMap::new(),
    };
    parser.file()
}

/// The language of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    JavaScript,
    /// With types, which are dropped.
    TypeScript,
}

pub(super) struct Parser<'a> {
    tokens: Vec<Token>,
    /// For each opening parenthesis the token that closes it.
    closers: Vec<u32>,
    at: usize,
    depth: u32,
    pub(super) problems: &'a mut Problems,
    /// In the head of a `for`, where `in` is not an operator.
    pub(super) no_in: bool,
    lost: BTreeSet<Arc<str>>,
    /// Whether the file has an `export default`.
    pub(super) is_module: bool,
    /// Whether it is TypeScript.
    pub(super) types: bool,
    /// After `extends` of a type, where a question mark belongs to the type around it.
    pub(super) no_conditional: bool,
    /// Directly after the question mark of a conditional.
    pub(super) in_then: bool,
    /// The end of the last `as` or `satisfies`, to which nothing can be assigned.
    pub(super) cast_end: Option<u32>,
    /// Signs of which a part was taken, with their index, so that it can be undone.
    pub(super) splits: Vec<(usize, Token)>,
    // Results of attempts by position, so that no text is tried twice.
    pub(super) no_type_args: BTreeSet<u32>,
    pub(super) typed_arrows: BTreeMap<u32, bool>,
    pub(super) arrows_before_colon: BTreeMap<u32, bool>,
}

impl Parser<'_> {
    fn file(&mut self) -> File {
        let (statements, workflows, lost) = (Vec::new(), Vec::new(), BTreeSet::new());
        let (is_module, exports) = (self.is_module, Vec::new());
        let mut file = File { statements, workflows, is_module, exports, lost };
        while !self.at_end() {
            if self.at_word("async") && self.ahead(1).kind == Kind::Word("workflow".into()) {
                self.refuse_async();
            }
            let start = self.at;
            if self.at_workflow() {
                match self.workflow() {
                    Ok(workflow) => file.workflows.push(workflow),
                    Err(ParseAborted) => self.recover(start),
                }
            } else if self.at_word("export") {
                if self.export(&mut file).is_err() {
                    self.recover(start);
                }
            } else if self.at_sign("}") {
                self.unexpected("a statement");
                self.next();
            } else {
                file.statements.extend(self.statement_or_recover());
            }
        }
        file.lost = std::mem::take(&mut self.lost);
        file
    }

    fn at_workflow(&self) -> bool {
        let is = |ahead: usize, kind: &Kind| self.ahead(ahead).kind == *kind;
        let is_named = matches!(self.ahead(1).kind, Kind::Word(_)) && is(2, &Kind::Sign("("));
        let closer = self.closers.get(self.at + 1).copied().unwrap_or(u32::MAX) as usize;
        let body = self.tokens.get(closer.saturating_add(1));
        let is_nameless = body.is_some_and(|token| token.kind == Kind::Sign("{"));
        self.at_word("workflow") && (is_named || is_nameless)
    }

    fn workflow(&mut self) -> Parsed<Workflow> {
        let start = self.next().span;
        let name = self.name("the name of the workflow")?;
        let function = self.function_rest(start, Some(name.clone()))?;
        Ok(Workflow { name: Some(name), function, form: WorkflowForm::Keyword })
    }

    /// A statement, or none if it was abandoned.
    pub(super) fn statement_or_recover(&mut self) -> Option<Stmt> {
        let before = self.at;
        if let Ok(statement) = self.statement() {
            Some(statement)
        } else {
            self.remember_lost_names(before);
            if self.at == before {
                self.next();
            }
            self.recover(before);
            None
        }
    }

    /// Records the names that an abandoned statement would have declared.
    fn remember_lost_names(&mut self, start: usize) {
        let mut tokens = self.tokens.iter().skip(start);
        let Some(Token { kind: Kind::Word(first), .. }) = tokens.next() else { return };
        if !matches!(&**first, "let" | "const" | "var" | "class" | "function") {
            return;
        }
        // Every word up to the end of the line counts as declared.
        for token in tokens.take_while(|token| !token.after_newline).take(MAX_LOST_NAMES) {
            if let Kind::Word(word) = &token.kind {
                self.lost.insert(word.clone());
            }
        }
    }

    /// Skips to the probable start of the next statement: after the brackets that the statement
    /// opened, or at a line that begins like a statement.
    pub(super) fn recover(&mut self, start: usize) {
        let mut open = 0u32;
        for token in self.tokens.get(start..self.at).unwrap_or_default() {
            match token.kind {
                Kind::Sign("(" | "[" | "{") => open += 1,
                Kind::Sign(")" | "]" | "}") => open = open.saturating_sub(1),
                _ => {}
            }
        }
        while !self.at_end() {
            let token = self.token();
            if token.after_newline && (open == 0 || begins_statement(&token.kind)) {
                return;
            }
            match token.kind {
                Kind::Sign("(" | "[" | "{") => open += 1,
                Kind::Sign("}") if open == 0 => return,
                Kind::Sign(")" | "]" | "}") => open = open.saturating_sub(1),
                Kind::Sign(";") if open == 0 => {
                    self.next();
                    return;
                }
                _ => {}
            }
            self.next();
        }
    }

    /// Parses one level deeper, within the limit.
    pub(super) fn deeper<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= MAX_DEPTH {
            self.too_deep();
            return Err(ParseAborted);
        }
        self.depth += 1;
        let result = parse(self);
        self.depth -= 1;
        result
    }

    pub(super) fn too_deep(&mut self) {
        let message = format!("nested more than {MAX_DEPTH} levels deep");
        let help = "move a part into a function or a variable";
        let span = self.token().span;
        self.problems.add_with_help(Code::TooComplex, span, message, help);
        // The rest of such a file is probably as deep: parsing ends here.
        self.at = self.tokens.len().saturating_sub(1);
    }

    pub(super) fn token(&self) -> &Token {
        self.ahead(0)
    }

    pub(super) fn ahead(&self, count: usize) -> &Token {
        // The last token is `End` and is never consumed.
        let last = self.tokens.len().saturating_sub(1);
        self.tokens.get((self.at + count).min(last)).unwrap_or(&END_TOKEN)
    }

    pub(super) fn next(&mut self) -> Token {
        let token = self.token().clone();
        if self.at + 1 < self.tokens.len() {
            self.at += 1;
        }
        token
    }

    pub(super) fn at_end(&self) -> bool {
        self.token().kind == Kind::End
    }

    pub(super) fn at_sign(&self, sign: &str) -> bool {
        matches!(self.token().kind, Kind::Sign(it) if it == sign)
    }

    pub(super) fn at_word(&self, word: &str) -> bool {
        matches!(&self.token().kind, Kind::Word(it) if **it == *word)
    }

    pub(super) fn take_sign(&mut self, sign: &str) -> bool {
        let here = self.at_sign(sign);
        if here {
            self.next();
        }
        here
    }

    pub(super) fn take_word(&mut self, word: &str) -> bool {
        let here = self.at_word(word);
        if here {
            self.next();
        }
        here
    }

    pub(super) fn expect(&mut self, sign: &'static str) -> Parsed<Span> {
        if self.at_sign(sign) {
            return Ok(self.next().span);
        }
        self.unexpected(&format!("`{sign}`"));
        Err(ParseAborted)
    }

    /// The end of a statement: a semicolon, a line end, or a closing brace.
    pub(super) fn end_of_statement(&mut self) -> Parsed<()> {
        let fits = self.at_end() || self.at_sign("}") || self.token().after_newline;
        if self.take_sign(";") || fits {
            return Ok(());
        }
        self.unexpected("the end of the statement");
        Err(ParseAborted)
    }

    /// A name that can be declared or used.
    pub(super) fn name(&mut self, what: &str) -> Parsed<Ident> {
        let token = self.token().clone();
        match &token.kind {
            Kind::Word(word) if !refused::is_reserved(word) => {
                self.next();
                Ok(Ident { name: word.clone(), span: token.span })
            }
            Kind::Word(word) => {
                let message = format!("`{word}` is reserved and cannot be {what}");
                self.problems.add(Code::Syntax, token.span, message);
                Err(ParseAborted)
            }
            _ => {
                self.unexpected(what);
                Err(ParseAborted)
            }
        }
    }

    /// A name after a dot or in an object, where keywords are allowed.
    pub(super) fn any_word(&mut self, what: &str) -> Parsed<Ident> {
        let token = self.token().clone();
        if let Kind::Word(word) = &token.kind {
            self.next();
            return Ok(Ident { name: word.clone(), span: token.span });
        }
        self.unexpected(what);
        Err(ParseAborted)
    }

    pub(super) fn unexpected(&mut self, wanted: &str) {
        let token = self.token();
        let span = token.span;
        let found = match &token.kind {
            Kind::Word(word) => format!("`{word}`"),
            Kind::Number(_) => "a number".to_owned(),
            Kind::Text(_) => "a string".to_owned(),
            Kind::Template { .. } => "a template".to_owned(),
            Kind::Regex { .. } => "a regular expression".to_owned(),
            Kind::Sign(sign) => format!("`{sign}`"),
            Kind::End => "the end of the file".to_owned(),
        };
        let code = if token.kind == Kind::End { Code::Unterminated } else { Code::Syntax };
        self.problems.add(code, span, format!("expected {wanted}, found {found}"));
    }

    /// The end of the previous token.
    pub(super) fn previous_end(&self) -> u32 {
        let before = self.at.checked_sub(1).and_then(|at| self.tokens.get(at));
        before.map_or(0, |token| token.span.end)
    }

    /// Whether the text at an offset is an opening parenthesis.
    pub(super) fn starts_with_paren(&self, offset: u32) -> bool {
        let found = self.tokens.binary_search_by_key(&offset, |token| token.span.start);
        let token = found.ok().and_then(|at| self.tokens.get(at));
        token.is_some_and(|token| token.kind == Kind::Sign("("))
    }

    /// The current position, to return to.
    pub(super) fn mark(&self) -> usize {
        self.at
    }

    pub(super) fn reset(&mut self, mark: usize) {
        self.at = mark;
    }

    /// Returns to the state before an attempt.
    pub(super) fn restore(&mut self, mark: usize, depth: u32, lost: BTreeSet<Arc<str>>) {
        (self.at, self.depth, self.lost) = (mark, depth, lost);
    }

    pub(super) const fn depth(&self) -> u32 {
        self.depth
    }

    pub(super) fn lost_names(&self) -> BTreeSet<Arc<str>> {
        self.lost.clone()
    }

    pub(super) fn replace_token(&mut self, at: usize, token: Token) {
        if let Some(place) = self.tokens.get_mut(at) {
            *place = token;
        }
    }

    /// Whether the parenthesis a number of tokens ahead is closed directly before `=>`.
    pub(super) fn arrow_after(&self, ahead: usize) -> bool {
        self.sign_after_closer(ahead, "=>")
    }

    /// Whether it is closed directly before a colon.
    pub(super) fn colon_after(&self, ahead: usize) -> bool {
        self.sign_after_closer(ahead, ":")
    }

    fn sign_after_closer(&self, ahead: usize, sign: &str) -> bool {
        let closer = self.closers.get(self.at + ahead).copied().unwrap_or(u32::MAX) as usize;
        let after = self.tokens.get(closer.saturating_add(1));
        after.is_some_and(|token| matches!(token.kind, Kind::Sign(it) if it == sign))
    }
}

/// The most words of an abandoned declaration that are recorded.
const MAX_LOST_NAMES: usize = 50;

/// Whether a line that begins so is a statement, whatever is still open before it.
fn begins_statement(kind: &Kind) -> bool {
    const STATEMENT_KEYWORDS: [&str; 16] = [
        "let", "const", "var", "class", "if", "for", "while", "do", "switch", "try", "throw",
        "return", "function", "workflow", "break", "continue",
    ];
    matches!(kind, Kind::Word(word) if STATEMENT_KEYWORDS.contains(&&**word))
}

static END_TOKEN: Token = Token { kind: Kind::End, span: Span::new(0, 0), after_newline: true };

/// For each `(` the index of its `)`; `u32::MAX` for all other tokens.
fn match_brackets(tokens: &[Token]) -> Vec<u32> {
    let mut closers = vec![u32::MAX; tokens.len()];
    let mut open = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        match token.kind {
            Kind::Sign("(") => open.push(at),
            Kind::Sign(")") => {
                let opener = open.pop().and_then(|opener| closers.get_mut(opener));
                if let Some(closer) = opener {
                    *closer = u32::try_from(at).unwrap_or(u32::MAX);
                }
            }
            _ => {}
        }
    }
    closers
}
