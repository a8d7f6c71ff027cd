//! Checks methods of values whose kind is known before the script runs: literals, results of the
//! library, and constants with such a value.

use super::call::{Calls, wrong_count};
use super::similar::closest;
use crate::ast::{Arg, BinaryOp, Expr, ExprKind, Ident, PatternKind, Stmt, StmtKind};
use crate::library::{Builtin, Kind, Method, is_inherited};
use crate::problem::Code;
use crate::span::Span;

impl Calls<'_> {
    /// Checks a method call if the kind of its object is known.
    pub(super) fn check_method(&mut self, callee: &Expr, args: &[Arg], span: Span) {
        let ExprKind::Member { object, name, .. } = &callee.kind else { return };
        let is_plain = |kind: &Kind| *kind != Kind::Record && *kind != Kind::Function;
        let Some(kind) = self.kind_of(object).filter(is_plain) else { return };
        let Some(arity) = Method::by_name(&name.name).and_then(|method| method.arity(kind)) else {
            return self.unknown_method(kind, name);
        };
        if let Some(wrong) = wrong_count(args, arity.0, arity.1) {
            let message = format!(
                "`{}` of {} takes {wrong}, this call has {}",
                name.name,
                kind.name(),
                args.len()
            );
            self.problems.add(Code::MethodArity, span, message);
        }
    }

    fn unknown_method(&mut self, kind: Kind, name: &Ident) {
        let message = format!("{} has no method `{}`", kind.name(), name.name);
        let meant = closest(&name.name, Method::names_of(kind));
        let help = match meant {
            // An existing JavaScript method is not a misspelling.
            Some(meant) if !is_inherited(kind, &name.name) => format!("did you mean `{meant}`?"),
            _ => {
                let all: Vec<&str> = Method::names_of(kind).collect();
                format!("there is {}", all.join(", "))
            }
        };
        self.problems.add_with_help(Code::UnknownMethod, name.span, message, help);
    }

    /// Records the kinds of constants.
    pub(super) fn record_constants(&mut self, stmt: &Stmt) {
        let StmtKind::Declare { constant: true, declarators } = &stmt.kind else { return };
        for declarator in declarators {
            let (PatternKind::Name(name), Some(init)) =
                (&declarator.pattern.kind, &declarator.init)
            else {
                continue;
            };
            if let (Some(id), Some(kind)) = (self.analysis.decl(name.span), self.kind_of(init)) {
                self.constants.insert(id, kind);
            }
        }
    }

    /// The kind of an expression, if it is certain.
    fn kind_of(&self, expr: &Expr) -> Option<Kind> {
        match &expr.kind {
            ExprKind::Text(_) | ExprKind::Template { .. } => Some(Kind::Text),
            ExprKind::Number(_) => Some(Kind::Number),
            ExprKind::Bool(_) => Some(Kind::Bool),
            ExprKind::Array(_) => Some(Kind::List),
            ExprKind::Name(_) => self.constants.get(&self.analysis.decl(expr.span)?).copied(),
            ExprKind::Binary { op, left, right } => match op {
                BinaryOp::Add => {
                    let text = Some(Kind::Text);
                    (self.kind_of(left) == text || self.kind_of(right) == text).then_some(text)?
                }
                BinaryOp::Sub
                | BinaryOp::Mul
                | BinaryOp::Div
                | BinaryOp::Rem
                | BinaryOp::Pow
                | BinaryOp::BitAnd
                | BinaryOp::BitOr
                | BinaryOp::BitXor
                | BinaryOp::ShiftLeft
                | BinaryOp::ShiftRight
                | BinaryOp::ShiftRightUnsigned => Some(Kind::Number),
                _ => Some(Kind::Bool),
            },
            ExprKind::Call { callee, optional: false, .. } => {
                if let Some(function) = self.library_function(callee) {
                    return kind_of_function(function);
                }
                let ExprKind::Member { object, name, optional: false } = &callee.kind else {
                    return None;
                };
                let kind = self.kind_of(object).filter(|kind| *kind != Kind::Record)?;
                let method = Method::by_name(&name.name)?;
                method.arity(kind)?;
                kind_of_method(kind, method)
            }
            _ => None,
        }
    }
}

/// The kind of a library function's result, whatever its arguments are.
const fn kind_of_function(function: Builtin) -> Option<Kind> {
    match function {
        Builtin::ToText
        | Builtin::TimeNow
        | Builtin::TimeAdd
        | Builtin::TimeFormat
        | Builtin::CryptoUuid => Some(Kind::Text),
        Builtin::ObjectKeys
        | Builtin::ObjectValues
        | Builtin::ObjectEntries
        | Builtin::ArrayOf
        | Builtin::ArrayFrom => Some(Kind::List),
        Builtin::ToNumber | Builtin::ParseInt | Builtin::ParseFloat | Builtin::DateNow => {
            Some(Kind::Number)
        }
        _ => None,
    }
}

/// The kind of a method's result.
const fn kind_of_method(kind: Kind, method: Method) -> Option<Kind> {
    match method {
        Method::Includes
        | Method::StartsWith
        | Method::EndsWith
        | Method::Some
        | Method::Every
        | Method::HasOwnProperty => Some(Kind::Bool),
        Method::IndexOf
        | Method::LastIndexOf
        | Method::FindIndex
        | Method::Push
        | Method::Unshift => Some(Kind::Number),
        Method::Map
        | Method::Filter
        | Method::FlatMap
        | Method::Flat
        | Method::Sort
        | Method::Reverse
        | Method::Fill
        | Method::Splice
        | Method::Split => Some(Kind::List),
        // The result has the kind of the object: a list or a string.
        Method::Slice | Method::Concat => Some(kind),
        Method::Join
        | Method::ToString
        | Method::ToFixed
        | Method::Substring
        | Method::CharAt
        | Method::Trim
        | Method::TrimStart
        | Method::TrimEnd
        | Method::Replace
        | Method::ReplaceAll
        | Method::ToUpperCase
        | Method::ToLowerCase
        | Method::Repeat
        | Method::PadStart
        | Method::PadEnd => Some(Kind::Text),
        _ => None,
    }
}
