//! Assignments, `++` and `--`.

use super::builder::FunctionBuilder;
use super::expression::{binary, short_circuit_op};
use super::op::Op;
use crate::ast::{AssignOp, BinaryOp, Expr, ExprKind, LogicalOp, Pattern, PatternKind};
use crate::span::Span;

impl FunctionBuilder<'_, '_> {
    /// An assignment; leaves its value on the stack only if `wanted`.
    pub(super) fn assign(&mut self, target: &Pattern, op: AssignOp, value: &Expr, wanted: bool) {
        match &target.kind {
            PatternKind::Name(name) => match op {
                AssignOp::Plain => {
                    self.expr(value);
                    self.keep_if(wanted);
                    self.store_name(name.span);
                }
                AssignOp::Binary(BinaryOp::Add) if !wanted && self.add_to(name.span, value) => {}
                AssignOp::Binary(op) => {
                    self.load_name(name.span);
                    self.expr(value);
                    self.at(target.span.start);
                    self.emit(binary(op));
                    self.keep_if(wanted);
                    self.store_name(name.span);
                }
                AssignOp::Logical(op) => self.assign_logically(target, op, value, wanted),
            },
            PatternKind::Member(offset) => self.assign_member(offset, op, value, wanted),
            PatternKind::Array { .. } | PatternKind::Object { .. } => {
                self.expr(value);
                self.keep_if(wanted);
                self.assign_pattern(target);
            }
        }
    }

    /// `name += value` for a local variable that is not shared, if evaluating the value cannot
    /// change the variable.
    fn add_to(&mut self, name: Span, value: &Expr) -> bool {
        let is_simple = matches!(
            value.kind,
            ExprKind::Name(_) | ExprKind::Number(_) | ExprKind::Text(_) | ExprKind::Template { .. }
        );
        let id = self.shared.analysis.decl(name).filter(|id| !self.is_captured(*id));
        let slot = id.and_then(|id| self.locals.get(&id)).copied();
        let (true, Some(slot)) = (is_simple && no_calls(value), slot) else { return false };
        self.expr(value);
        self.at(name.start);
        self.emit(Op::AddTo(slot));
        true
    }

    fn keep_if(&mut self, wanted: bool) {
        if wanted {
            self.emit(Op::Dup);
        }
    }

    fn drop_unless(&mut self, wanted: bool) {
        if !wanted {
            self.emit(Op::Pop);
        }
    }

    fn load_name(&mut self, span: Span) {
        match self.shared.analysis.decl(span) {
            Some(id) => self.load(id),
            None => self.emit(Op::Undefined),
        }
    }

    fn assign_logically(&mut self, target: &Pattern, op: LogicalOp, value: &Expr, wanted: bool) {
        let PatternKind::Name(name) = &target.kind else { return };
        self.load_name(name.span);
        let over = self.jump(short_circuit_op(op));
        self.expr(value);
        self.emit(Op::Dup);
        self.store_name(name.span);
        self.patch_here(over);
        self.drop_unless(wanted);
    }

    fn assign_member(&mut self, offset: &Expr, op: AssignOp, value: &Expr, wanted: bool) {
        // The object and the index are evaluated before the value.
        let (get, set, again, parts) = match &offset.kind {
            ExprKind::Member { object, name, .. } => {
                self.expr(object);
                let id = self.member_text(name);
                (Op::Get(id), Op::Set(id), Op::Dup, 1)
            }
            ExprKind::Index { object, index, .. } => {
                self.expr(object);
                self.expr(index);
                (Op::GetIndex, Op::SetIndex, Op::Dup2, 2)
            }
            _ => return,
        };
        let at = offset.span.start;
        match op {
            AssignOp::Plain => self.expr(value),
            AssignOp::Binary(op) => {
                self.emit(again);
                self.at(at);
                self.emit(get);
                self.expr(value);
                self.at(at);
                self.emit(binary(op));
            }
            AssignOp::Logical(op) => {
                self.emit(again);
                self.at(at);
                self.emit(get);
                let over = self.jump(short_circuit_op(op));
                self.expr(value);
                self.at(at);
                self.emit(set);
                let height = self.stack_height();
                let end = self.jump(Op::Jump(0));
                self.patch_here(over);
                // Keeps the old value and removes the object below it.
                for _ in 0..parts {
                    self.emit(Op::Swap);
                    self.emit(Op::Pop);
                }
                self.set_stack_height(height);
                self.patch_here(end);
                return self.drop_unless(wanted);
            }
        }
        self.at(at);
        self.emit(set);
        self.drop_unless(wanted);
    }

    /// `++` and `--` as expressions.
    pub(super) fn update(&mut self, at: u32, target: &Pattern, by: i8, prefix: bool) {
        match &target.kind {
            PatternKind::Name(name) => {
                self.load_name(name.span);
                self.at(at);
                // A text is converted to a number first, not concatenated.
                self.emit(Op::Plus);
                if prefix {
                    self.emit(Op::AddInt(by));
                    self.emit(Op::Dup);
                } else {
                    self.emit(Op::Dup);
                    self.emit(Op::AddInt(by));
                }
                self.store_name(name.span);
            }
            PatternKind::Member(offset) => match &offset.kind {
                ExprKind::Member { object, name, .. } => {
                    self.expr(object);
                    let name = self.member_text(name);
                    self.at(at);
                    self.emit(Op::Update { name, by, prefix });
                }
                ExprKind::Index { object, index, .. } => {
                    self.expr(object);
                    self.expr(index);
                    self.at(at);
                    self.emit(Op::UpdateIndex { by, prefix });
                }
                _ => self.emit(Op::Undefined),
            },
            PatternKind::Array { .. } | PatternKind::Object { .. } => self.emit(Op::Undefined),
        }
    }

    /// Increments a local variable that is not shared in one operation.
    pub(super) fn increment(&mut self, target: &Pattern, by: i8) -> bool {
        let PatternKind::Name(name) = &target.kind else { return false };
        let id = self.shared.analysis.decl(name.span);
        let Some(id) = id.filter(|id| !self.is_captured(*id)) else { return false };
        let Some(slot) = self.locals.get(&id).copied() else { return false };
        self.at(target.span.start);
        self.emit(Op::Increment { slot, by });
        true
    }
}

/// Whether a simple value consists of names and literals only.
fn no_calls(value: &Expr) -> bool {
    match &value.kind {
        ExprKind::Template { values, .. } => values.iter().all(no_calls),
        ExprKind::Name(_) | ExprKind::Number(_) | ExprKind::Text(_) => true,
        _ => false,
    }
}
