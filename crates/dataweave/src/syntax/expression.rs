//! Operators by precedence, lowest first.
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

use meantime_value::Text;

use super::cursor::is_reserved;
use super::parser::{Parser, Result};
use super::{BinaryOp, Expr, ExprKind, Name, Span, UnaryOp};

/// The operators of one level, longest first.
type OperatorLevel = &'static [(&'static str, BinaryOp)];

const EQUALITY: OperatorLevel =
    &[("==", BinaryOp::Equal), ("!=", BinaryOp::NotEqual), ("~=", BinaryOp::Similar)];
const ORDER: OperatorLevel = &[
    ("<=>", BinaryOp::Compare),
    ("<=", BinaryOp::LessOrEqual),
    (">=", BinaryOp::GreaterOrEqual),
    ("<", BinaryOp::Less),
    (">", BinaryOp::Greater),
];
const SUM: OperatorLevel = &[
    ("<<", BinaryOp::ShiftLeft),
    (">>", BinaryOp::ShiftRight),
    ("+", BinaryOp::Add),
    ("-", BinaryOp::Subtract),
];
const PRODUCT: OperatorLevel = &[("*", BinaryOp::Multiply), ("/", BinaryOp::Divide)];

/// Operators of the lowest precedence.
enum LowestPrecedenceOp {
    Call(Vec<Text>, Name),
    Default,
    Match,
    Update,
}

impl Parser<'_> {
    /// An expression.
    pub(super) fn expression(&mut self) -> Result {
        self.deeper(Self::infix_chain)
    }

    fn infix_chain(&mut self) -> Result {
        let mut left = self.negation()?;
        while let Some(operator) = self.infix_operator() {
            let start = left.span.start as usize;
            let kind = match operator {
                LowestPrecedenceOp::Call(module, operator) => {
                    let right = self.deeper(Self::negation)?;
                    ExprKind::Infix { left, module, operator, right }
                }
                LowestPrecedenceOp::Default => self.default(left)?,
                LowestPrecedenceOp::Match => self.match_cases(left)?,
                LowestPrecedenceOp::Update => self.update_cases(left)?,
            };
            left = self.node(kind, Span::new(start, self.cursor.at))?;
        }
        Ok(left)
    }

    /// Consumes the next operator of the lowest level, if there is one.
    fn infix_operator(&mut self) -> Option<LowestPrecedenceOp> {
        let back = self.cursor.at;
        self.cursor.space();
        let operator = self.lowest_precedence_operator();
        if operator.is_none() {
            self.cursor.at = back;
        }
        operator
    }

    fn lowest_precedence_operator(&mut self) -> Option<LowestPrecedenceOp> {
        if self.cursor.starts_with("---") {
            return None;
        }
        if self.cursor.starts_with("++") || self.cursor.starts_with("--") {
            return Some(self.infix_name(2));
        }
        match self.cursor.word() {
            "default" => Some(LowestPrecedenceOp::Default),
            "match" if self.opens_block("match") => Some(LowestPrecedenceOp::Match),
            "update" if self.opens_block("update") => Some(LowestPrecedenceOp::Update),
            "then" if self.stops_at_then => None,
            "" | "not" => None,
            word if is_reserved(word) => None,
            word => Some(self.infix_name(word.len())),
        }
    }

    fn infix_name(&mut self, length: usize) -> LowestPrecedenceOp {
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
        LowestPrecedenceOp::Call(module, Name { text: span.text(self.cursor.source).into(), span })
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
            self.warn_extension(span, "`default` is written without a colon", "`x default y`");
        }
        let fallback = self.deeper(Self::negation)?;
        Ok(ExprKind::Default { value, fallback })
    }

    fn negation(&mut self) -> Result {
        self.cursor.space();
        let start = self.cursor.at;
        if self.cursor.keyword("not") {
            let operand = self.deeper(Self::negation)?;
            let kind = ExprKind::Unary { operator: UnaryOp::Not, operand };
            return self.node(kind, self.cursor.span(start));
        }
        self.disjunction()
    }

    fn disjunction(&mut self) -> Result {
        let mut left = self.conjunction()?;
        while self.cursor.keyword("or") {
            let right = self.conjunction()?;
            left = self.binary(BinaryOp::Or, left, right)?;
        }
        Ok(left)
    }

    fn conjunction(&mut self) -> Result {
        let mut left = self.equality()?;
        while self.cursor.keyword("and") {
            let right = self.equality()?;
            left = self.binary(BinaryOp::And, left, right)?;
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
                if operator == BinaryOp::Compare {
                    let span = Span::new(self.cursor.at - 3, self.cursor.at);
                    self.warn_extension(
                        span,
                        "`<=>` compares two values",
                        "`orderBy` with one key",
                    );
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

    fn level(&mut self, operators: OperatorLevel, operand: fn(&mut Self) -> Result) -> Result {
        let mut left = operand(self)?;
        while let Some(operator) = self.operator(operators) {
            let right = operand(self)?;
            left = self.binary(operator, left, right)?;
        }
        Ok(left)
    }

    fn binary(&mut self, operator: BinaryOp, left: Expr, right: Expr) -> Result {
        let span = left.span.to(right.span);
        self.node(ExprKind::Binary { operator, left, right }, span)
    }

    fn operator(&mut self, operators: OperatorLevel) -> Option<BinaryOp> {
        let back = self.cursor.at;
        self.cursor.space();
        // These signs belong to other levels or are not operators.
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
                    ExprKind::Unary { operator: UnaryOp::Minus, operand },
                    self.cursor.span(start),
                )
            }
            Some('!') => {
                self.cursor.at += 1;
                if self.cursor.peek() == Some('!') {
                    let message = "two `!` need parentheses between them";
                    self.warn_extension(self.cursor.span(start), message, "`!(!x)`");
                }
                let operand = self.deeper(Self::prefix)?;
                self.node(
                    ExprKind::Unary { operator: UnaryOp::Not, operand },
                    self.cursor.span(start),
                )
            }
            _ if self.cursor.word() == "not" => self.negation(),
            _ => self.postfix(),
        }
    }
}
