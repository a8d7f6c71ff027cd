//! Functions: parameters, bodies, arrows.

use super::parser::{ParseAborted, Parsed, Parser};
use crate::ast::{
    Body, Expr, ExprKind, Function, FunctionKind, Ident, Param, Pattern, PatternKind,
};
use crate::lex::Kind;
use crate::span::Span;

impl Parser<'_> {
    /// Parameters and body of a function, after its keyword and name.
    pub(super) fn function_rest(&mut self, start: Span, name: Option<Ident>) -> Parsed<Function> {
        let (params, rest) = self.function_head()?;
        self.function_with(start, name, params, rest)
    }

    /// The same, or nothing if it has no body: a signature of TypeScript.
    pub(super) fn function_or_signature(
        &mut self,
        start: Span,
        name: Option<Ident>,
    ) -> Parsed<Option<Function>> {
        let (params, rest) = self.function_head()?;
        if self.types && !self.at_sign("{") {
            self.end_of_statement()?;
            return Ok(None);
        }
        self.function_with(start, name, params, rest).map(Some)
    }

    fn function_head(&mut self) -> Parsed<(Vec<Param>, Option<Pattern>)> {
        self.type_params()?;
        let params = self.params()?;
        self.return_type()?;
        Ok(params)
    }

    fn function_with(
        &mut self,
        start: Span,
        name: Option<Ident>,
        params: Vec<Param>,
        rest: Option<Pattern>,
    ) -> Parsed<Function> {
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
        let is_nameless = self.at_sign("(") || self.at_sign("<");
        let name = if is_nameless { None } else { Some(self.name("a function name")?) };
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
        let in_then = std::mem::take(&mut self.in_then);
        let (params, rest) = self.arrow_head()?;
        let body = if self.at_sign("{") {
            self.function_body()?
        } else {
            self.in_then = in_then;
            Body::Expr(Box::new(self.expression()?))
        };
        let span = Span::new(start.start, self.previous_end());
        let kind = FunctionKind::Arrow;
        let function = Function { name: None, params, rest, body, kind, is_async, span };
        Ok(Expr { kind: ExprKind::Function(Box::new(function)), span })
    }

    /// The parameters of an arrow function and its arrow.
    pub(super) fn arrow_head(&mut self) -> Parsed<(Vec<Param>, Option<Pattern>)> {
        let head = if self.at_sign("(") || self.at_sign("<") {
            self.function_head()?
        } else {
            let name = self.name("a parameter")?;
            let span = name.span;
            let pattern = Pattern { kind: PatternKind::Name(name), span };
            (vec![Param { pattern, default: None }], None)
        };
        if self.token().after_newline && self.at_sign("=>") {
            self.unexpected("`=>` on the same line");
            return Err(ParseAborted);
        }
        self.expect("=>")?;
        Ok(head)
    }

    fn params(&mut self) -> Parsed<(Vec<Param>, Option<Pattern>)> {
        self.expect("(")?;
        self.this_param()?;
        let (mut params, mut rest) = (Vec::new(), None);
        while !self.at_sign(")") {
            self.refuse_param_modifier()?;
            if self.take_sign("...") {
                rest = Some(self.pattern()?);
                self.annotation()?;
                break;
            }
            let pattern = self.pattern()?;
            if self.types {
                self.take_sign("?");
            }
            self.annotation()?;
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
