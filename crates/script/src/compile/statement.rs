//! Statements. Before and after each, the operand stack is empty.

use super::builder::FunctionBuilder;
use super::op::Op;
use crate::ast::{Class, Expr, ExprKind, Stmt, StmtKind};

impl FunctionBuilder<'_, '_> {
    /// Dispatch only.
    pub(super) fn statement(&mut self, stmt: &Stmt) {
        self.at(stmt.span.start);
        match &stmt.kind {
            StmtKind::Declare { declarators, .. } => {
                for declarator in declarators {
                    match &declarator.init {
                        Some(init) => self.expr(init),
                        None => self.emit(Op::Undefined),
                    }
                    self.declare_pattern(&declarator.pattern);
                }
            }
            StmtKind::Var(declarators) => {
                for declarator in declarators {
                    if let Some(init) = &declarator.init {
                        self.expr(init);
                        self.assign_pattern(&declarator.pattern);
                    }
                }
            }
            StmtKind::Class(class) => self.class_declaration(class),
            StmtKind::Field { key, value } => self.field(stmt.span.start, key, value.as_ref()),
            // Functions were created at the beginning of their block.
            StmtKind::Function(_) | StmtKind::Empty => {}
            StmtKind::Expr(expr) => self.expr_for_effect(expr),
            StmtKind::Block(block) => self.block(block),
            StmtKind::If { branches, otherwise } => self.if_else(branches, otherwise.as_deref()),
            StmtKind::While { test, body } => self.while_loop(stmt.span.start, test, body),
            StmtKind::DoWhile { body, test } => self.do_while(stmt.span.start, body, test),
            StmtKind::For { init, test, update, body } => {
                self.for_loop(stmt.span.start, init.as_deref(), test.as_ref(), update, body);
            }
            StmtKind::ForEach { over_keys, binding, subject, body } => {
                self.for_each(stmt.span.start, *over_keys, binding, subject, body);
            }
            StmtKind::Switch { subject, cases } => self.switch(stmt.span.start, subject, cases),
            StmtKind::Try { block, catch, finally } => {
                self.try_statement(stmt.span.start, block, catch.as_ref(), finally.as_ref());
            }
            StmtKind::Throw(value) => {
                self.expr(value);
                self.at(stmt.span.start);
                self.emit(Op::Throw);
                // The following code is unreachable, but its stack heights are computed from here.
            }
            StmtKind::Return(value) => self.return_statement(stmt.span.start, value.as_ref()),
            StmtKind::Break(label) => self.leave(stmt.span.start, label.as_ref(), false),
            StmtKind::Continue(label) => self.leave(stmt.span.start, label.as_ref(), true),
            StmtKind::Labeled(label, body) => self.labeled(label, body),
        }
    }

    fn class_declaration(&mut self, class: &Class) {
        let Some(name) = &class.name else { return };
        if let Some(id) = self.shared.analysis.decl(name.span) {
            let fresh = !self.locals.contains_key(&id) || !self.is_captured(id);
            let slot = self.slot_of(id);
            if fresh {
                self.bring_into_scope(slot);
            }
        }
        self.class(class, Some(name.span));
        self.emit(Op::Pop);
    }

    fn if_else(&mut self, branches: &[(Expr, Stmt)], otherwise: Option<&Stmt>) {
        let mut ends = Vec::new();
        for (offset, (test, then)) in branches.iter().enumerate() {
            let next = self.jump_unless(test);
            self.scoped_statement(then);
            let is_last = offset + 1 == branches.len() && otherwise.is_none();
            if !is_last {
                ends.push(self.jump(Op::Jump(0)));
            }
            self.patch_here(next);
        }
        if let Some(otherwise) = otherwise {
            self.scoped_statement(otherwise);
        }
        self.patch_all_here(ends);
    }

    /// A statement whose variables end with it.
    pub(super) fn scoped_statement(&mut self, stmt: &Stmt) {
        let chain = self.chain;
        self.statement(stmt);
        self.chain = chain;
    }

    fn return_statement(&mut self, at: u32, value: Option<&Expr>) {
        match value {
            Some(value) => self.expr(value),
            None => self.emit(Op::Undefined),
        }
        // If the workflow returns an awaitable, it is awaited here.
        let may_be_awaitable = value.is_some_and(|value| {
            !matches!(value.kind, ExprKind::Object(_) | ExprKind::Array(_) | ExprKind::Text(_))
        });
        if self.code.is_workflow && may_be_awaitable {
            self.emit_suspension_point(at, Op::Await);
        }
        self.return_value(at);
    }
}
