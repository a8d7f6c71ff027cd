//! Destructuring.

use super::builder::{FunctionBuilder, as_u32};
use super::op::Op;
use crate::ast::{Expr, ExprKind, Pattern, PatternItem, PatternKind, PropKey};
use crate::span::Span;

impl FunctionBuilder<'_, '_> {
    /// Assigns the value on the stack to new variables.
    pub(super) fn declare_pattern(&mut self, pattern: &Pattern) {
        self.pattern(pattern, true);
    }

    /// Assigns the value on the stack to existing targets.
    pub(super) fn assign_pattern(&mut self, pattern: &Pattern) {
        self.pattern(pattern, false);
    }

    fn pattern(&mut self, pattern: &Pattern, declares: bool) {
        match &pattern.kind {
            PatternKind::Name(name) if declares => self.declare_name(name.span),
            PatternKind::Name(name) => self.store_name(name.span),
            PatternKind::Member(offset) => self.store_member(offset),
            PatternKind::Array { items, rest } => {
                self.at(pattern.span.start);
                self.emit(Op::NeedList);
                for (offset, item) in items.iter().enumerate() {
                    let Some(item) = item else { continue };
                    self.emit(Op::Dup);
                    self.emit(Op::Int(i32::try_from(offset).unwrap_or(i32::MAX)));
                    self.emit(Op::GetIndex);
                    self.item(item, declares);
                }
                if let Some(rest) = rest {
                    self.emit(Op::RestOfList(as_u32(items.len())));
                    self.pattern(rest, declares);
                }
                self.emit(Op::Pop);
            }
            PatternKind::Object { entries, rest } => {
                self.at(pattern.span.start);
                self.emit(Op::NeedRecord);
                for (key, item) in entries {
                    self.emit(Op::Dup);
                    match key {
                        PropKey::Name(name, span) => {
                            let name = self.shared.text(name);
                            self.at(span.start);
                            self.emit(Op::Get(name));
                        }
                        PropKey::Computed(key) => {
                            self.expr(key);
                            self.emit(Op::GetIndex);
                        }
                        PropKey::Private(_) => self.emit(Op::Undefined),
                    }
                    self.item(item, declares);
                }
                if let Some(rest) = rest {
                    self.rest_of_record(entries, rest, declares);
                }
                self.emit(Op::Pop);
            }
        }
    }

    fn rest_of_record(
        &mut self,
        entries: &[(PropKey, PatternItem)],
        rest: &Pattern,
        declares: bool,
    ) {
        self.emit(Op::Dup);
        let mut keys = 0;
        for (key, _) in entries {
            // A computed key is evaluated twice, because its value is not kept.
            match key {
                PropKey::Name(name, _) => {
                    let name = self.shared.text(name);
                    self.emit(Op::Const(name));
                }
                PropKey::Computed(key) => self.expr(key),
                PropKey::Private(_) => self.emit(Op::Undefined),
            }
            keys += 1;
        }
        self.emit(Op::RestOfRecord(keys));
        // The original is below the rest on the stack.
        self.pattern(rest, declares);
    }

    fn item(&mut self, item: &PatternItem, declares: bool) {
        if let Some(default) = &item.default {
            let given = self.jump(Op::JumpIfDefinedKeep(0));
            self.expr(default);
            self.patch_here(given);
        }
        self.pattern(&item.pattern, declares);
    }

    /// A new variable gets its value and enters the scope.
    fn declare_name(&mut self, span: Span) {
        let Some(id) = self.shared.analysis.decl(span) else { return self.emit(Op::Pop) };
        let fresh = !self.locals.contains_key(&id) || !self.is_captured(id);
        let slot = self.slot_of(id);
        self.store(id);
        if fresh {
            self.bring_into_scope(slot);
        }
    }

    pub(super) fn store_name(&mut self, span: Span) {
        match self.shared.analysis.decl(span) {
            Some(id) => self.store(id),
            None => self.emit(Op::Pop),
        }
    }

    /// Assigns the value on the stack to a property or an index.
    fn store_member(&mut self, offset: &Expr) {
        match &offset.kind {
            ExprKind::Member { object, name, .. } => {
                self.expr(object);
                self.emit(Op::Swap);
                let key = self.member_text(name);
                self.at(name.span.start);
                self.emit(Op::Set(key));
            }
            ExprKind::Index { object, index, .. } => {
                self.expr(object);
                self.expr(index);
                self.emit(Op::Rotate);
                self.at(offset.span.start);
                self.emit(Op::SetIndex);
            }
            _ => {}
        }
        self.emit(Op::Pop);
    }
}
