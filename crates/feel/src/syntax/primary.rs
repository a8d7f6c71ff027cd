//! Literals, names, lists, contexts, intervals, and their suffixes.

use meantime_value::{Number, Value};

use super::ast::{Arguments, Expr};
use super::lex::TokenKind;
use super::parser::{Parsed, Parser};
use crate::eval::temporal;

impl Parser {
    /// A value and its paths, filters and calls.
    pub(super) fn postfix(&mut self) -> Parsed {
        if let Some(statement) = self.statement() {
            return statement;
        }
        let offset = self.offset();
        let mut value = self.primary()?;
        loop {
            if self.take_symbol(".") {
                let name = self.name()?;
                value = Expr::Path { value: Box::new(value), name };
            } else if self.is_symbol("[") {
                value = self.nested(|parser| parser.filter(value))?;
            } else if self.is_symbol("(") && is_callable(&value) {
                if let Expr::Name(name) = &value {
                    self.calls.push((name.clone(), offset));
                }
                value = self.nested(|parser| parser.call(value))?;
            } else {
                return Ok(value);
            }
        }
    }

    fn filter(&mut self, value: Expr) -> Parsed {
        self.need_symbol("[")?;
        let condition = Box::new(self.expression()?);
        self.need_symbol("]")?;
        Ok(Expr::Filter { value: Box::new(value), condition })
    }

    fn call(&mut self, function: Expr) -> Parsed {
        self.need_symbol("(")?;
        let arguments = self.arguments()?;
        self.need_symbol(")")?;
        Ok(Expr::Call { function: Box::new(function), arguments })
    }

    fn arguments(&mut self) -> Parsed<Arguments> {
        if self.is_named_ahead() {
            let mut named = Vec::new();
            loop {
                let name = self.parameter_name()?;
                self.need_symbol(":")?;
                named.push((name, self.expression()?));
                if !self.take_symbol(",") {
                    return Ok(Arguments::Named(named));
                }
            }
        }
        let mut positional = Vec::new();
        while !self.is_symbol(")") {
            positional.push(self.expression()?);
            if !self.take_symbol(",") {
                break;
            }
        }
        Ok(Arguments::Positional(positional))
    }

    /// Whether `name:` follows; names of parameters may contain blanks.
    fn is_named_ahead(&self) -> bool {
        let mut ahead = 0;
        while matches!(self.peek_at(ahead), TokenKind::Word(_) | TokenKind::Quoted(_)) {
            ahead += 1;
        }
        ahead > 0 && *self.peek_at(ahead) == TokenKind::Symbol(":")
    }

    /// The words up to the colon.
    fn parameter_name(&mut self) -> Parsed<String> {
        let mut words = Vec::new();
        while let TokenKind::Word(word) | TokenKind::Quoted(word) = self.peek().clone() {
            words.push(word);
            self.skip(1);
        }
        if words.is_empty() { Err(self.expected("a name")) } else { Ok(words.join(" ")) }
    }

    fn primary(&mut self) -> Parsed {
        if let Some((name, words)) = self.composed() {
            self.skip(words);
            return Ok(Expr::Name(name.to_owned()));
        }
        match self.peek().clone() {
            TokenKind::Number(text) => {
                let number: Number =
                    text.parse().map_err(|_| self.problem("this is not a number"))?;
                self.skip(1);
                Ok(Expr::Literal(Value::Number(number)))
            }
            TokenKind::Text(text) => {
                self.skip(1);
                Ok(Expr::Literal(Value::from(text)))
            }
            TokenKind::At(text) => {
                let value = match temporal::parse(&text) {
                    Some(value) => Expr::Literal(value),
                    // The offset of a zone depends on the day of the evaluation.
                    None if temporal::is_time_in_zone(&text) => Expr::Call {
                        function: Box::new(Expr::Name("time".to_owned())),
                        arguments: Arguments::Positional(vec![Expr::Literal(Value::from(text))]),
                    },
                    None => {
                        let message = "the text after @ is no date, time or duration";
                        return Err(self.problem(message));
                    }
                };
                self.skip(1);
                Ok(value)
            }
            TokenKind::Word(word) if matches!(word.as_str(), "true" | "false" | "null") => {
                self.skip(1);
                Ok(Expr::Literal(match word.as_str() {
                    "true" => Value::Bool(true),
                    "false" => Value::Bool(false),
                    _ => Value::Null,
                }))
            }
            TokenKind::Word(_) | TokenKind::Quoted(_) => self.name().map(Expr::Name),
            TokenKind::Symbol("(" | "[" | "]") if self.is_interval_ahead() => {
                self.nested(Self::interval)
            }
            TokenKind::Symbol("(") => self.nested(|parser| {
                parser.skip(1);
                let inner = parser.expression()?;
                parser.need_symbol(")")?;
                Ok(inner)
            }),
            TokenKind::Symbol("[") => self.nested(Self::list),
            TokenKind::Symbol("{") => self.nested(Self::context),
            _ => Err(self.expected("a value")),
        }
    }

