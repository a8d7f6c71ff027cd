//! Operators, by binding power.

use super::parser::{MAX_DEPTH, ParseAborted, Parsed, Parser};
use super::refused;
use crate::ast::{AssignOp, BinaryOp, Expr, ExprKind, LogicalOp, Pattern, PatternKind, UnaryOp};
use crate::lex::Kind;
use crate::problem::Code;

/// A binary operator with its binding power on the left and on the right.
struct Infix {
    op: InfixOp,
    left: u8,
    right: u8,
}

#[derive(Clone, Copy)]
enum InfixOp {
    Binary(BinaryOp),
    Logical(LogicalOp),
}

/// The least binding power of the right side of `in`.
const IN_OPERAND_POWER: u8 = 11;

/// The binding power of prefix operators: higher than that of all binary ones.
const PREFIX_BINDING_POWER: u8 = 20;

impl Parser<'_> {
    /// An expression, assignments included.
    pub(super) fn expression(&mut self) -> Parsed<Expr> {
        self.deeper(Self::assignment)
    }

    /// Expressions separated by commas: the value is that of the last one.
    pub(super) fn sequence(&mut self) -> Parsed<Expr> {
        let first = self.expression()?;
        if !self.at_sign(",") {
            return Ok(first);
        }
        let span = first.span;
        let mut all = vec![first];
        while self.take_sign(",") {
            if all.len() >= MAX_DEPTH as usize {
                self.too_deep();
                return Err(ParseAborted);
            }
            all.push(self.expression()?);
        }
        let span = span.to(all.last().map_or(span, |last| last.span));
        Ok(Expr { kind: ExprKind::Sequence(all), span })
    }

    /// An expression that becomes the value of a variable: a function gets the variable's name.
    pub(super) fn named_expression(&mut self, pattern: &Pattern) -> Parsed<Expr> {
        let mut expr = self.expression()?;
        let PatternKind::Name(name) = &pattern.kind else { return Ok(expr) };
        // The name is only for traces: it has no position and declares nothing.
        let mut name = name.clone();
        name.span.start = u32::MAX;
        match &mut expr.kind {
            ExprKind::Function(function) if function.name.is_none() => function.name = Some(name),
            ExprKind::Class(class) if class.name.is_none() => class.constructor.name = Some(name),
            _ => {}
        }
        Ok(expr)
    }

    fn assignment(&mut self) -> Parsed<Expr> {
        let in_then = std::mem::take(&mut self.in_then);
        if self.at_arrow() || (self.typed_arrow_ahead(0) && self.may_be_arrow(in_then)) {
            self.in_then = in_then;
            return self.arrow();
        }
        if self.is_async_arrow() {
            return self.arrow();
        }
        let left = self.ternary()?;
        let Some(op) = self.assign_op() else { return Ok(left) };
        if self.cast_end == Some(self.previous_end()) {
            self.unexpected("the end of the expression");
            return Err(ParseAborted);
        }
        let token = self.next();
        let span = left.span;
        let target = self.as_pattern(left)?;
        if op != AssignOp::Plain
            && !matches!(target.kind, PatternKind::Name(_) | PatternKind::Member(_))
        {
            self.problems.add(Code::Syntax, token.span, "only a plain `=` takes values apart");
            return Err(ParseAborted);
        }
        let value = self.named_expression(&target)?;
        let span = span.to(value.span);
        let (target, value) = (Box::new(target), Box::new(value));
        Ok(Expr { kind: ExprKind::Assign { target, op, value }, span })
    }

    pub(super) fn at_arrow(&self) -> bool {
        match &self.token().kind {
            Kind::Sign("(") => self.arrow_after(0),
            Kind::Word(word) => {
                !refused::is_reserved(word) && self.ahead(1).kind == Kind::Sign("=>")
            }
            _ => false,
        }
    }

    fn assign_op(&mut self) -> Option<AssignOp> {
        let Kind::Sign(sign) = self.token().kind else { return None };
        Some(match sign {
            "=" => AssignOp::Plain,
            "+=" => AssignOp::Binary(BinaryOp::Add),
            "-=" => AssignOp::Binary(BinaryOp::Sub),
            "*=" => AssignOp::Binary(BinaryOp::Mul),
            "/=" => AssignOp::Binary(BinaryOp::Div),
            "%=" => AssignOp::Binary(BinaryOp::Rem),
            "**=" => AssignOp::Binary(BinaryOp::Pow),
            "&=" => AssignOp::Binary(BinaryOp::BitAnd),
            "|=" => AssignOp::Binary(BinaryOp::BitOr),
            "^=" => AssignOp::Binary(BinaryOp::BitXor),
            "<<=" => AssignOp::Binary(BinaryOp::ShiftLeft),
            ">>=" => AssignOp::Binary(BinaryOp::ShiftRight),
            ">>>=" => AssignOp::Binary(BinaryOp::ShiftRightUnsigned),
            "&&=" => AssignOp::Logical(LogicalOp::And),
            "||=" => AssignOp::Logical(LogicalOp::Or),
            "??=" => AssignOp::Logical(LogicalOp::Nullish),
            _ => return None,
        })
    }

    fn ternary(&mut self) -> Parsed<Expr> {
        let test = self.binary(0)?;
        if !self.take_sign("?") {
            return Ok(test);
        }
        let before = std::mem::replace(&mut self.no_in, false);
        self.in_then = true;
        let then = self.expression();
        self.in_then = false;
        self.no_in = before;
        let then = then?;
        self.expect(":")?;
        let otherwise = self.expression()?;
        let span = test.span.to(otherwise.span);
        let (test, then, otherwise) = (Box::new(test), Box::new(then), Box::new(otherwise));
        Ok(Expr { kind: ExprKind::Ternary { test, then, otherwise }, span })
    }

    fn binary(&mut self, least: u8) -> Parsed<Expr> {
        let mut left = self.deeper(Self::unary)?;
        let mut length = 0u32;
        loop {
            if self.cast(least)? {
                continue;
            }
            let Some(infix) = self.infix().filter(|infix| infix.left >= least) else { break };
            // A long chain is a deep tree.
            length += 1;
            if length > MAX_DEPTH {
                self.too_deep();
                return Err(ParseAborted);
            }
            self.check_power(&left, &infix)?;
            self.check_mixed(&left, &infix);
            self.next();
            let right = self.deeper(|it| it.binary(infix.right))?;
            self.check_mixed(&right, &infix);
            let span = left.span.to(right.span);
            let (l, r) = (Box::new(left), Box::new(right));
            let kind = match infix.op {
                InfixOp::Binary(op) => ExprKind::Binary { op, left: l, right: r },
                InfixOp::Logical(op) => ExprKind::Logical { op, left: l, right: r },
            };
            left = Expr { kind, span };
        }
        Ok(left)
    }

    /// `-2 ** 2` is ambiguous; JavaScript rejects it, and so do we.
    fn check_power(&mut self, left: &Expr, infix: &Infix) -> Parsed<()> {
        let is_power = matches!(infix.op, InfixOp::Binary(BinaryOp::Pow));
        let is_unary = matches!(left.kind, ExprKind::Unary { .. } | ExprKind::Await(_));
        if is_power && is_unary && !self.ends_with_paren(left) {
            let message = "put parentheses around the left side of `**`";
            self.problems.add(Code::Syntax, left.span, message);
            return Err(ParseAborted);
        }
        Ok(())
    }

    /// `a ?? b || c` is ambiguous as well.
    fn check_mixed(&mut self, side: &Expr, infix: &Infix) {
        let InfixOp::Logical(op) = infix.op else { return };
        let ExprKind::Logical { op: inner, .. } = side.kind else { return };
        let mixed = (op == LogicalOp::Nullish) != (inner == LogicalOp::Nullish);
        if mixed && !self.ends_with_paren(side) {
            let message = "`??` cannot be mixed with `&&` or `||` without parentheses";
            self.problems.add(Code::Syntax, side.span, message);
        }
    }

    fn infix(&mut self) -> Option<Infix> {
        let token = self.token().clone();
        let binary = |op, left| Infix { op: InfixOp::Binary(op), left, right: left + 1 };
        let logical = |op, left| Infix { op: InfixOp::Logical(op), left, right: left + 1 };
        let infix = match &token.kind {
            Kind::Sign(sign) => match *sign {
                "??" => logical(LogicalOp::Nullish, 1),
                "||" => logical(LogicalOp::Or, 2),
                "&&" => logical(LogicalOp::And, 3),
                "|" => binary(BinaryOp::BitOr, 5),
                "^" => binary(BinaryOp::BitXor, 6),
                "&" => binary(BinaryOp::BitAnd, 7),
                "<<" => binary(BinaryOp::ShiftLeft, 12),
                ">>" => binary(BinaryOp::ShiftRight, 12),
                ">>>" => binary(BinaryOp::ShiftRightUnsigned, 12),
                "==" => binary(BinaryOp::Eq, 8),
                "!=" => binary(BinaryOp::Ne, 8),
                "===" => binary(BinaryOp::StrictEq, 8),
                "!==" => binary(BinaryOp::StrictNe, 8),
                "<" => binary(BinaryOp::Lt, 10),
                "<=" => binary(BinaryOp::Le, 10),
                ">" => binary(BinaryOp::Gt, 10),
                ">=" => binary(BinaryOp::Ge, 10),
                "+" => binary(BinaryOp::Add, 14),
                "-" => binary(BinaryOp::Sub, 14),
                "*" => binary(BinaryOp::Mul, 15),
                "/" => binary(BinaryOp::Div, 15),
                "%" => binary(BinaryOp::Rem, 15),
                // Powers are right-associative.
                "**" => Infix { op: InfixOp::Binary(BinaryOp::Pow), left: 17, right: 17 },
                _ => return None,
            },
            Kind::Word(word) if **word == *"in" && !self.no_in => binary(BinaryOp::In, 10),
            Kind::Word(word) if **word == *"instanceof" => binary(BinaryOp::InstanceOf, 10),
            _ => return None,
        };
        Some(infix)
    }

    fn unary(&mut self) -> Parsed<Expr> {
        let token = self.token().clone();
        let op = match &token.kind {
            Kind::Sign("-") => UnaryOp::Minus,
            Kind::Sign("+") => UnaryOp::Plus,
            Kind::Sign("!") => UnaryOp::Not,
            Kind::Sign(sign @ ("++" | "--")) => return self.prefix_update(sign),
            Kind::Sign("~") => UnaryOp::BitNot,
            Kind::Sign("#") => return self.has_private(),
            Kind::Word(word) if **word == *"void" => UnaryOp::Void,
            Kind::Word(word) if **word == *"typeof" => UnaryOp::Typeof,
            Kind::Word(word) if **word == *"delete" => UnaryOp::Delete,
            Kind::Word(word) if **word == *"await" => {
                self.next();
                let operand = self.deeper(Self::unary)?;
                let span = token.span.to(operand.span);
                return Ok(Expr { kind: ExprKind::Await(Box::new(operand)), span });
            }
            _ => return self.postfix(),
        };
        self.next();
        let operand = self.deeper(|it| it.binary(PREFIX_BINDING_POWER))?;
        let span = token.span.to(operand.span);
        if op == UnaryOp::Delete
            && !matches!(operand.kind, ExprKind::Member { .. } | ExprKind::Index { .. })
        {
            self.problems.add(Code::Syntax, span, "only a property can be deleted");
            return Err(ParseAborted);
        }
        Ok(Expr { kind: ExprKind::Unary { op, operand: Box::new(operand) }, span })
    }

    /// `#name in object`
    fn has_private(&mut self) -> Parsed<Expr> {
        let start = self.next().span;
        let name = self.any_word("a private name")?;
        if !self.take_word("in") {
            self.unexpected("`in`");
            return Err(ParseAborted);
        }
        let object = Box::new(self.deeper(|it| it.binary(IN_OPERAND_POWER))?);
        let span = start.to(object.span);
        Ok(Expr { kind: ExprKind::HasPrivate { name, object }, span })
    }

    fn prefix_update(&mut self, sign: &str) -> Parsed<Expr> {
        let start = self.next().span;
        let operand = self.deeper(Self::unary)?;
        let span = start.to(operand.span);
        self.update(operand, sign, true, span)
    }

    pub(super) fn update(
        &mut self,
        operand: Expr,
        sign: &str,
        prefix: bool,
        span: crate::span::Span,
    ) -> Parsed<Expr> {
        let add = if sign == "++" { 1 } else { -1 };
        let at = operand.span;
        let target = self.as_pattern(operand)?;
        if !matches!(target.kind, PatternKind::Name(_) | PatternKind::Member(_)) {
            self.problems.add(Code::Syntax, at, "only a variable or a property can be counted");
            return Err(ParseAborted);
        }
        Ok(Expr { kind: ExprKind::Update { target: Box::new(target), add, prefix }, span })
    }
}
