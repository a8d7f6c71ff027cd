//! Postfix expressions: properties, indices, calls, `?.`, `++`.

use super::parser::{MAX_DEPTH, ParseAborted, Parsed, Parser};
use crate::ast::{Arg, Expr, ExprKind, Ident};
use crate::lex::Kind;

impl Parser<'_> {
    pub(super) fn postfix(&mut self) -> Parsed<Expr> {
        let mut expr = self.primary()?;
        let (mut length, mut chained) = (0u32, false);
        loop {
            length += 1;
            if length > MAX_DEPTH {
                self.too_deep();
                return Err(ParseAborted);
            }
            let token = self.token().clone();
            expr = match token.kind {
                Kind::Sign("." | "?.") => {
                    let optional = token.kind == Kind::Sign("?.");
                    chained |= optional;
                    self.next();
                    self.link(expr, optional)?
                }
                Kind::Sign("[") => self.index(expr, false)?,
                Kind::Sign("(") => self.call(expr, false)?,
                Kind::Sign(sign @ ("++" | "--")) if !token.after_newline => {
                    self.next();
                    let span = expr.span.to(token.span);
                    self.update(expr, sign, false, span)?
                }
                Kind::Template { first: true, .. } => self.tagged(expr)?,
                Kind::Sign("!") if self.types && !token.after_newline => {
                    self.next();
                    expr
                }
                Kind::Sign("<" | "<<") if self.expression_type_args() => expr,
                _ => break,
            };
        }
        if chained {
            let span = expr.span;
            expr = Expr { kind: ExprKind::Chain(Box::new(expr)), span };
        }
        Ok(expr)
    }

    /// A link after a dot: a name, or after `?.` also an index or a call.
    fn link(&mut self, object: Expr, optional: bool) -> Parsed<Expr> {
        if optional && self.at_sign("[") {
            return self.index(object, true);
        }
        if optional && self.types && self.at_sign("<") {
            self.type_args()?;
            return self.call(object, true);
        }
        if optional && self.at_sign("(") {
            return self.call(object, true);
        }
        if self.at_sign("#") {
            let name = self.private_name()?;
            let span = object.span.to(name.span);
            return Ok(Expr {
                kind: ExprKind::Member { object: Box::new(object), name, optional },
                span,
            });
        }
        let name = self.any_word("a property name")?;
        if &*name.name == "__proto__" {
            let what = format!("access to `{}`", name.name);
            self.refuse(name.span, &what, "use a class");
        }
        let span = object.span.to(name.span);
        Ok(Expr { kind: ExprKind::Member { object: Box::new(object), name, optional }, span })
    }

    /// `#name`, kept with its sign.
    pub(super) fn private_name(&mut self) -> Parsed<Ident> {
        let start = self.expect("#")?;
        let name = self.any_word("a private name")?;
        Ok(Ident { name: format!("#{}", name.name).into(), span: start.to(name.span) })
    }

    /// A template after the function that gets it.
    fn tagged(&mut self, tag: Expr) -> Parsed<Expr> {
        let at = self.token().span.start;
        let mut raws = Vec::new();
        let template = self.template_with(&mut raws)?;
        let span = tag.span.to(template.span);
        let ExprKind::Template { texts, values } = template.kind else { return Err(ParseAborted) };
        Ok(Expr { kind: ExprKind::Tagged { tag: Box::new(tag), texts, raws, values, at }, span })
    }

    pub(super) fn index(&mut self, object: Expr, optional: bool) -> Parsed<Expr> {
        self.next();
        let before = std::mem::replace(&mut self.no_in, false);
        let index = self.sequence();
        self.no_in = before;
        let index = Box::new(index?);
        let end = self.expect("]")?;
        let span = object.span.to(end);
        Ok(Expr { kind: ExprKind::Index { object: Box::new(object), index, optional }, span })
    }

    fn call(&mut self, callee: Expr, optional: bool) -> Parsed<Expr> {
        let paren = self.token().span.start;
        let args = self.arguments()?;
        let span = crate::span::Span::new(callee.span.start, self.previous_end());
        let callee = Box::new(callee);
        Ok(Expr { kind: ExprKind::Call { callee, args, optional, paren }, span })
    }

    /// Arguments in parentheses.
    pub(super) fn arguments(&mut self) -> Parsed<Vec<Arg>> {
        self.expect("(")?;
        let args = self.elements(")")?;
        self.expect(")")?;
        Ok(args)
    }

    /// Values separated by commas, up to a closing bracket.
    pub(super) fn elements(&mut self, closer: &'static str) -> Parsed<Vec<Arg>> {
        let before = std::mem::replace(&mut self.no_in, false);
        let result = self.elements_here(closer);
        self.no_in = before;
        result
    }

    fn elements_here(&mut self, closer: &'static str) -> Parsed<Vec<Arg>> {
        let mut elements = Vec::new();
        while !self.at_sign(closer) {
            if self.at_sign(",") {
                let span = self.token().span;
                self.refuse(span, "an empty place in a list", "write `undefined`");
                return Err(ParseAborted);
            }
            let spread = self.take_sign("...");
            elements.push(Arg { value: self.expression()?, spread });
            if !self.take_sign(",") {
                break;
            }
        }
        Ok(elements)
    }
}