    fn list(&mut self) -> Parsed {
        self.need_symbol("[")?;
        let mut items = Vec::new();
        while !self.is_symbol("]") {
            items.push(self.expression()?);
            if !self.take_symbol(",") {
                break;
            }
        }
        self.need_symbol("]")?;
        Ok(Expr::List(items))
    }

    fn context(&mut self) -> Parsed {
        self.need_symbol("{")?;
        let mut entries = Vec::new();
        while !self.is_symbol("}") {
            let key = match self.peek().clone() {
                TokenKind::Text(text) => {
                    self.skip(1);
                    text
                }
                _ => self.parameter_name()?,
            };
            self.need_symbol(":")?;
            self.bound.insert(key.clone());
            entries.push((key, self.expression()?));
            if !self.take_symbol(",") {
                break;
            }
        }
        self.need_symbol("}")?;
        Ok(Expr::Context(entries))
    }

    /// Whether the brackets that open here contain `..` at their own level.
    pub(super) fn is_interval_ahead(&self) -> bool {
        let (mut open, mut ahead) = (0u32, 1);
        loop {
            match self.peek_at(ahead) {
                TokenKind::Symbol("(" | "{") => open += 1,
                TokenKind::Symbol("[") if open > 0 || !self.ends_interval(ahead) => open += 1,
                TokenKind::Symbol(")" | "}" | "]") if open > 0 => open -= 1,
                TokenKind::Symbol("..") if open == 0 => return true,
                TokenKind::Symbol(")" | "]" | "}" | "," | ":" | "[") if open == 0 => return false,
                TokenKind::Word(word) if open == 0 && matches!(word.as_str(), "in" | "return") => {
                    return false;
                }
                TokenKind::End => return false,
                _ => {}
            }
            ahead += 1;
        }
    }

    /// A `[` right after a value ends an interval such as `]1..3[` only if nothing follows that
    /// could be a filter; a filter is the usual meaning.
    fn ends_interval(&self, ahead: usize) -> bool {
        matches!(self.peek_at(ahead + 1), TokenKind::End | TokenKind::Symbol(")" | "," | "]"))
    }

    fn interval(&mut self) -> Parsed {
        let start_included = self.is_symbol("[");
        self.skip(1);
        let start = Box::new(self.sum()?);
        self.need_symbol("..")?;
        let end = Box::new(self.sum_before_bracket()?);
        let end_included = self.is_symbol("]");
        if !end_included && !self.is_symbol(")") && !self.is_symbol("[") {
            return Err(self.expected("the end of an interval"));
        }
        self.skip(1);
        Ok(Expr::Interval { start, end, start_included, end_included })
    }

    /// The end of an interval: a `[` after it closes the interval.
    fn sum_before_bracket(&mut self) -> Parsed {
        if *self.peek_at(1) == TokenKind::Symbol("[") {
            return self.primary();
        }
        self.sum()
    }
}

/// Numbers and texts are never called; a parenthesis after them belongs to another construct.
fn is_callable(value: &Expr) -> bool {
    matches!(
        value,
        Expr::Name(_)
            | Expr::Path { .. }
            | Expr::Call { .. }
            | Expr::Filter { .. }
            | Expr::Function { .. }
            | Expr::If { .. }
    )
}
