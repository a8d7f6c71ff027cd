//! Types of TypeScript: read and dropped. Only syntax that can be erased is read, so that what
//! runs is the text without its types, at the same positions.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::parser::{ParseAborted, Parsed, Parser};
use super::refused;
use crate::lex::{Kind, Token};
use crate::span::Span;

/// Words that are types although they are reserved.
const RESERVED_TYPES: [&str; 5] = ["void", "null", "true", "false", "this"];

/// Types that take no arguments, so that `x as number < 2` compares.
const PLAIN_TYPES: [&str; 11] = [
    "any",
    "unknown",
    "string",
    "number",
    "bigint",
    "symbol",
    "boolean",
    "undefined",
    "never",
    "object",
    "void",
];

/// What an attempt changed, so that it can be undone.
struct Attempt {
    at: usize,
    splits: usize,
    problems: usize,
    depth: u32,
    lost: BTreeSet<Arc<str>>,
}

impl Parser<'_> {
    /// `: type` after a name, parameters or a key.
    pub(super) fn annotation(&mut self) -> Parsed<()> {
        if !self.at_sign(":") {
            return Ok(());
        }
        self.typescript_only("a type annotation")?;
        self.next();
        self.ty()
    }

    /// Refuses TypeScript in a JavaScript file.
    pub(super) fn typescript_only(&mut self, what: &str) -> Parsed<()> {
        if self.types {
            return Ok(());
        }
        let span = self.token().span;
        self.refuse(span, what, "name the file `….flow.ts`");
        Err(ParseAborted)
    }

    /// `: type` after parameters, where a function may also say what it asserts.
    pub(super) fn return_type(&mut self) -> Parsed<()> {
        if !self.at_sign(":") {
            return Ok(());
        }
        self.typescript_only("a type annotation")?;
        self.next();
        let is_word = |token: &Token| matches!(token.kind, Kind::Word(_)) && !token.after_newline;
        if self.at_word("asserts") && is_word(self.ahead(1)) && !self.is_word_ahead(1, "is") {
            self.next();
            self.next();
            return if self.take_word("is") { self.ty() } else { Ok(()) };
        }
        self.predicate();
        self.ty()
    }

    fn is_word_ahead(&self, count: usize, word: &str) -> bool {
        matches!(&self.ahead(count).kind, Kind::Word(it) if **it == *word)
    }

    pub(super) fn is_sign_ahead(&self, count: usize, sign: &str) -> bool {
        matches!(self.ahead(count).kind, Kind::Sign(it) if it == sign)
    }

    /// A type.
    pub(super) fn ty(&mut self) -> Parsed<()> {
        let before = std::mem::replace(&mut self.no_conditional, false);
        let result = self.deeper(Self::ty_here);
        self.no_conditional = before;
        result
    }

    /// A type after `extends`, where a question mark belongs to the type around it.
    fn constraint(&mut self) -> Parsed<()> {
        let before = std::mem::replace(&mut self.no_conditional, true);
        let result = self.deeper(Self::ty_here);
        self.no_conditional = before;
        result
    }

    fn ty_here(&mut self) -> Parsed<()> {
        let constructs =
            self.at_word("new") || (self.at_word("abstract") && self.is_word_ahead(1, "new"));
        if constructs {
            self.take_word("abstract");
            self.next();
        }
        if constructs || self.at_sign("<") || self.starts_function_type() {
            self.type_params()?;
            self.signature_params()?;
            self.expect("=>")?;
            self.predicate();
            return self.deeper(Self::ty_here);
        }
        self.union()?;
        if !self.no_conditional && self.at_word("extends") && !self.token().after_newline {
            self.next();
            self.constraint()?;
            self.expect("?")?;
            self.ty()?;
            self.expect(":")?;
            self.ty()?;
        }
        Ok(())
    }

    /// `x is`, before a type.
    fn predicate(&mut self) {
        let is_predicate = matches!(self.token().kind, Kind::Word(_))
            && self.is_word_ahead(1, "is")
            && !self.ahead(1).after_newline;
        if is_predicate {
            self.next();
            self.next();
        }
    }

    /// Whether the parenthesis here begins a function type, rather than a type in parentheses.
    fn starts_function_type(&self) -> bool {
        if !self.at_sign("(") {
            return false;
        }
        if self.is_sign_ahead(1, ")") || self.is_sign_ahead(1, "...") {
            return true;
        }
        let after = match self.ahead(1).kind {
            Kind::Word(_) => 2,
            Kind::Sign("[" | "{") => match self.after_brackets(1) {
                Some(after) => after,
                None => return false,
            },
            _ => return false,
        };
        match self.ahead(after).kind {
            Kind::Sign(":" | "," | "?" | "=") => true,
            Kind::Sign(")") => self.is_sign_ahead(after + 1, "=>"),
            _ => false,
        }
    }

    /// How far ahead the bracket that is `from` ahead has been closed.
    fn after_brackets(&self, from: usize) -> Option<usize> {
        let (mut open, mut at) = (0u32, from);
        loop {
            match self.ahead(at).kind {
                Kind::Sign("(" | "[" | "{") => open += 1,
                Kind::Sign(")" | "]" | "}") => open = open.saturating_sub(1),
                Kind::End => return None,
                _ => {}
            }
            at += 1;
            if open == 0 {
                return Some(at);
            }
        }
    }

    fn union(&mut self) -> Parsed<()> {
        self.take_sign("|");
        loop {
            self.take_sign("&");
            loop {
                self.deeper(Self::type_operator)?;
                if !self.take_sign("&") {
                    break;
                }
            }
            if !self.take_sign("|") {
                return Ok(());
            }
        }
    }

    fn type_operator(&mut self) -> Parsed<()> {
        let is_operator = ["keyof", "unique", "readonly"].iter().any(|word| self.at_word(word))
            && self.starts_type(1);
        if is_operator {
            self.next();
            return self.deeper(Self::type_operator);
        }
        if self.at_word("infer") && matches!(self.ahead(1).kind, Kind::Word(_)) {
            self.next();
            self.name("a type variable")?;
            self.infer_constraint();
            return Ok(());
        }
        self.postfix_type()
    }

    /// `infer U extends T`, unless `extends` belongs to the conditional type around it.
    fn infer_constraint(&mut self) {
        if !self.at_word("extends") {
            return;
        }
        let allows_conditional = !self.no_conditional;
        let attempt = self.begin_attempt();
        self.next();
        let fits = self.constraint().is_ok() && !(allows_conditional && self.at_sign("?"));
        if !fits {
            self.undo(attempt);
        }
    }

    fn starts_type(&self, ahead: usize) -> bool {
        match &self.ahead(ahead).kind {
            Kind::Word(word) => **word != *"extends" && **word != *"is",
            Kind::Text(_) | Kind::Number(_) | Kind::Template { first: true, .. } => true,
            Kind::Sign(sign) => matches!(*sign, "(" | "[" | "{" | "-"),
            _ => false,
        }
    }

    fn postfix_type(&mut self) -> Parsed<()> {
        self.primary_type()?;
        while self.at_sign("[") && !self.token().after_newline {
            self.next();
            if !self.at_sign("]") {
                self.ty()?;
            }
            self.expect("]")?;
        }
        Ok(())
    }

    fn primary_type(&mut self) -> Parsed<()> {
        match self.token().kind.clone() {
            Kind::Text(_) | Kind::Number(_) => {
                self.next();
                Ok(())
            }
            Kind::Sign("-") if matches!(self.ahead(1).kind, Kind::Number(_)) => {
                self.next();
                self.next();
                Ok(())
            }
            Kind::Template { first: true, .. } => self.template_type(),
            Kind::Sign("(") => {
                self.next();
                self.ty()?;
                self.expect(")").map(|_| ())
            }
            Kind::Sign("[") => self.tuple_type(),
            Kind::Sign("{") => self.object_type(),
            Kind::Word(word) => self.named_type(&word),
            _ => self.no_type(),
        }
    }

    fn no_type(&mut self) -> Parsed<()> {
        self.unexpected("a type");
        Err(ParseAborted)
    }

    fn named_type(&mut self, word: &str) -> Parsed<()> {
        if word == "typeof" {
            self.next();
        } else if word != "import" && refused::is_reserved(word) && !RESERVED_TYPES.contains(&word)
        {
            return self.no_type();
        }
        if self.at_word("import") {
            self.next();
            self.expect("(")?;
            self.ty()?;
            self.expect(")")?;
        } else {
            self.any_word("a type")?;
        }
        let mut is_qualified = false;
        while self.take_sign(".") {
            is_qualified = true;
            if self.at_sign("#") {
                self.private_name()?;
            } else {
                self.any_word("a type")?;
            }
        }
        let is_plain = PLAIN_TYPES.contains(&word) && !is_qualified;
        let has_args = self.at_sign("<") || self.at_sign("<<");
        if has_args && !is_plain && !self.token().after_newline {
            self.type_args()?;
        }
        Ok(())
    }

    fn template_type(&mut self) -> Parsed<()> {
        loop {
            let Kind::Template { last, .. } = self.token().kind else {
                self.unexpected("the rest of the template");
                return Err(ParseAborted);
            };
            self.next();
            if last {
                return Ok(());
            }
            self.ty()?;
        }
    }

    fn tuple_type(&mut self) -> Parsed<()> {
        self.next();
        while !self.at_sign("]") {
            self.take_sign("...");
            let is_labeled = matches!(self.token().kind, Kind::Word(_))
                && (self.is_sign_ahead(1, ":")
                    || (self.is_sign_ahead(1, "?") && self.is_sign_ahead(2, ":")));
            if is_labeled {
                self.next();
                self.take_sign("?");
                self.next();
            }
            self.ty()?;
            self.take_sign("?");
            if !self.take_sign(",") {
                break;
            }
        }
        self.expect("]").map(|_| ())
    }

    /// The members of an interface or of an object type.
    pub(super) fn object_type(&mut self) -> Parsed<()> {
        self.expect("{")?;
        if self.starts_mapped_type() {
            return self.mapped_type();
        }
        while !self.at_sign("}") {
            self.deeper(Self::type_member)?;
            let separated = self.take_sign(";") || self.take_sign(",");
            if !separated && !self.at_sign("}") && !self.token().after_newline {
                self.unexpected("`;` or `}`");
                return Err(ParseAborted);
            }
        }
        self.next();
        Ok(())
    }

    fn starts_mapped_type(&self) -> bool {
        let at = match self.token().kind {
            Kind::Sign("+" | "-") => 2,
            _ if self.at_word("readonly") => 1,
            _ => 0,
        };
        self.is_sign_ahead(at, "[")
            && matches!(self.ahead(at + 1).kind, Kind::Word(_))
            && self.is_word_ahead(at + 2, "in")
    }

    fn mapped_type(&mut self) -> Parsed<()> {
        let _sign = self.take_sign("+") || self.take_sign("-");
        self.take_word("readonly");
        self.expect("[")?;
        self.name("a type variable")?;
        self.next();
        self.ty()?;
        if self.take_word("as") {
            self.ty()?;
        }
        self.expect("]")?;
        if self.take_sign("+") || self.take_sign("-") {
            self.expect("?")?;
        } else {
            self.take_sign("?");
        }
        self.annotation()?;
        let _separator = self.take_sign(";") || self.take_sign(",");
        self.expect("}").map(|_| ())
    }

    fn type_member(&mut self) -> Parsed<()> {
        let constructs =
            self.at_word("new") && (self.is_sign_ahead(1, "(") || self.is_sign_ahead(1, "<"));
        if constructs {
            self.next();
        }
        if constructs || self.at_sign("(") || self.at_sign("<") {
            return self.signature();
        }
        while ["readonly", "get", "set"].iter().any(|word| self.at_word(word))
            && self.member_key_follows(1)
            && !self.ahead(1).after_newline
        {
            self.next();
        }
        if self.at_index_signature() {
            return self.index_signature();
        }
        self.property_key()?;
        self.take_sign("?");
        if self.at_sign("(") || self.at_sign("<") {
            return self.signature();
        }
        self.annotation()
    }

    /// Whether the token so far ahead is the key of a member.
    fn member_key_follows(&self, ahead: usize) -> bool {
        matches!(
            self.ahead(ahead).kind,
            Kind::Word(_) | Kind::Text(_) | Kind::Number(_) | Kind::Sign("[" | "#")
        )
    }

    /// `[key: string]: T`
    pub(super) fn at_index_signature(&self) -> bool {
        self.at_sign("[")
            && matches!(self.ahead(1).kind, Kind::Word(_))
            && self.is_sign_ahead(2, ":")
    }

    pub(super) fn index_signature(&mut self) -> Parsed<()> {
        self.next();
        self.next();
        self.annotation()?;
        self.expect("]")?;
        self.annotation()
    }

    /// `<T>(x: T): T`
    fn signature(&mut self) -> Parsed<()> {
        self.type_params()?;
        self.signature_params()?;
        self.return_type()
    }

    fn signature_params(&mut self) -> Parsed<()> {
        self.expect("(")?;
        while !self.at_sign(")") {
            self.take_sign("...");
            if !self.take_word("this") {
                self.pattern()?;
            }
            self.take_sign("?");
            self.annotation()?;
            if !self.take_sign(",") {
                break;
            }
        }
        self.expect(")").map(|_| ())
    }

    /// `<T extends U = V>` after the name of a function, a class or a type.
    pub(super) fn type_params(&mut self) -> Parsed<()> {
        if !self.at_sign("<") {
            return Ok(());
        }
        self.typescript_only("a type parameter")?;
        self.next();
        loop {
            while ["const", "in", "out"].iter().any(|word| self.at_word(word))
                && matches!(self.ahead(1).kind, Kind::Word(_))
                && !self.is_word_ahead(1, "extends")
            {
                self.next();
            }
            self.name("a type parameter")?;
            if self.take_word("extends") {
                self.ty()?;
            }
            if self.take_sign("=") {
                self.ty()?;
            }
            if !self.take_sign(",") || self.at_closing_angle() {
                break;
            }
        }
        self.close_angle()
    }

    /// `<A, B>`
    pub(super) fn type_args(&mut self) -> Parsed<()> {
        self.open_angle();
        loop {
            self.ty()?;
            if !self.take_sign(",") {
                break;
            }
        }
        self.close_angle()
    }

    fn at_closing_angle(&self) -> bool {
        matches!(self.token().kind, Kind::Sign(sign) if sign.starts_with('>'))
    }

    /// Takes `<`, which may be the first half of `<<`.
    fn open_angle(&mut self) {
        match self.token().kind {
            Kind::Sign("<<") => self.split("<"),
            _ => {
                self.next();
            }
        }
    }

    /// Takes `>`, which may be the beginning of a longer sign.
    fn close_angle(&mut self) -> Parsed<()> {
        match self.token().kind {
            Kind::Sign(">") => {
                self.next();
            }
            Kind::Sign(">>") => self.split(">"),
            Kind::Sign(">>>") => self.split(">>"),
            Kind::Sign(">=") => self.split("="),
            Kind::Sign(">>=") => self.split(">="),
            Kind::Sign(">>>=") => self.split(">>="),
            _ => {
                self.unexpected("`>`");
                return Err(ParseAborted);
            }
        }
        Ok(())
    }

    /// Takes the first character of a sign; the rest remains.
    fn split(&mut self, rest: &'static str) {
        let at = self.mark();
        let whole = self.token().clone();
        let span = Span::new(whole.span.start + 1, whole.span.end);
        self.replace_token(at, Token { kind: Kind::Sign(rest), span, after_newline: false });
        self.splits.push((at, whole));
    }

    fn begin_attempt(&self) -> Attempt {
        Attempt {
            at: self.mark(),
            splits: self.splits.len(),
            problems: self.problems.count(),
            depth: self.depth(),
            lost: self.lost_names(),
        }
    }

    fn undo(&mut self, attempt: Attempt) {
        while self.splits.len() > attempt.splits {
            if let Some((at, whole)) = self.splits.pop() {
                self.replace_token(at, whole);
            }
        }
        self.problems.truncate(attempt.problems);
        self.restore(attempt.at, attempt.depth, attempt.lost);
    }

    /// Type arguments in an expression, `f<T>(x)`, if that is what follows; a comparison otherwise.
    pub(super) fn expression_type_args(&mut self) -> bool {
        let here = self.token().span.start;
        if !self.types || self.no_type_args.contains(&here) {
            return false;
        }
        let attempt = self.begin_attempt();
        if self.type_args().is_ok() && !self.is_split() && self.ends_type_args() {
            return true;
        }
        self.undo(attempt);
        self.no_type_args.insert(here);
        false
    }

    /// Whether the last `>` was the beginning of a longer sign.
    fn is_split(&self) -> bool {
        self.splits.last().is_some_and(|(at, _)| *at == self.mark())
    }

    /// Whether the token after `>` shows that it closed type arguments.
    fn ends_type_args(&self) -> bool {
        let token = self.token();
        match &token.kind {
            Kind::Sign("(") | Kind::Template { first: true, .. } => true,
            Kind::Sign("<" | ">" | "+" | "-") => false,
            _ if token.after_newline => true,
            Kind::Sign(sign) => !matches!(*sign, "[" | "{" | "~" | "!" | "++" | "--" | "#" | "@"),
            Kind::Word(word) => matches!(&**word, "in" | "instanceof" | "as" | "satisfies"),
            Kind::Text(_) | Kind::Number(_) | Kind::Regex { .. } | Kind::Template { .. } => false,
            Kind::End => true,
        }
    }

    /// Whether a function with types begins a number of tokens ahead: `(x): T =>` or `<T>(x) =>`.
    pub(super) fn typed_arrow_ahead(&mut self, ahead: usize) -> bool {
        if !self.types {
            return false;
        }
        let may_be = self.is_sign_ahead(ahead, "<")
            || (self.is_sign_ahead(ahead, "(") && self.colon_after(ahead));
        let here = self.ahead(ahead).span.start;
        if !may_be {
            return false;
        }
        if let Some(known) = self.typed_arrows.get(&here) {
            return *known;
        }
        let attempt = self.begin_attempt();
        for _ in 0..ahead {
            self.next();
        }
        let found = self.arrow_head().is_ok();
        self.undo(attempt);
        self.typed_arrows.insert(here, found);
        found
    }

    /// A function with a return type after the question mark of a conditional: it is one only if
    /// the colon of the conditional follows.
    pub(super) fn arrow_before_colon(&mut self) -> bool {
        let here = self.token().span.start;
        if let Some(known) = self.arrows_before_colon.get(&here) {
            return *known;
        }
        let attempt = self.begin_attempt();
        self.in_then = true;
        let found = self.deeper(Self::arrow).is_ok() && self.at_sign(":");
        self.in_then = false;
        self.undo(attempt);
        self.arrows_before_colon.insert(here, found);
        found
    }
}
