//! Loops. The condition is tested at the end, so that each iteration needs one jump.

use super::builder::FunctionBuilder;
use super::op::Op;
use super::unwind::JumpScope;
use crate::ast::{Expr, ForBinding, Ident, Stmt, StmtKind};
use crate::check::DeclId;

impl FunctionBuilder<'_, '_> {
    pub(super) fn labeled(&mut self, label: &Ident, body: &Stmt) {
        // The label of a loop belongs to the loop, so that `continue` can name it.
        let is_loop = matches!(
            body.kind,
            StmtKind::While { .. }
                | StmtKind::DoWhile { .. }
                | StmtKind::For { .. }
                | StmtKind::ForEach { .. }
                | StmtKind::Labeled(..)
        );
        self.contexts.push(JumpScope::label(label.name.clone(), is_loop));
        self.scoped_statement(body);
        if let Some(context) = self.contexts.pop() {
            self.patch_all_here(context.into_breaks());
        }
    }

    pub(super) fn while_loop(&mut self, at: u32, test: &Expr, body: &Stmt) {
        let to_test = self.jump(Op::Jump(0));
        let start = self.next_pc();
        self.contexts.push(JumpScope::enclosing_loop());
        self.scoped_statement(body);
        self.patch_continues();
        self.patch_here(to_test);
        self.emit_suspension_point(at, Op::LoopHead);
        self.jump_back_if(test, start);
        self.end_loop();
    }

    pub(super) fn do_while(&mut self, at: u32, body: &Stmt, test: &Expr) {
        let start = self.next_pc();
        self.emit_suspension_point(at, Op::LoopHead);
        self.contexts.push(JumpScope::enclosing_loop());
        self.scoped_statement(body);
        self.patch_continues();
        self.jump_back_if(test, start);
        self.end_loop();
    }

    pub(super) fn for_loop(
        &mut self,
        at: u32,
        init: Option<&Stmt>,
        test: Option<&Expr>,
        update: &[Expr],
        body: &Stmt,
    ) {
        let chain = self.chain;
        self.hoist(init.map(std::slice::from_ref).unwrap_or_default());
        if let Some(init) = init {
            self.statement(init);
        }
        let shared = self.captured_by(init);
        let to_test = self.jump(Op::Jump(0));
        let start = self.next_pc();
        self.contexts.push(JumpScope::enclosing_loop());
        self.scoped_statement(body);
        self.patch_continues();
        // Functions created in this iteration keep its variables; the next iteration gets new ones.
        for id in shared {
            let slot = self.slot_of(id);
            self.emit(Op::RenewCell(slot));
        }
        for update in update {
            self.expr_for_effect(update);
        }
        self.patch_here(to_test);
        self.emit_suspension_point(at, Op::LoopHead);
        match test {
            Some(test) => self.jump_back_if(test, start),
            None => self.emit(Op::Jump(start)),
        }
        self.end_loop();
        self.chain = chain;
    }

    fn captured_by(&self, init: Option<&Stmt>) -> Vec<DeclId> {
        let mut ids = Vec::new();
        if let Some(Stmt { kind: StmtKind::Declare { declarators, .. }, .. }) = init {
            for declarator in declarators {
                declarator.pattern.each_name(&mut |name| {
                    let id = self.shared.analysis.decl(name.span);
                    ids.extend(id.filter(|id| self.is_captured(*id)));
                });
            }
        }
        ids
    }

    pub(super) fn for_each(
        &mut self,
        at: u32,
        over_keys: bool,
        binding: &ForBinding,
        subject: &Expr,
        body: &Stmt,
    ) {
        let chain = self.chain;
        self.expr(subject);
        self.at(subject.span.start);
        self.emit(if over_keys { Op::Keys } else { Op::Values });
        let list = self.hidden(at, 1);
        let count = self.hidden(at, 2);
        self.emit(Op::Store(list));
        self.emit(Op::Int(0));
        self.emit(Op::Store(count));
        let start = self.next_pc();
        self.emit_suspension_point(at, Op::LoopHead);
        let end = self.jump(Op::Next { slot: list, to: 0 });
        let inside = self.chain;
        if binding.declares.is_some() {
            binding.pattern.each_name(&mut |name| {
                let id = self.shared.analysis.decl(name.span);
                id.filter(|id| self.is_captured(*id))
                    .into_iter()
                    .for_each(|id| self.declare_without_value(id));
            });
            self.declare_pattern(&binding.pattern);
        } else {
            self.assign_pattern(&binding.pattern);
        }
        self.contexts.push(JumpScope::enclosing_loop());
        self.scoped_statement(body);
        self.patch_continues();
        self.chain = inside;
        self.emit(Op::Jump(start));
        self.patch_here(end);
        self.end_loop();
        self.chain = chain;
    }

    fn patch_continues(&mut self) {
        let continues = self.take_continues();
        self.patch_all_here(continues);
    }

    fn end_loop(&mut self) {
        if let Some(context) = self.contexts.pop() {
            self.patch_all_here(context.into_breaks());
        }
    }
}
