//! Operators by precedence, lowest first.

use std::sync::Arc;

use super::ast::{Arithmetic, Comparison, Expr, Iteration, UnaryTest};
use super::lex::TokenKind;
use super::parser::{Parsed, Parser};

impl Parser {
    pub(super) fn expression(&mut self) -> Parsed {
        self.nested(Self::either)
    }

    fn either(&mut self) -> Parsed {
        let mut left = self.both()?;
        while self.take_word("or") {
            left = Expr::Or(Box::new(left), Box::new(self.both()?));
        }
        Ok(left)
    }

    fn both(&mut self) -> Parsed {
        let mut left = self.comparison()?;
        while self.take_word("and") {
            left = Expr::And(Box::new(left), Box::new(self.comparison()?));
        }
        Ok(left)
    }

    fn comparison(&mut self) -> Parsed {
        let mut left = self.sum()?;
        loop {
            if let Some(comparison) = self.take_comparison() {
                let right = self.sum()?;
                left = Expr::Compare(comparison, Box::new(left), Box::new(right));
            } else if self.take_word("between") {
                let low = Box::new(self.sum()?);
                self.need_word("and")?;
                let high = Box::new(self.sum()?);
                left = Expr::Between { value: Box::new(left), low, high };
            } else if self.take_word("in") {
                let tests = self.tests()?;
                left = Expr::In { value: Box::new(left), tests };
            } else if self.take_word("instance") {
                self.need_word("of")?;
                let kind = self.kind()?;
                left = Expr::InstanceOf { value: Box::new(left), kind };
            } else {
                return Ok(left);
            }
        }
    }

    fn take_comparison(&mut self) -> Option<Comparison> {
        let TokenKind::Symbol(symbol) = self.peek() else { return None };
        let comparison = match *symbol {
            "=" => Comparison::Equal,
            "!=" => Comparison::NotEqual,
            "<" => Comparison::Less,
            "<=" => Comparison::LessOrEqual,
            ">" => Comparison::Greater,
            ">=" => Comparison::GreaterOrEqual,
            _ => return None,
        };
        self.skip(1);
        Some(comparison)
    }

    /// One test, or several in parentheses, of which one must hold.
    fn tests(&mut self) -> Parsed<Vec<UnaryTest>> {
        // `(1..3)` is an interval, `(1, 2)` are two tests.
        let is_interval = self.is_symbol("(") && self.is_interval_ahead();
        if is_interval || !self.take_symbol("(") {
            return Ok(vec![self.test()?]);
        }
        let mut tests = vec![self.test()?];
        while self.take_symbol(",") {
            tests.push(self.test()?);
        }
        self.need_symbol(")")?;
        Ok(tests)
    }

    fn test(&mut self) -> Parsed<UnaryTest> {
        match self.take_comparison() {
            Some(comparison) => Ok(UnaryTest::Compare(comparison, self.sum()?)),
            None => Ok(UnaryTest::Matches(self.sum()?)),
        }
    }

    /// A type by its name; the content of `list<…>` is parsed and ignored.
    fn kind(&mut self) -> Parsed<String> {
        let name = match self.peek() {
            // `function` is a keyword elsewhere.
            TokenKind::Word(word) if word == "function" => {
                self.skip(1);
                "function".to_owned()
            }
            _ => self.name()?,
        };
        if self.take_symbol("<") {
            let mut open = 1;
            while open > 0 {
                if self.take_symbol("<") {
                    open += 1;
                } else if self.take_symbol(">") {
                    open -= 1;
                } else if *self.peek() == TokenKind::End {
                    return Err(self.expected("`>`"));
                } else {
                    self.skip(1);
                }
            }
        }
        Ok(name)
    }

    pub(super) fn sum(&mut self) -> Parsed {
        let mut left = self.product()?;
        loop {
            let operator = match self.peek() {
                TokenKind::Symbol("+") => Arithmetic::Add,
                TokenKind::Symbol("-") => Arithmetic::Subtract,
                _ => return Ok(left),
            };
            self.skip(1);
            left = Expr::Arithmetic(operator, Box::new(left), Box::new(self.product()?));
        }
    }

    fn product(&mut self) -> Parsed {
        let mut left = self.power()?;
        loop {
            let operator = match self.peek() {
                TokenKind::Symbol("*") => Arithmetic::Multiply,
                TokenKind::Symbol("/") => Arithmetic::Divide,
                _ => return Ok(left),
            };
            self.skip(1);
            left = Expr::Arithmetic(operator, Box::new(left), Box::new(self.power()?));
        }
    }

    fn power(&mut self) -> Parsed {
        let mut left = self.negation()?;
        while self.take_symbol("**") {
            left = Expr::Arithmetic(Arithmetic::Power, Box::new(left), Box::new(self.negation()?));
        }
        Ok(left)
    }

    fn negation(&mut self) -> Parsed {
        if self.take_symbol("-") {
            return self.nested(|parser| Ok(Expr::Negate(Box::new(parser.negation()?))));
        }
        self.postfix()
    }

    /// `if`, `for`, `some`, `every`, `function`: they extend as far as possible.
    pub(super) fn statement(&mut self) -> Option<Parsed> {
        let TokenKind::Word(word) = self.peek() else { return None };
        // A parameter or key with that name is not a keyword.
        Some(match word.as_str() {
            "if" => self.nested(Self::condition),
            "for" => self.nested(Self::repetition),
            "some" => self.nested(|parser| parser.quantified(true)),
            "every" => self.nested(|parser| parser.quantified(false)),
            "function" if *self.peek_at(1) == TokenKind::Symbol("(") => self.nested(Self::function),
            _ => return None,
        })
    }

    fn condition(&mut self) -> Parsed {
        self.skip(1);
        let condition = Box::new(self.expression()?);
        self.need_word("then")?;
        let yes = Box::new(self.expression()?);
        self.need_word("else")?;
        let no = Box::new(self.expression()?);
        Ok(Expr::If { condition, yes, no })
    }

    fn repetition(&mut self) -> Parsed {
        self.skip(1);
        let iterations = self.iterations()?;
        self.need_word("return")?;
        Ok(Expr::For { iterations, body: Box::new(self.expression()?) })
    }

    fn quantified(&mut self, some: bool) -> Parsed {
        self.skip(1);
        let iterations = self.iterations()?;
        self.need_word("satisfies")?;
        let condition = Box::new(self.expression()?);
        Ok(if some {
            Expr::Some { iterations, condition }
        } else {
            Expr::Every { iterations, condition }
        })
    }

    fn iterations(&mut self) -> Parsed<Vec<Iteration>> {
        let mut found = Vec::new();
        loop {
            let name = self.name()?;
            self.need_word("in")?;
            let from = self.sum()?;
            let to = if self.take_symbol("..") { Some(self.sum()?) } else { None };
            self.bound.insert(name.clone());
            found.push(Iteration { name, from, to });
            // Camunda's dialect also allows another iteration without a comma before its name.
            if !self.take_symbol(",") {
                return Ok(found);
            }
        }
    }

    fn function(&mut self) -> Parsed {
        self.skip(1);
        self.need_symbol("(")?;
        let mut parameters = Vec::new();
        while !self.is_symbol(")") {
            let name = self.name()?;
            self.bound.insert(name.clone());
            parameters.push(name);
            if self.take_symbol(":") {
                self.kind()?;
            }
            if !self.take_symbol(",") {
                break;
            }
        }
        self.need_symbol(")")?;
        let body = Arc::new(self.expression()?);
        Ok(Expr::Function { parameters, body })
    }
}
