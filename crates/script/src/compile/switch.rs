//! `switch`: tests in order, then bodies that fall through.

use super::builder::FunctionBuilder;
use super::op::Op;
use super::unwind::JumpScope;
use crate::ast::{Case, Expr};

impl FunctionBuilder<'_, '_> {
    pub(super) fn switch(&mut self, at: u32, subject: &Expr, cases: &[Case]) {
        let chain = self.chain;
        self.expr(subject);
        let value = self.hidden(at, 1);
        self.emit(Op::Store(value));
        for case in cases {
            self.hoist(&case.body);
        }
        let mut entries = Vec::new();
        for case in cases {
            entries.push(case.test.as_ref().map(|test| {
                self.emit(Op::Load(value));
                self.expr(test);
                self.at(case.span.start);
                self.emit(Op::StrictEq);
                self.jump(Op::JumpIfTrue(0))
            }));
        }
        let no_match = self.jump(Op::Jump(0));
        self.contexts.push(JumpScope::switch());
        let mut default = None;
        for (case, entry) in cases.iter().zip(entries) {
            match entry {
                Some(entry) => self.patch_here(entry),
                None => default = Some(self.next_pc()),
            }
            for statement in &case.body {
                self.statement(statement);
            }
        }
        match default {
            Some(target) => self.patch_to(no_match, target),
            None => self.patch_here(no_match),
        }
        if let Some(context) = self.contexts.pop() {
            self.patch_all_here(context.into_breaks());
        }
        self.chain = chain;
    }
}
