//! Patterns of declarations, parameters and assignments.

use super::parser::{ParseAborted, Parsed, Parser};
use crate::ast::AssignOp;
use crate::ast::{Arg, Expr, ExprKind, Ident, Pattern, PatternItem, PatternKind, Prop, PropKey};
use crate::problem::Code;
use crate::span::Span;

impl Pattern {
    pub(crate) const fn is_name(&self) -> bool {
        matches!(self.kind, PatternKind::Name(_))
    }

    /// Calls a function for every name that the pattern declares or assigns.
    pub(crate) fn each_name<'a>(&'a self, found: &mut impl FnMut(&'a Ident)) {
        match &self.kind {
            PatternKind::Name(name) => found(name),
            PatternKind::Member(_) => {}
            PatternKind::Array { items, rest } => {
                items.iter().flatten().for_each(|item| item.pattern.each_name(found));
                if let Some(rest) = rest {
                    rest.each_name(found);
                }
            }
            PatternKind::Object { entries, rest } => {
                for (_, item) in entries {
                    item.pattern.each_name(found);
                }
                if let Some(rest) = rest {
                    rest.each_name(found);
                }
            }
        }
    }
}

impl Parser<'_> {
    pub(super) fn pattern(&mut self) -> Parsed<Pattern> {
        self.deeper(|it| {
            if it.at_sign("[") {
                it.array_pattern()
            } else if it.at_sign("{") {
                it.object_pattern()
            } else {
                let name = it.name("a variable name")?;
                let span = name.span;
                Ok(Pattern { kind: PatternKind::Name(name), span })
            }
        })
    }

    fn array_pattern(&mut self) -> Parsed<Pattern> {
        let start = self.next().span;
        let (mut items, mut rest) = (Vec::new(), None);
        while !self.at_sign("]") {
            if self.take_sign("...") {
                rest = Some(Box::new(self.pattern()?));
                break;
            }
            if self.at_sign(",") {
                items.push(None);
            } else {
                items.push(Some(self.pattern_item()?));
            }
            if !self.take_sign(",") {
                break;
            }
        }
        let end = self.expect("]")?;
        Ok(Pattern { kind: PatternKind::Array { items, rest }, span: start.to(end) })
    }

    fn object_pattern(&mut self) -> Parsed<Pattern> {
        let start = self.next().span;
        let (mut entries, mut rest) = (Vec::new(), None);
        while !self.at_sign("}") {
            if self.take_sign("...") {
                rest = Some(Box::new(self.pattern()?));
                break;
            }
            let (key, shorthand) = self.property_key()?;
            let item = match shorthand {
                Some(name) if !self.at_sign(":") => {
                    let span = name.span;
                    let pattern = Pattern { kind: PatternKind::Name(name), span };
                    PatternItem { pattern, default: self.default_value()? }
                }
                _ => {
                    self.expect(":")?;
                    self.pattern_item()?
                }
            };
            entries.push((key, item));
            if !self.take_sign(",") {
                break;
            }
        }
        let end = self.expect("}")?;
        Ok(Pattern { kind: PatternKind::Object { entries, rest }, span: start.to(end) })
    }

    fn pattern_item(&mut self) -> Parsed<PatternItem> {
        let pattern = self.pattern()?;
        Ok(PatternItem { pattern, default: self.default_value()? })
    }

    fn default_value(&mut self) -> Parsed<Option<Expr>> {
        if self.take_sign("=") { Ok(Some(self.expression()?)) } else { Ok(None) }
    }

    /// Converts an expression to an assignment target.
    pub(super) fn as_pattern(&mut self, expr: Expr) -> Parsed<Pattern> {
        let span = expr.span;
        let kind = match expr.kind {
            ExprKind::Name(name) => PatternKind::Name(Ident { name, span }),
            ExprKind::Member { optional: false, .. } | ExprKind::Index { optional: false, .. } => {
                PatternKind::Member(Box::new(expr))
            }
            ExprKind::Array(items) => self.as_array_pattern(items)?,
            ExprKind::Object(props) => self.as_object_pattern(props)?,
            _ => return self.not_assignable(span),
        };
        Ok(Pattern { kind, span })
    }

    fn as_array_pattern(&mut self, elements: Vec<Arg>) -> Parsed<PatternKind> {
        let (mut items, mut rest) = (Vec::new(), None);
        let last = elements.len();
        for (position, element) in elements.into_iter().enumerate() {
            let span = element.value.span;
            if !element.spread {
                items.push(Some(self.as_item(element.value)?));
            } else if position + 1 == last {
                rest = Some(Box::new(self.as_pattern(element.value)?));
            } else {
                return self.not_assignable(span);
            }
        }
        Ok(PatternKind::Array { items, rest })
    }

    fn as_object_pattern(&mut self, props: Vec<Prop>) -> Parsed<PatternKind> {
        let (mut entries, mut rest) = (Vec::new(), None);
        let last = props.len();
        for (position, prop) in props.into_iter().enumerate() {
            match prop {
                Prop::Pair { key, value } => entries.push((key, self.as_item(value)?)),
                Prop::Short { name, default } => {
                    let (span, key) = (name.span, PropKey::Name(name.name.clone(), name.span));
                    let pattern = Pattern { kind: PatternKind::Name(name), span };
                    entries.push((key, PatternItem { pattern, default }));
                }
                Prop::Spread(value) if position + 1 == last => {
                    rest = Some(Box::new(self.as_pattern(value)?));
                }
                Prop::Spread(value) => return self.not_assignable(value.span),
                Prop::Accessor { function, .. } => return self.not_assignable(function.span),
            }
        }
        Ok(PatternKind::Object { entries, rest })
    }

    /// An element with an optional default, which was parsed as an assignment.
    fn as_item(&mut self, value: Expr) -> Parsed<PatternItem> {
        match value.kind {
            ExprKind::Assign { target, op: AssignOp::Plain, value } => {
                Ok(PatternItem { pattern: *target, default: Some(*value) })
            }
            kind => {
                let pattern = self.as_pattern(Expr { kind, span: value.span })?;
                Ok(PatternItem { pattern, default: None })
            }
        }
    }

    fn not_assignable<T>(&mut self, span: Span) -> Parsed<T> {
        let message = "nothing can be assigned to this";
        let help = "assign to a variable, a property or an index";
        self.problems.add_with_help(Code::Syntax, span, message, help);
        Err(ParseAborted)
    }
}
