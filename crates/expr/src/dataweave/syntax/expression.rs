//! Operators by precedence, loosest first.
//!
//! ```text
//! infix functions, default, match, update   left to right
//! not
//! or
//! and
//! == != ~=
//! < <= > >= is
//! + - << >>
//! * /
//! as
//! - !
//! ```

use super::cursor::is_reserved;
use super::parser::{Parser, Result};
use super::{Binary, Expr, ExprKind, Name, Span, Unary};
use crate::value::Text;

/// Operators of one level, longest first.
type Level = &'static [(&'static str, Binary)];

const EQUALITY: Level = &[("==", Binary::Equal), ("!=", Binary::NotEqual), ("~=", Binary::Similar)];
const ORDER: Level = &[
    ("<=>", Binary::Compare),
    ("<=", Binary::LessOrEqual),
    (">=", Binary::GreaterOrEqual),
    ("<", Binary::Less),
    (">", Binary::Greater),
];
const SUM: Level = &[
    ("<<", Binary::ShiftLeft),
    (">>", Binary::ShiftRight),
    ("+", Binary::Add),
    ("-", Binary::Subtract),
];
const PRODUCT: Level = &[("*", Binary::Multiply), ("/", Binary::Divide)];

/// What can follow a value on the loosest level.
enum Loose {
    Call(Vec<Text>, Name),
    Default,
    Match,
    Update,
}

