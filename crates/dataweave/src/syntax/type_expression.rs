//! Type expressions.

use meantime_value::{Text, Value};

use super::parser::{Lookahead, Parser, Result};
use super::{Expr, ExprKind, FieldExpr, Member, Name, Span, TypeExpr, TypeExprKind, UnaryOp};

impl Parser<'_> {
    /// A type, with metadata such as `{format: "…"}`.
    pub(super) fn type_expression(&mut self) -> Result<TypeExpr> {
        self.union_type(true)
    }

    /// A type without its schema, which is left to the caller: in `as` it may contain expressions.
    pub(super) fn type_without_schema(&mut self) -> Result<TypeExpr> {
        self.union_type(false)
    }

    /// `{name: expression, …}` after a type.
    pub(super) fn schema(&mut self) -> Result<Vec<Member>> {
        if !self.is_schema_next() {
            return Ok(Vec::new());
        }
        self.expect("{", "before the schema")?;
        let members = self.members('}')?;
        self.expect("}", "or `,` in the schema")?;
        Ok(members)
    }

    /// Whether `{` and a key follow.
    fn is_schema_next(&self) -> bool {
        let mut ahead = self.cursor.clone();
        if !ahead.sign("{") {
            return false;
        }
        ahead.space();
        if ahead.starts_with("}") || ahead.starts_with("\"") || ahead.starts_with("'") {
            return true;
        }
        let word = ahead.word();
        ahead.at += word.len();
        !word.is_empty() && ahead.sign(":")
    }

    fn union_type(&mut self, with_metadata: bool) -> Result<TypeExpr> {
        self.deeper(|parser| {
            parser.separated("|", TypeExprKind::Union, |parser| {
                parser.separated("&", TypeExprKind::Intersection, |parser| {
                    parser.single_type(with_metadata)
                })
            })
        })
    }

    fn separated(
        &mut self,
        sign: &str,
        join: fn(Vec<TypeExpr>) -> TypeExprKind,
        read: impl Fn(&mut Self) -> Result<TypeExpr>,
    ) -> Result<TypeExpr> {
        let first = read(self)?;
        let span = first.span;
        let mut all = vec![first];
        while !self.cursor.is_next("|}") && self.cursor.sign(sign) {
            all.push(read(self)?);
        }
        match (all.len(), all.pop()) {
            (1, Some(only)) => Ok(only),
            (_, last) => {
                all.extend(last);
                let span = all.last().map_or(span, |last| span.to(last.span));
                Ok(TypeExpr { kind: join(all), span })
            }
        }
    }

    fn single_type(&mut self, with_metadata: bool) -> Result<TypeExpr> {
        self.cursor.space();
        let start = self.cursor.at;
        let mut kind = match self.cursor.peek() {
            Some('(') => self.function_or_group()?,
            Some('{') => self.object_type()?,
            Some('"' | '\'' | '`' | '0'..='9' | '-') => self.literal_type()?,
            _ => self.named_type()?,
        };
        while self.cursor.byte(0) == Some(b'.') {
            self.cursor.at += 1;
            let inner = TypeExpr { kind, span: self.cursor.span(start) };
            let (namespace, name) = self.type_field_name()?;
            kind = TypeExprKind::Select(Box::new(inner), namespace, name);
        }
        if with_metadata && self.is_schema_next() {
            let inner = TypeExpr { kind, span: self.cursor.span(start) };
            let metadata = self.constant_schema()?;
            kind = TypeExprKind::Noted(Box::new(inner), metadata);
        }
        Ok(TypeExpr { kind, span: self.cursor.span(start) })
    }

    fn type_field_name(&mut self) -> Result<(Option<Name>, Text)> {
        let name = self.plain_word("a field")?;
        if self.cursor.peek() == Some('#') {
            self.cursor.at += 1;
            let local = self.plain_word("a field")?;
            return Ok((Some(name), local.text));
        }
        Ok((None, name.text))
    }

    fn plain_word(&mut self, what: &str) -> Result<Name> {
        self.cursor.space();
        let start = self.cursor.at;
        let word = self.cursor.word();
        if word.is_empty() {
            return self.fail(&format!("the name of {what}"));
        }
        self.cursor.at += word.len();
        Ok(Name { text: word.into(), span: self.cursor.span(start) })
    }

    fn literal_type(&mut self) -> Result<TypeExprKind> {
        let literal = self.sum_of_literals()?;
        match *literal.kind {
            ExprKind::Literal(value) => Ok(TypeExprKind::Literal(value)),
            _ => Err(self.error(literal.span, "a type can only be a constant")),
        }
    }

    /// A literal, possibly negative.
    pub(super) fn sum_of_literals(&mut self) -> Result {
        self.cursor.space();
        let start = self.cursor.at;
        if self.cursor.peek() != Some('-') {
            return self.postfix();
        }
        self.cursor.at += 1;
        let operand = self.primary()?;
        let span = self.cursor.span(start);
        match *operand.kind {
            ExprKind::Literal(Value::Number(number)) => {
                Ok(Expr::new(ExprKind::Literal(Value::Number(number.neg())), span))
            }
            kind => {
                let operand = Expr::new(kind, operand.span);
                self.node(ExprKind::Unary { operator: UnaryOp::Minus, operand }, span)
            }
        }
    }

    fn named_type(&mut self) -> Result<TypeExprKind> {
        let start = self.cursor.at;
        for (word, value) in [("true", true), ("false", false)] {
            if self.cursor.word() == word {
                self.cursor.at += word.len();
                return Ok(TypeExprKind::Literal(Value::Bool(value)));
            }
        }
        let mut name = self.plain_word("a type")?;
        let mut module = Vec::new();
        while self.cursor.starts_with("::") {
            self.cursor.at += 2;
            module.push(name.text);
            name = self.plain_word("a type")?;
        }
        let mut args = Vec::new();
        if self.cursor.peek() == Some('<') && !self.cursor.starts_with("<=") {
            self.cursor.at += 1;
            loop {
                args.push(self.type_expression()?);
                if !self.cursor.sign(",") {
                    break;
                }
            }
            if !self.cursor.sign(">") {
                let span = Span::new(start, self.cursor.at);
                return Err(self.error(span, "expected `>` after the type arguments"));
            }
        }
        Ok(TypeExprKind::Named { module, name, args })
    }

    fn function_or_group(&mut self) -> Result<TypeExprKind> {
        if let Some(kind) = self.lookahead(Lookahead::FunctionType, Self::function_type) {
            return Ok(kind);
        }
        self.expect("(", "")?;
        let inner = self.type_expression()?;
        self.expect(")", "after the type")?;
        Ok(inner.kind)
    }

    fn function_type(&mut self) -> Result<TypeExprKind> {
        self.expect("(", "")?;
        let mut params = Vec::new();
        while !self.cursor.is_next(")") {
            params.push(self.function_param()?);
            if !self.cursor.sign(",") {
                break;
            }
        }
        self.expect(")", "after the parameter types")?;
        self.expect("->", "after the parameter types")?;
        let result = Box::new(self.type_expression()?);
        Ok(TypeExprKind::Function { params, result })
    }

    fn function_param(&mut self) -> Result<(Option<Name>, TypeExpr, bool)> {
        let named = self.attempt(|parser| {
            let name = parser.plain_word("a parameter")?;
            let optional = parser.cursor.sign("?");
            if parser.cursor.is_next("::") {
                return parser.fail("`:`");
            }
            parser.expect(":", "after the name")?;
            Ok((name, optional))
        });
        let kind = self.type_expression()?;
        Ok(match named {
            Some((name, optional)) => (Some(name), kind, optional),
            None => (None, kind, false),
        })
    }

    fn object_type(&mut self) -> Result<TypeExprKind> {
        self.expect("{", "")?;
        let mut closed = self.cursor.sign("|");
        // `{- … -}` requires the order of the keys, which objects keep anyway.
        let ordered = self.cursor.sign("-");
        if ordered {
            closed |= self.cursor.sign("|");
        }
        let end = if closed { "|" } else { "}" };
        let mut fields = Vec::new();
        while !self.cursor.is_next(end) && !self.cursor.is_next("-}") {
            fields.push(self.field_type()?);
            if !self.cursor.sign(",") {
                break;
            }
        }
        if closed {
            self.expect("|", "before `}`")?;
        }
        if ordered {
            self.cursor.sign("-");
        }
        self.expect("}", "after the fields")?;
        Ok(TypeExprKind::Object { fields, closed })
    }

    fn field_type(&mut self) -> Result<FieldExpr> {
        self.annotations()?;
        self.cursor.space();
        let (namespace, name) = match self.cursor.peek() {
            Some('"' | '\'' | '`') => {
                let pieces = self.string_literal()?;
                let text: String = pieces
                    .into_iter()
                    .filter_map(|piece| match piece {
                        super::InterpolationPart::Text(text) => Some(text.to_string()),
                        super::InterpolationPart::Expr(_) => None,
                    })
                    .collect();
                (None, Some(Text::from(text)))
            }
            Some('(') => {
                self.cursor.at += 1;
                self.type_expression()?;
                self.expect(")", "after the key type")?;
                (None, None)
            }
            _ => {
                let (namespace, name) = self.type_field_name()?;
                (namespace, (&*name != "_").then_some(name))
            }
        };
        let mut attributes = Vec::new();
        if self.cursor.sign("@(") {
            while !self.cursor.is_next(")") {
                attributes.push(self.deeper(Self::field_type)?);
                if !self.cursor.sign(",") {
                    break;
                }
            }
            self.expect(")", "after the attributes")?;
        }
        let repeated = self.cursor.sign("*");
        let optional = self.cursor.sign("?");
        let repeated = repeated || self.cursor.sign("*");
        self.expect(":", "after the field")?;
        let kind = self.type_expression()?;
        Ok(FieldExpr { namespace, name, optional, repeated, attributes, kind })
    }

    fn constant_schema(&mut self) -> Result<Vec<(Text, Value)>> {
        let members = self.schema()?;
        let mut metadata = Vec::new();
        for member in members {
            if let Member::Pair { key, value, .. } = member
                && let super::KeyName::Plain(name) = key.name
                && let ExprKind::Literal(value) = *value.kind
            {
                metadata.push((name, value));
            }
        }
        Ok(metadata)
    }
}
