//! Primary expressions: literals, names, lists, objects, functions, parentheses.

use super::function::unbound;
use super::parser::{ParseAborted, Parsed, Parser};
use super::refused;
use crate::ast::{Accessor, Expr, ExprKind, Function, Ident, Prop, PropKey};
use crate::lex::{Kind, Number};
use crate::problem::Code;
use crate::span::Span;

impl Parser<'_> {
    pub(super) fn primary(&mut self) -> Parsed<Expr> {
        let token = self.token().clone();
        let span = token.span;
        let kind = match token.kind {
            Kind::Number(number) => ExprKind::Number(number),
            Kind::Text(text) => ExprKind::Text(text),
            Kind::Template { first: true, .. } => return self.template(),
            Kind::Regex { source, flags } => ExprKind::Regex { source, flags },
            Kind::Sign("(") => return self.parenthesized(),
            Kind::Sign("[") => return self.array(),
            Kind::Sign("{") => return self.object(),
            Kind::Word(word) => return self.word_expression(&word, span),
            Kind::Sign("<") if self.types => {
                let what = "a type assertion in angle brackets";
                self.refuse(span, what, "write `value as T`");
                return Err(ParseAborted);
            }
            _ => {
                self.unexpected("an expression");
                return Err(ParseAborted);
            }
        };
        self.next();
        Ok(Expr { kind, span })
    }

    fn word_expression(&mut self, word: &std::sync::Arc<str>, span: Span) -> Parsed<Expr> {
        if let Some((what, help)) = refused::expression(word) {
            self.refuse(span, what, help);
            return Err(ParseAborted);
        }
        let kind = match &**word {
            "null" => ExprKind::Null,
            "true" => ExprKind::Bool(true),
            "false" => ExprKind::Bool(false),
            "function" => return self.function_expression(),
            "async" if self.is_async_declaration() => return self.function_expression(),
            "new" => return self.deeper(Self::new_expression),
            "this" => ExprKind::This,
            "super" => return self.super_expression(),
            "class" => {
                let class = self.class(false)?;
                let span = Span::new(span.start, self.previous_end());
                return Ok(Expr { kind: ExprKind::Class(Box::new(class)), span });
            }
            "eval" if self.ahead(1).kind == Kind::Sign("(") => {
                self.refuse(span, "`eval`", "write the code where it is needed");
                ExprKind::Bad
            }
            _ if refused::is_reserved(word) => {
                self.unexpected("an expression");
                return Err(ParseAborted);
            }
            _ => ExprKind::Name(word.clone()),
        };
        self.next();
        Ok(Expr { kind, span })
    }

    fn parenthesized(&mut self) -> Parsed<Expr> {
        let start = self.next().span;
        let before = std::mem::replace(&mut self.no_in, false);
        let expr = self.sequence();
        self.no_in = before;
        let mut expr = expr?;
        let end = self.expect(")")?;
        // The span includes the parentheses, so that later checks can see them.
        expr.span = start.to(end);
        Ok(expr)
    }

    /// Whether an expression was written in parentheses.
    pub(super) fn ends_with_paren(&self, expr: &Expr) -> bool {
        self.starts_with_paren(expr.span.start)
    }

    fn template(&mut self) -> Parsed<Expr> {
        self.template_with(&mut Vec::new())
    }

    /// A template; its texts as written are added to `raws`.
    pub(super) fn template_with(&mut self, raws: &mut Vec<std::sync::Arc<str>>) -> Parsed<Expr> {
        let start = self.token().span;
        let (mut texts, mut values) = (Vec::new(), Vec::new());
        loop {
            let Kind::Template { text, raw, last, .. } = self.token().kind.clone() else {
                self.unexpected("the rest of the template");
                return Err(ParseAborted);
            };
            let end = self.next().span;
            texts.push(text);
            raws.push(raw);
            if last {
                let span = start.to(end);
                return Ok(Expr { kind: ExprKind::Template { texts, values }, span });
            }
            values.push(self.sequence()?);
        }
    }

    fn array(&mut self) -> Parsed<Expr> {
        let start = self.next().span;
        let elements = self.elements("]")?;
        let end = self.expect("]")?;
        Ok(Expr { kind: ExprKind::Array(elements), span: start.to(end) })
    }

    fn object(&mut self) -> Parsed<Expr> {
        let before = std::mem::replace(&mut self.no_in, false);
        let result = self.object_here();
        self.no_in = before;
        result
    }

    fn object_here(&mut self) -> Parsed<Expr> {
        let start = self.next().span;
        let mut props = Vec::new();
        while !self.at_sign("}") {
            props.push(self.property()?);
            if !self.take_sign(",") {
                break;
            }
        }
        let end = self.expect("}")?;
        Ok(Expr { kind: ExprKind::Object(props), span: start.to(end) })
    }

    fn property(&mut self) -> Parsed<Prop> {
        if self.take_sign("...") {
            return Ok(Prop::Spread(self.expression()?));
        }
        let is_async = self.at_word("async") && self.key_follows() && !self.ahead(1).after_newline;
        if is_async {
            self.next();
        }
        let accessor = if is_async { None } else { self.accessor() };
        let start = self.token().span;
        let (key, shorthand) = self.property_key()?;
        if is_async || self.at_sign("(") || (self.types && self.at_sign("<")) {
            // A method is a property whose value is a function.
            let function = self.function_rest(start, shorthand.map(unbound))?;
            let function = Function { is_async, ..function };
            if let Some(accessor) = accessor {
                return Ok(Prop::Accessor { key, accessor, function: Box::new(function) });
            }
            let span = function.span;
            let value = Expr { kind: ExprKind::Function(Box::new(function)), span };
            return Ok(Prop::Pair { key, value });
        }
        match shorthand {
            Some(name) if !self.at_sign(":") => {
                let default = if self.take_sign("=") { Some(self.expression()?) } else { None };
                if refused::is_reserved(&name.name) {
                    let message = format!("`{}` is reserved and is no variable", name.name);
                    self.problems.add(Code::Syntax, name.span, message);
                    return Err(ParseAborted);
                }
                Ok(Prop::Short { name, default })
            }
            _ => {
                self.expect(":")?;
                Ok(Prop::Pair { key, value: self.expression()? })
            }
        }
    }

    /// Whether a property key follows the word here.
    fn key_follows(&self) -> bool {
        matches!(
            self.ahead(1).kind,
            Kind::Word(_) | Kind::Text(_) | Kind::Number(_) | Kind::Sign("[" | "*")
        )
    }

    /// The word before `get x() {}` and `set x(v) {}`; rejects `*x() {}`.
    fn accessor(&mut self) -> Option<Accessor> {
        self.refuse_generator();
        let Kind::Word(word) = self.token().kind.clone() else { return None };
        match &*word {
            "get" | "set" if self.key_follows() => {
                self.next();
                Some(if &*word == "get" { Accessor::Get } else { Accessor::Set })
            }
            _ => None,
        }
    }

    /// The key of a property; with its name if `{ name }` may stand for `{ name: name }`.
    pub(super) fn property_key(&mut self) -> Parsed<(PropKey, Option<Ident>)> {
        let token = self.token().clone();
        match token.kind {
            Kind::Word(word) => {
                self.next();
                if *word == *"__proto__" {
                    self.refuse(token.span, "access to `__proto__`", "objects are plain data here");
                }
                let name = Ident { name: word.clone(), span: token.span };
                Ok((PropKey::Name(word, token.span), Some(name)))
            }
            Kind::Text(text) => {
                self.next();
                Ok((PropKey::Name(text, token.span), None))
            }
            Kind::Number(Number::Float(number)) => {
                self.next();
                Ok((PropKey::Name(crate::vm::print_float(number).into(), token.span), None))
            }
            Kind::Number(Number::Int(number)) => {
                self.next();
                Ok((PropKey::Name(number.to_string().into(), token.span), None))
            }
            Kind::Sign("[") => {
                self.next();
                let key = self.expression()?;
                self.expect("]")?;
                Ok((PropKey::Computed(Box::new(key)), None))
            }
            _ => {
                self.unexpected("a property name");
                Err(ParseAborted)
            }
        }
    }
}
