//! Small parts that several statements share.

use super::parser::{ParseAborted, Parsed, Parser};
use crate::ast::{Declarator, Expr};
use crate::lex::Kind;
use crate::problem::Code;
use crate::span::Span;

impl Parser<'_> {
    /// An expression in parentheses.
    pub(super) fn in_parens(&mut self) -> Parsed<Expr> {
        self.expect("(")?;
        let expr = self.sequence()?;
        self.expect(")")?;
        Ok(expr)
    }

    /// The declarators after `let` or `const`.
    pub(super) fn declarators(&mut self, constant: bool, at: Span) -> Parsed<Vec<Declarator>> {
        let mut declarators = Vec::new();
        loop {
            let pattern = self.pattern()?;
            if self.types && self.at_sign("!") && self.is_sign_ahead(1, ":") {
                self.next();
            }
            self.annotation()?;
            let init =
                if self.take_sign("=") { Some(self.named_expression(&pattern)?) } else { None };
            let needs_value = constant || !pattern.is_name();
            if needs_value && init.is_none() {
                let message = "a value is missing: this declaration needs `= …`";
                self.problems.add(Code::Syntax, at.to(pattern.span), message);
                return Err(ParseAborted);
            }
            declarators.push(Declarator { pattern, init });
            if !self.take_sign(",") {
                return Ok(declarators);
            }
        }
    }

    /// Reports the `async` of a workflow and skips it.
    pub(super) fn refuse_async(&mut self) {
        let span = self.next().span;
        let message = "a workflow needs no `async`";
        let help = "remove it; `await` works in every workflow";
        self.problems.add_with_help(Code::Async, span, message, help);
    }

    /// Whether `async function` begins here.
    pub(super) fn is_async_declaration(&self) -> bool {
        let after = self.ahead(1);
        self.at_word("async") && after.kind == Kind::Word("function".into()) && !after.after_newline
    }

    /// Whether an arrow function with `async` begins here.
    pub(super) fn is_async_arrow(&mut self) -> bool {
        let is_typed = self.typed_arrow_ahead(1);
        let after = self.ahead(1);
        let begins = match &after.kind {
            Kind::Word(_) => self.ahead(2).kind == Kind::Sign("=>"),
            Kind::Sign("(") => is_typed || self.arrow_after(1),
            _ => is_typed,
        };
        begins && self.at_word("async") && !after.after_newline
    }

    /// Reports the star of a generator and skips it.
    pub(super) fn refuse_generator(&mut self) {
        if self.at_sign("*") {
            let span = self.next().span;
            self.refuse(span, "a generator", "return a list");
        }
    }
}