impl Parser<'_> {
    /// Any expression.
    pub(super) fn expression(&mut self) -> Result {
        self.deeper(Self::infix_chain)
    }

    fn infix_chain(&mut self) -> Result {
        let mut left = self.negation()?;
        while let Some(operator) = self.infix_operator() {
            let start = left.span.start as usize;
            let kind = match operator {
                Loose::Call(module, operator) => {
                    let right = self.deeper(Self::negation)?;
                    ExprKind::Infix { left, module, operator, right }
                }
                Loose::Default => self.default(left)?,
                Loose::Match => self.match_cases(left)?,
                Loose::Update => self.update_cases(left)?,
            };
            left = self.node(kind, Span::new(start, self.cursor.at))?;
        }
        Ok(left)
    }

    /// Takes the next operator of the loosest level, if there is one.
    fn infix_operator(&mut self) -> Option<Loose> {
        let back = self.cursor.at;
        self.cursor.space();
        let operator = self.loose();
        if operator.is_none() {
            self.cursor.at = back;
        }
        operator
    }

    fn loose(&mut self) -> Option<Loose> {
        if self.cursor.starts_with("---") {
            return None;
        }
        if self.cursor.starts_with("++") || self.cursor.starts_with("--") {
            return Some(self.infix_name(2));
        }
        match self.cursor.word() {
            "default" => Some(Loose::Default),
            "match" if self.opens_block("match") => Some(Loose::Match),
            "update" if self.opens_block("update") => Some(Loose::Update),
            "then" if self.stops_at_then => None,
            "" | "not" => None,
            word if is_reserved(word) => None,
            word => Some(self.infix_name(word.len())),
        }
    }

    fn infix_name(&mut self, length: usize) -> Loose {
        let mut module = Vec::new();
        let mut start = self.cursor.at;
        self.cursor.at += length;
        while self.cursor.starts_with("::") {
            module.push(self.cursor.span(start).text(self.cursor.source).into());
            self.cursor.at += 2;
            start = self.cursor.at;
            self.cursor.at += self.cursor.word().len();
        }
        let span = self.cursor.span(start);
        Loose::Call(module, Name { text: span.text(self.cursor.source).into(), span })
    }

    fn opens_block(&self, word: &str) -> bool {
        let mut ahead = self.cursor.clone();
        ahead.at += word.len();
        ahead.sign("{")
    }

    fn default(&mut self, value: Expr) -> Result<ExprKind> {
        let start = self.cursor.at;
        self.cursor.keyword("default");
        if self.cursor.sign(":") {
            let span = self.cursor.span(start);
            self.extra(span, "`default` is written without a colon", "`x default y`");
        }
        let fallback = self.deeper(Self::negation)?;
        Ok(ExprKind::Default { value, fallback })
    }

    fn negation(&mut self) -> Result {
        self.cursor.space();
        let start = self.cursor.at;
        if self.cursor.keyword("not") {
            let operand = self.deeper(Self::negation)?;
            let kind = ExprKind::Unary { operator: Unary::Not, operand };
            return self.node(kind, self.cursor.span(start));
        }
        self.disjunction()
    }

    fn disjunction(&mut self) -> Result {
        let mut left = self.conjunction()?;
        while self.cursor.keyword("or") {
            let right = self.conjunction()?;
            left = self.binary(Binary::Or, left, right)?;
        }
        Ok(left)
    }

    fn conjunction(&mut self) -> Result {
        let mut left = self.equality()?;
        while self.cursor.keyword("and") {
            let right = self.equality()?;
            left = self.binary(Binary::And, left, right)?;
        }
        Ok(left)
    }

    fn equality(&mut self) -> Result {
        self.level(EQUALITY, Self::order)
    }

    fn order(&mut self) -> Result {
        let mut left = self.sum()?;
        loop {
            if self.cursor.keyword("is") {
                let target = self.type_expression()?;
                let span = left.span.to(target.span);
                left = self.node(ExprKind::Is { value: left, target }, span)?;
            } else if let Some(operator) = self.operator(ORDER) {
                if operator == Binary::Compare {
                    let span = Span::new(self.cursor.at - 3, self.cursor.at);
                    self.extra(span, "`<=>` compares two values", "`orderBy` with one key");
                }
                let right = self.sum()?;
                left = self.binary(operator, left, right)?;
            } else {
                return Ok(left);
            }
        }
    }

    fn sum(&mut self) -> Result {
        self.level(SUM, Self::product)
    }

    fn product(&mut self) -> Result {
        self.level(PRODUCT, Self::conversion)
    }

    fn level(&mut self, operators: Level, operand: fn(&mut Self) -> Result) -> Result {
        let mut left = operand(self)?;
        while let Some(operator) = self.operator(operators) {
            let right = operand(self)?;
            left = self.binary(operator, left, right)?;
        }
        Ok(left)
    }

    fn binary(&mut self, operator: Binary, left: Expr, right: Expr) -> Result {
        let span = left.span.to(right.span);
        self.node(ExprKind::Binary { operator, left, right }, span)
    }

    fn operator(&mut self, operators: Level) -> Option<Binary> {
        let back = self.cursor.at;
        self.cursor.space();
        // These are signs of other levels or none at all.
        let others = ["++", "--", "->", "=>"];
        if !others.iter().any(|sign| self.cursor.starts_with(sign)) {
            for (sign, operator) in operators {
                if self.cursor.starts_with(sign) {
                    self.cursor.at += sign.len();
                    return Some(*operator);
                }
            }
        }
        self.cursor.at = back;
        None
    }

    fn conversion(&mut self) -> Result {
        let mut value = self.prefix()?;
        while self.cursor.keyword("as") {
            let target = self.type_without_schema()?;
            let schema = self.schema()?;
            let span = Span::new(value.span.start as usize, self.cursor.at);
            value = self.node(ExprKind::As { value, target, schema }, span)?;
        }
        Ok(value)
    }

    fn prefix(&mut self) -> Result {
        self.cursor.space();
        let start = self.cursor.at;
        match self.cursor.peek() {
            Some('-') if !self.cursor.starts_with("---") => {
                self.cursor.at += 1;
                if self.cursor.peek().is_some_and(char::is_whitespace) {
                    let span = self.cursor.span(start);
                    let message = "no space is allowed between `-` and what it negates";
                    return Err(self.error_with_help(span, message, "write `-2`"));
                }
                let operand = self.deeper(Self::prefix)?;
                self.node(
                    ExprKind::Unary { operator: Unary::Minus, operand },
                    self.cursor.span(start),
                )
            }
            Some('!') => {
                self.cursor.at += 1;
                if self.cursor.peek() == Some('!') {
                    let message = "two `!` need parentheses between them";
                    self.extra(self.cursor.span(start), message, "`!(!x)`");
                }
                let operand = self.deeper(Self::prefix)?;
                self.node(
                    ExprKind::Unary { operator: Unary::Not, operand },
                    self.cursor.span(start),
                )
            }
            _ if self.cursor.word() == "not" => self.negation(),
            _ => self.postfix(),
        }
    }
}
