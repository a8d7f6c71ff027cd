//! Objects, arrays, and single pairs.

use meantime_value::Text;

use super::cursor::is_reserved;
use super::parser::{Lookahead, ParseAborted, Parser, Result};
use super::{Expr, ExprKind, Item, KeyExpr, KeyName, Member, Name};

impl Parser<'_> {
    /// `key: value`, which is an object with one pair, or any expression.
    pub(super) fn pair_or_expression(&mut self) -> Result {
        self.deeper(|parser| {
            parser.cursor.space();
            let start = parser.cursor.at;
            if let Some(key) = parser.plain_key()? {
                let member = parser.pair(key)?;
                return parser.node(ExprKind::Object(vec![member]), parser.cursor.span(start));
            }
            let expr = parser.expression()?;
            let is_group = matches!(&*expr.kind, ExprKind::Group(_));
            if !is_group || !parser.is_key_end_next() {
                return Ok(expr);
            }
            let member = parser.dynamic_pair(expr)?;
            parser.node(ExprKind::Object(vec![member]), parser.cursor.span(start))
        })
    }

    /// Whether a key ends here: followed by `:` but not `::`, or by attributes.
    fn is_key_end_next(&self) -> bool {
        let mut ahead = self.cursor.clone();
        ahead.space();
        (ahead.starts_with(":") && !ahead.starts_with("::")) || ahead.starts_with("@(")
    }

    /// A word or text followed by `:`; otherwise nothing is consumed.
    fn plain_key(&mut self) -> Result<Option<KeyExpr>> {
        let start = self.cursor.at;
        let word = self.cursor.word();
        if !word.is_empty() {
            self.cursor.at += word.len();
            let mut namespace = None;
            let mut name = word;
            if self.cursor.peek() == Some('#') {
                namespace = Some(Name { text: word.into(), span: self.cursor.span(start) });
                self.cursor.at += 1;
                name = self.cursor.word();
                self.cursor.at += name.len();
            }
            if !self.is_key_end_next() || (name == "case" || name == "else") {
                self.cursor.at = start;
                return Ok(None);
            }
            let span = self.cursor.span(start);
            if is_reserved(name) && namespace.is_none() {
                self.reserved_name(name, span);
            }
            let name = KeyName::Plain(Text::from(name));
            let attributes = self.attributes()?;
            return Ok(Some(KeyExpr { namespace, name, attributes }));
        }
        if !matches!(self.cursor.peek(), Some('"' | '\'' | '`')) {
            return Ok(None);
        }
        let text_key = |parser: &mut Self| {
            let pieces = parser.string_literal()?;
            if parser.is_key_end_next() { Ok(pieces) } else { Err(ParseAborted) }
        };
        let Some(pieces) = self.lookahead(Lookahead::TextKey, text_key) else { return Ok(None) };
        let name = self.key_of(pieces, start);
        let attributes = self.attributes()?;
        Ok(Some(KeyExpr { namespace: None, name, attributes }))
    }

    fn dynamic_pair(&mut self, key: Expr) -> Result<Member> {
        let attributes = self.attributes()?;
        let name = KeyName::Dynamic(key);
        self.pair(KeyExpr { namespace: None, name, attributes })
    }

    fn pair(&mut self, key: KeyExpr) -> Result<Member> {
        self.expect(":", "after the key")?;
        let value = self.expression()?;
        Ok(Member::Pair { key, value, condition: None })
    }

    /// `@(name: value, …)` after a key.
    fn attributes(&mut self) -> Result<Vec<Member>> {
        if !self.cursor.sign("@(") {
            return Ok(Vec::new());
        }
        let members = self.members(')')?;
        self.expect(")", "after the attributes")?;
        Ok(members)
    }

    pub(super) fn object(&mut self) -> Result {
        let start = self.cursor.at;
        self.cursor.at += 1;
        // `{| … |}` declares that there are no other keys, which has no effect on a value.
        let closed = self.cursor.byte(0) == Some(b'|') && self.cursor.sign("|");
        let members = self.members('}')?;
        if closed {
            self.expect("|", "before `}`")?;
        }
        self.expect("}", "or `,` in the object")?;
        self.node(ExprKind::Object(members), self.cursor.span(start))
    }

    /// Members up to a closing bracket, which is not consumed. An invalid member does not prevent
    /// reading the others.
    pub(super) fn members(&mut self, close: char) -> Result<Vec<Member>> {
        let mut members = Vec::new();
        let end = close.to_string();
        let mut failed = false;
        while !self.cursor.is_next(&end) && !self.cursor.is_next("|}") {
            match self.deeper(Self::member) {
                Ok(member) => members.push(member),
                Err(ParseAborted) => {
                    failed = true;
                    if !self.may_recover() {
                        break;
                    }
                    self.skip_to_separator(close);
                }
            }
            if !self.cursor.sign(",") {
                break;
            }
        }
        if failed { Err(ParseAborted) } else { Ok(members) }
    }

    fn member(&mut self) -> Result<Member> {
        self.cursor.space();
        if let Some(key) = self.plain_key()? {
            return self.pair(key);
        }
        if self.cursor.peek() != Some('(') {
            return self.fail("a key");
        }
        self.cursor.at += 1;
        self.cursor.space();
        let inner = self.pair_or_expression()?;
        self.expect(")", "to close the parenthesis")?;
        if self.is_key_end_next() {
            return self.dynamic_pair(inner);
        }
        let condition = self.condition_after()?;
        self.conditional_member(inner, condition)
    }

    fn condition_after(&mut self) -> Result<Option<Expr>> {
        if !self.cursor.keyword("if") {
            return Ok(None);
        }
        self.expect("(", "after `if`")?;
        let condition = self.expression()?;
        self.expect(")", "after the condition")?;
        Ok(Some(condition))
    }

    fn conditional_member(&mut self, inner: Expr, condition: Option<Expr>) -> Result<Member> {
        let is_single_pair = |members: &[Member]| matches!(members, [Member::Pair { .. }]);
        let starts_with_brace = inner.span.text(self.cursor.source).starts_with('{');
        match (*inner.kind, condition) {
            (ExprKind::Object(mut members), condition)
                if !starts_with_brace && is_single_pair(&members) =>
            {
                match members.pop() {
                    Some(Member::Pair { key, value, .. }) => {
                        Ok(Member::Pair { key, value, condition })
                    }
                    _ => Err(ParseAborted),
                }
            }
            (kind, None) => Ok(Member::Splice(Expr::new(kind, inner.span))),
            (kind, Some(condition)) => {
                let message = "only a pair can have a condition";
                let help = "write `(if (condition) {…} else {})`";
                self.error_with_help(condition.span, message, help);
                Ok(Member::Splice(Expr::new(kind, inner.span)))
            }
        }
    }

    pub(super) fn array(&mut self) -> Result {
        let start = self.cursor.at;
        self.cursor.at += 1;
        let mut items = Vec::new();
        let mut failed = false;
        while !self.cursor.is_next("]") {
            match self.deeper(Self::item) {
                Ok(item) => items.push(item),
                Err(ParseAborted) => {
                    failed = true;
                    if !self.may_recover() {
                        break;
                    }
                    self.skip_to_separator(']');
                }
            }
            if !self.cursor.sign(",") {
                break;
            }
        }
        if failed {
            return Err(ParseAborted);
        }
        self.expect("]", "or `,` in the array")?;
        self.node(ExprKind::Array(items), self.cursor.span(start))
    }

    fn item(&mut self) -> Result<Item> {
        let value = self.pair_or_expression()?;
        let is_group = matches!(&*value.kind, ExprKind::Group(_));
        let condition = if is_group { self.condition_after()? } else { None };
        Ok(Item { value, condition })
    }
}
