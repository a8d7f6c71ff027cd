//! Selectors and calls after a value.

use meantime_value::Text;

use super::cursor::is_reserved;
use super::parser::{Parser, Result};
use super::{
    Expr, ExprKind, InterpolationPart, KeyName, Name, SelectedPart, Selector, SelectorReach, Span,
};

impl Parser<'_> {
    pub(super) fn postfix(&mut self) -> Result {
        let mut target = self.primary()?;
        loop {
            let start = target.span.start as usize;
            let kind = if let Some(selector) = self.selector(true)? {
                ExprKind::Select { target, selector }
            } else if self.cursor.is_next("(") && !matches!(&*target.kind, ExprKind::Lambda(_)) {
                let args = self.arguments()?;
                ExprKind::Call { callee: target, args }
            } else {
                return Ok(target);
            };
            target = self.node(kind, Span::new(start, self.cursor.at))?;
        }
    }

    fn arguments(&mut self) -> Result<Vec<Expr>> {
        self.expect("(", "before the arguments")?;
        let mut args = Vec::new();
        while !self.cursor.is_next(")") {
            args.push(self.pair_or_expression()?);
            if !self.cursor.sign(",") {
                break;
            }
        }
        self.expect(")", "after the arguments")?;
        Ok(args)
    }

    /// The next selector, if there is one. In a path of `update`, `!` belongs to the path.
    pub(super) fn selector(&mut self, with_marks: bool) -> Result<Option<Selector>> {
        let back = self.cursor.at;
        if with_marks {
            match (self.cursor.byte(0), self.cursor.byte(1)) {
                (Some(b'?'), _) => {
                    self.cursor.at += 1;
                    return Ok(Some(Selector::Exists));
                }
                (Some(b'!'), next) if next != Some(b'=') => {
                    self.cursor.at += 1;
                    return Ok(Some(Selector::Required));
                }
                _ => {}
            }
        }
        self.cursor.space();
        match self.cursor.peek() {
            Some('.') => self.dotted().map(Some),
            Some('[') => self.bracketed().map(Some),
            _ => {
                self.cursor.at = back;
                Ok(None)
            }
        }
    }

    fn dotted(&mut self) -> Result<Selector> {
        self.cursor.at += 1;
        let below = self.cursor.peek() == Some('.');
        if below {
            self.cursor.at += 1;
        }
        let every = self.cursor.peek() == Some('*');
        if every {
            self.cursor.at += 1;
        }
        let reach = match (below, every) {
            (false, false) => SelectorReach::First,
            (false, true) => SelectorReach::All,
            (true, false) => SelectorReach::Descendants,
            (true, true) => SelectorReach::AllDescendants,
        };
        let what = match self.cursor.peek() {
            Some('@') => SelectedPart::Attribute,
            Some('&') => SelectedPart::Pair,
            Some('^') => SelectedPart::Metadata,
            Some('#') => SelectedPart::Namespace,
            _ => SelectedPart::Value,
        };
        if what != SelectedPart::Value {
            self.cursor.at += 1;
        }
        if what == SelectedPart::Namespace {
            return Ok(Selector::All(what));
        }
        if every && what == SelectedPart::Pair {
            self.cursor.at -= 1;
            return self.fail("a field name");
        }
        self.field(reach, what)
    }

    fn field(&mut self, reach: SelectorReach, what: SelectedPart) -> Result<Selector> {
        let word = self.cursor.word();
        if word.is_empty() && !matches!(self.cursor.peek(), Some('"' | '\'' | '`')) {
            return match (reach, what) {
                (SelectorReach::First, SelectedPart::Attribute | SelectedPart::Metadata) => {
                    Ok(Selector::All(what))
                }
                (SelectorReach::Descendants, SelectedPart::Value) => Ok(Selector::Descendants),
                _ => self.fail("a field name"),
            };
        }
        let mut namespace = None;
        if !word.is_empty() && self.cursor.byte(word.len()) == Some(b'#') {
            let start = self.cursor.at;
            self.cursor.at += word.len();
            namespace = Some(Name { text: word.into(), span: self.cursor.span(start) });
            self.cursor.at += 1;
        }
        let name = self.field_name()?;
        Ok(Selector::Field { reach, what, namespace, name })
    }

    /// A word or a text. A reserved word is accepted with a warning.
    pub(super) fn field_name(&mut self) -> Result<KeyName> {
        if matches!(self.cursor.peek(), Some('"' | '\'' | '`')) {
            let start = self.cursor.at;
            let pieces = self.string_literal()?;
            return Ok(self.key_of(pieces, start));
        }
        let start = self.cursor.at;
        let word = self.cursor.word();
        if word.is_empty() {
            return self.fail("a field name");
        }
        self.cursor.at += word.len();
        if is_reserved(word) {
            self.reserved_name(word, self.cursor.span(start));
        }
        Ok(KeyName::Plain(Text::from(word)))
    }

    pub(super) fn reserved_name(&mut self, word: &str, span: Span) {
        let message = format!("`{word}` is a reserved word");
        self.warn_extension(span, message, &format!("`\"{word}\"`, in quotes"));
    }

    /// A text without interpolations is a plain key.
    pub(super) fn key_of(&mut self, pieces: Vec<InterpolationPart>, start: usize) -> KeyName {
        match pieces.as_slice() {
            [] => KeyName::Plain(Text::from("")),
            [InterpolationPart::Text(text)] => KeyName::Plain(text.clone()),
            _ => {
                let span = self.cursor.span(start);
                KeyName::Dynamic(Expr::new(ExprKind::Interpolation(pieces), span))
            }
        }
    }

    /// `[index]`, `[?(condition)]`, `[@name]`, `[*"name"]`, `[&"name"]`.
    fn bracketed(&mut self) -> Result<Selector> {
        self.cursor.at += 1;
        self.cursor.space();
        let sign = self.cursor.peek();
        let selector = match sign {
            Some('?') => {
                self.cursor.at += 1;
                self.expect("(", "after `[?`")?;
                let condition = self.expression()?;
                self.expect(")", "after the condition")?;
                Selector::Filter(condition)
            }
            Some('@' | '*' | '&' | '^') => {
                self.cursor.at += 1;
                let what = match sign {
                    Some('@') => SelectedPart::Attribute,
                    Some('&') => SelectedPart::Pair,
                    Some('^') => SelectedPart::Metadata,
                    _ => SelectedPart::Value,
                };
                let reach =
                    if sign == Some('*') { SelectorReach::All } else { SelectorReach::First };
                let name = self.bracket_name()?;
                Selector::Field { reach, what, namespace: None, name }
            }
            _ => Selector::Index(self.expression()?),
        };
        self.expect("]", "to close the selector")?;
        Ok(selector)
    }

    fn bracket_name(&mut self) -> Result<KeyName> {
        self.cursor.space();
        if self.cursor.peek() == Some('(') {
            let expr = self.expression()?;
            return Ok(KeyName::Dynamic(expr));
        }
        self.field_name()
    }
}
