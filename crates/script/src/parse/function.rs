//! Functions: parameters, bodies, arrows.

use super::parser::{Parsed, Parser};
use crate::ast::{
    Body, Expr, ExprKind, Function, FunctionKind, Ident, Param, Pattern, PatternKind,
};
use crate::lex::Kind;
use crate::span::Span;

impl Parser<'_> {
    /// Parameters and body of a function, after its keyword and name.
    pub(super) fn function_rest(&mut self, start: Span, name: Option<Ident>) -> Parsed<Function> {
        let (params, rest) = self.params()?;
        let body = self.function_body()?;
        let span = Span::new(start.start, self.previous_end());
        let kind = FunctionKind::Plain;
        Ok(Function { name, params, rest, body, kind, is_async: false, span })
    }

    /// `function (…) {…}` as an expression, with `async` before it or without.
    pub(super) fn function_expression(&mut self) -> Parsed<Expr> {
        let start = self.token().span;
        let is_async = self.take_word("async");
        self.next();
        self.refuse_generator();
        let name = if self.at_sign("(") { None } else { Some(self.name("a function name")?) };
        let function = self.function_rest(start, name)?;
        let function = Function { is_async, ..function };
        let span = function.span;
        Ok(Expr { kind: ExprKind::Function(Box::new(function)), span })
    }

    /// `(…) => …` or `name => …`, with `async` before it or without.
    pub(super) fn arrow(&mut self) -> Parsed<Expr> {
        let start = self.token().span;
        let is_async = self.at_word("async") && self.ahead(1).kind != Kind::Sign("=>");
        if is_async {
            self.next();
        }
        let (params, rest) = if self.at_sign("(") {
            self.params()?
        } else {
            let name = self.name("a parameter")?;
            let span = name.span;
            let pattern = Pattern { kind: PatternKind::Name(name), span };
            (vec![Param { pattern, default: None }], None)
        };
        self.expect("=>")?;
        let body = if self.at_sign("{") {
            self.function_body()?
        } else {
            Body::Expr(Box::new(self.expression()?))
        };
        let span = Span::new(start.start, self.previous_end());
        let kind = FunctionKind::Arrow;
        let function = Function { name: None, params, rest, body, kind, is_async, span };
        Ok(Expr { kind: ExprKind::Function(Box::new(function)), span })
    }

    fn params(&mut self) -> Parsed<(Vec<Param>, Option<Pattern>)> {
        self.expect("(")?;
        let (mut params, mut rest) = (Vec::new(), None);
        while !self.at_sign(")") {
            if self.take_sign("...") {
                rest = Some(self.pattern()?);
                break;
            }
            let pattern = self.pattern()?;
            let default = if self.take_sign("=") { Some(self.expression()?) } else { None };
            params.push(Param { pattern, default });
            if !self.take_sign(",") {
                break;
            }
        }
        self.expect(")")?;
        Ok((params, rest))
    }
}

/// A name for traces only: it declares nothing.
pub(super) fn unbound(mut name: Ident) -> Ident {
    name.span.start = u32::MAX;
    name
}
