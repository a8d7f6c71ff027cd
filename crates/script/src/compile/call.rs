//! Calls: of functions, of methods, of the library.

use super::builder::{FunctionBuilder, JumpPatch, as_u32};
use super::op::Op;
use crate::ast::{Arg, Expr, ExprKind, Ident};
use crate::check::NameUse;
use crate::library::{Builtin, Global, Member};

impl FunctionBuilder<'_, '_> {
    pub(super) fn call(&mut self, expr: &Expr, exits: &mut Vec<JumpPatch>) {
        let ExprKind::Call { callee, args, optional, paren } = &expr.kind else { return };
        if let Some(function) = self.library_function(callee) {
            return self.call_builtin(function, args, callee.span.start, *paren);
        }
        if let ExprKind::Member { object, name, optional: on_object } = &callee.kind {
            self.link(object, exits);
            if *on_object {
                exits.push(self.jump(Op::JumpIfNothing(0)));
            }
            let id = self.shared.text(&name.name);
            if *optional {
                self.at(name.span.start);
                exits.push(self.jump(Op::JumpIfNoMethod { name: id, to: 0 }));
            }
            if self.args(args) {
                self.emit_suspension_point_at(name.span.start, *paren, Op::CallMethodSpread(id));
            } else {
                let args = as_u32(args.len());
                self.emit_suspension_point_at(
                    name.span.start,
                    *paren,
                    Op::CallMethod { name: id, args },
                );
            }
        } else {
            self.link(callee, exits);
            if *optional {
                exits.push(self.jump(Op::JumpIfNothing(0)));
            }
            if self.args(args) {
                self.emit_suspension_point_at(callee.span.start, *paren, Op::CallSpread);
            } else {
                let args = as_u32(args.len());
                self.emit_suspension_point_at(callee.span.start, *paren, Op::Call(args));
            }
        }
    }

    fn call_builtin(&mut self, function: Builtin, args: &[Arg], shown: u32, paren: u32) {
        if self.args(args) {
            self.emit_suspension_point_at(shown, paren, Op::CallBuiltinSpread(function));
        } else {
            let args = as_u32(args.len());
            self.emit_suspension_point_at(shown, paren, Op::CallBuiltin { function, args });
        }
    }

    /// Compiles arguments one by one, or as one list if some are spread; returns whether they are
    /// spread.
    fn args(&mut self, args: &[Arg]) -> bool {
        let spread = args.iter().any(|arg| arg.spread);
        if spread {
            self.list(args);
        } else {
            for arg in args {
                self.expr(&arg.value);
            }
        }
        spread
    }

    fn library_function(&self, callee: &Expr) -> Option<Builtin> {
        match &callee.kind {
            ExprKind::Name(_) => match self.shared.analysis.at(callee.span)? {
                NameUse::Global(Global::Function(function)) => Some(function),
                _ => None,
            },
            ExprKind::Member { object, name, .. } => {
                match self.library_member(object, &name.name)? {
                    Member::Function(function) => Some(function),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    pub(super) fn new_error(&mut self, at: u32, name: &Ident, args: &[Arg]) {
        let function = Builtin::by_full_name(&name.name).unwrap_or(Builtin::MakeError);
        let plain: Vec<&Arg> = args.iter().filter(|arg| !arg.spread).collect();
        for arg in &plain {
            self.expr(&arg.value);
        }
        self.at(at);
        self.emit(Op::NewError { function, args: as_u32(plain.len()) });
    }
}
