//! Primary expressions, and the constructs of `if`, `do`, `using` and lambdas.

use meantime_value::{Number, Text, Value};

use super::cursor::is_reserved;
use super::parser::{Lookahead, ParseAborted, Parser, Result};
use super::{Directive, Expr, ExprKind, InterpolationPart, LambdaExpr, Name, Param, Span, UnaryOp};

impl Parser<'_> {
    pub(super) fn primary(&mut self) -> Result {
        self.cursor.space();
        let start = self.cursor.at;
        match self.cursor.peek() {
            Some('0'..='9') => self.number(),
            Some('"' | '\'' | '`') => self.text(),
            Some('(') => self.lambda_or_group(),
            Some('[') => self.array(),
            Some('{') => self.object(),
            Some('|') => self.temporal(),
            Some('/') => self.regex(),
            Some('$') => Ok(self.dollar()),
            Some(c) if c.is_alphabetic() || c == '_' => self.word(start),
            _ => self.fail("an expression"),
        }
    }

    fn word(&mut self, start: usize) -> Result {
        let word = self.cursor.word();
        match word {
            "null" => self.literal_word(word, Value::Null),
            "true" => self.literal_word(word, Value::Bool(true)),
            "false" => self.literal_word(word, Value::Bool(false)),
            "if" => self.conditional(start, false),
            "unless" => self.conditional(start, true),
            "do" => self.block(start),
            "using" => self.using(start),
            "output" if !self.has_header => self.name(start),
            _ if is_reserved(word) => {
                let span = Span::new(start, start + word.len());
                let message = format!("`{word}` is a reserved word, not a value");
                Err(self.error_with_help(span, message, "quote it to use it as a key"))
            }
            _ => self.name(start),
        }
    }

    fn literal_word(&mut self, word: &str, value: Value) -> Result {
        let start = self.cursor.at;
        self.cursor.at += word.len();
        self.node(ExprKind::Literal(value), self.cursor.span(start))
    }

    /// A name, possibly with its module: `Crypto::MD5`; or an interpolator with its text.
    fn name(&mut self, start: usize) -> Result {
        let mut module = Vec::new();
        let mut word = self.cursor.word();
        let mut word_start = start;
        self.cursor.at += word.len();
        while self.cursor.starts_with("::") {
            module.push(Text::from(word));
            self.cursor.at += 2;
            word_start = self.cursor.at;
            word = self.cursor.word();
            if word.is_empty() {
                return self.fail("a name after `::`");
            }
            self.cursor.at += word.len();
        }
        let name = Name { text: word.into(), span: self.cursor.span(word_start) };
        let expr = self.node(ExprKind::Name { module, name }, self.cursor.span(start))?;
        if self.cursor.is_next("`") { self.interpolator(expr) } else { Ok(expr) }
    }

    /// ``name `text $(x)` ``: calls the function with the texts and the values between them.
    fn interpolator(&mut self, callee: Expr) -> Result {
        self.cursor.space();
        let start = self.cursor.at;
        let pieces = self.string_literal()?;
        let span = self.cursor.span(start);
        let mut texts = vec![Text::from("")];
        let mut values = Vec::new();
        for piece in pieces {
            match piece {
                InterpolationPart::Text(text) => {
                    if let Some(last) = texts.last_mut() {
                        *last = text;
                    }
                }
                InterpolationPart::Expr(expr) => {
                    values.push(super::Item { value: expr, condition: None });
                    texts.push(Text::from(""));
                }
            }
        }
        let texts = Value::array(texts.into_iter().map(Value::Text).collect());
        let texts = Expr::new(ExprKind::Literal(texts), span);
        let values = self.node(ExprKind::Array(values), span)?;
        let span = callee.span.to(span);
        self.node(ExprKind::Call { callee, args: vec![texts, values] }, span)
    }

    /// `$`, `$$` and `$$$` are names.
    pub(super) fn dollar(&mut self) -> Expr {
        let start = self.cursor.at;
        while self.cursor.peek() == Some('$') && self.cursor.at - start < 3 {
            self.cursor.at += 1;
        }
        let span = self.cursor.span(start);
        let name = Name { text: span.text(self.cursor.source).into(), span };
        Expr::new(ExprKind::Name { module: Vec::new(), name }, span)
    }

    fn number(&mut self) -> Result {
        let start = self.cursor.at;
        let digits = |parser: &mut Self| {
            while matches!(parser.cursor.byte(0), Some(b'0'..=b'9')) {
                parser.cursor.at += 1;
            }
        };
        digits(self);
        let is_digit = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_digit());
        if self.cursor.byte(0) == Some(b'.') && is_digit(self.cursor.byte(1)) {
            self.cursor.at += 1;
            digits(self);
        }
        if matches!(self.cursor.byte(0), Some(b'e' | b'E')) {
            let signed = matches!(self.cursor.byte(1), Some(b'+' | b'-'));
            if is_digit(self.cursor.byte(1 + usize::from(signed))) {
                self.cursor.at += 1 + usize::from(signed);
                digits(self);
            }
        }
        let span = self.cursor.span(start);
        match span.text(self.cursor.source).parse::<Number>() {
            Ok(number) => self.node(ExprKind::Literal(Value::Number(number)), span),
            Err(error) => Err(self.error(span, error.to_string())),
        }
    }

    fn conditional(&mut self, start: usize, negated: bool) -> Result {
        self.cursor.at += if negated { "unless".len() } else { "if".len() };
        let condition = self.condition()?;
        let condition = if negated {
            let span = condition.span;
            self.node(ExprKind::Unary { operator: UnaryOp::Not, operand: condition }, span)?
        } else {
            condition
        };
        let then = self.expression()?;
        if !self.cursor.keyword("else") {
            let at = self.cursor.at;
            let message = "`if` needs an `else`";
            let help = "add `else null`, or inside an object write `(key: value) if (condition)`";
            return Err(self.error_with_help(Span::new(at, at), message, help));
        }
        let otherwise = self.expression()?;
        let kind = ExprKind::If { condition, then, otherwise };
        self.node(kind, self.cursor.span(start))
    }

    /// `(condition)`, or as an extension `condition then`.
    fn condition(&mut self) -> Result {
        self.cursor.space();
        let start = self.cursor.at;
        if self.cursor.peek() == Some('(') && !self.is_wrong(Lookahead::ShortCondition) {
            self.cursor.at += 1;
            let condition = self.expression()?;
            self.expect(")", "after the condition")?;
            if !self.continues_condition() {
                self.skip_then(start);
                return Ok(condition);
            }
            self.cursor.at = start;
            self.failed_lookaheads.insert((start, Lookahead::ShortCondition));
        }
        let stops = std::mem::replace(&mut self.stops_at_then, true);
        let condition = self.expression();
        self.stops_at_then = stops;
        let condition = condition?;
        if !self.skip_then(start) {
            let message = "a condition is written in parentheses";
            let help = "write `if (condition) a else b`";
            return Err(self.error_with_help(condition.span, message, help));
        }
        Ok(condition)
    }

    fn is_wrong(&self, guess: Lookahead) -> bool {
        self.failed_lookaheads.contains(&(self.cursor.at, guess))
    }

    /// `if (a) and (b) then …`: the parenthesized part was only the first operand of the condition.
    fn continues_condition(&self) -> bool {
        matches!(self.cursor.next_word(), "and" | "or" | "is")
            || ["==", "!=", "<", ">", "~="].iter().any(|sign| self.cursor.is_next(sign))
    }

    /// Consumes `then` unless it is a function call.
    fn skip_then(&mut self, start: usize) -> bool {
        if self.cursor.next_word() != "then" {
            return false;
        }
        self.cursor.keyword("then");
        let span = self.cursor.span(start);
        self.warn_extension(span, "`if` is written without `then`", "`if (condition) a else b`");
        true
    }

    fn block(&mut self, start: usize) -> Result {
        self.cursor.at += "do".len();
        self.expect("{", "after `do`")?;
        let directives = self.directives();
        if !directives.is_empty() && !self.cursor.sign("---") {
            let at = self.cursor.at;
            let message = "`---` is missing between the declarations and the result";
            self.warn_extension(Span::new(at, at), message, "`do { var x = 1 --- x }`");
        }
        let body = self.pair_or_expression()?;
        self.expect("}", "at the end of `do`")?;
        self.node(ExprKind::Do { directives, body }, self.cursor.span(start))
    }

    fn using(&mut self, start: usize) -> Result {
        self.cursor.at += "using".len();
        self.expect("(", "after `using`")?;
        let mut directives = Vec::new();
        loop {
            let name = self.identifier("a variable")?;
            self.expect("=", "after the name")?;
            let value = self.expression()?;
            directives.push(Directive::Var { name, value });
            if !self.cursor.sign(",") {
                break;
            }
        }
        self.expect(")", "after the variables")?;
        let body = self.expression()?;
        self.node(ExprKind::Do { directives, body }, self.cursor.span(start))
    }

    /// A name, which is not a reserved word.
    pub(super) fn identifier(&mut self, what: &str) -> Result<Name> {
        self.cursor.space();
        let start = self.cursor.at;
        let word = self.cursor.word();
        if word.is_empty() {
            return self.fail(&format!("the name of {what}"));
        }
        if is_reserved(word) {
            let span = Span::new(start, start + word.len());
            let message = format!("`{word}` is a reserved word and cannot name {what}");
            return Err(self.error(span, message));
        }
        self.cursor.at += word.len();
        Ok(Name { text: word.into(), span: self.cursor.span(start) })
    }

    fn lambda_or_group(&mut self) -> Result {
        let start = self.cursor.at;
        if let Some(params) = self.lookahead(Lookahead::Lambda, Self::lambda_head) {
            return self.lambda_body(start, params);
        }
        self.cursor.at += 1;
        let stops = std::mem::take(&mut self.stops_at_then);
        let inner = self.pair_or_expression();
        self.stops_at_then = stops;
        let inner = inner?;
        self.expect(")", "to close the parenthesis")?;
        self.node(ExprKind::Group(inner), self.cursor.span(start))
    }

    fn lambda_body(&mut self, start: usize, params: Vec<Param>) -> Result {
        let body = self.pair_or_expression()?;
        let lambda = LambdaExpr { params, body };
        self.node(ExprKind::Lambda(lambda), self.cursor.span(start))
    }

    /// `(a, b: Type = default): Type ->`.
    fn lambda_head(&mut self) -> Result<Vec<Param>> {
        let params = self.params()?;
        if self.cursor.sign(":") {
            self.type_expression()?;
        }
        if self.cursor.sign("->") { Ok(params) } else { Err(ParseAborted) }
    }

    pub(super) fn params(&mut self) -> Result<Vec<Param>> {
        self.expect("(", "before the parameters")?;
        let mut params = Vec::new();
        while !self.cursor.is_next(")") {
            self.annotations()?;
            let name = self.identifier("a parameter")?;
            let kind = if self.cursor.sign(":") { Some(self.type_expression()?) } else { None };
            let has_default = !self.cursor.is_next("==") && self.cursor.sign("=");
            let default = if has_default { Some(self.expression()?) } else { None };
            params.push(Param { name, kind, default });
            if !self.cursor.sign(",") {
                break;
            }
        }
        self.expect(")", "after the parameters")?;
        Ok(params)
    }
}
