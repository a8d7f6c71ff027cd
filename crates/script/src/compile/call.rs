//! Calls: of functions, of methods, of the library.

use super::builder::{FunctionBuilder, JumpPatch, as_u32};
use super::op::Op;
use std::sync::Arc;

use crate::ast::{Arg, Expr, ExprKind};
use crate::check::NameUse;
use crate::library::{Builtin, Global, Member};

impl FunctionBuilder<'_, '_> {
    pub(super) fn call(&mut self, expr: &Expr, exits: &mut Vec<JumpPatch>) {
        let ExprKind::Call { callee, args, optional, paren } = &expr.kind else { return };
        if let Some(function) = self.library_function(callee) {
            return self.call_builtin(function, args, callee.span.start, *paren);
        }
        let is_private =
            matches!(&callee.kind, ExprKind::Member { name, .. } if name.name.starts_with('#'));
        if matches!(callee.kind, ExprKind::SuperMember(_)) || (is_private && !optional) {
            self.callee(callee);
            return self.call_with_receiver(args, callee.span.start, *paren);
        }
        if let ExprKind::Index { object, index, optional: on_object } = &callee.kind {
            self.link(object, exits);
            if *on_object {
                exits.push(self.jump(Op::JumpIfNothing(0)));
            }
            self.expr(index);
            self.at(index.span.start);
            self.emit(Op::GetCalleeIndex);
            if *optional {
                exits.push(self.jump(Op::JumpIfNoCallee(0)));
            }
            return self.call_with_receiver(args, callee.span.start, *paren);
        }
        if let ExprKind::Member { object, name, optional: on_object } = &callee.kind {
            self.link(object, exits);
            if *on_object {
                exits.push(self.jump(Op::JumpIfNothing(0)));
            }
            let id = self.member_text(name);
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

    fn call_with_receiver(&mut self, args: &[Arg], shown: u32, paren: u32) {
        if self.args(args) {
            self.emit_suspension_point_at(shown, paren, Op::CallThisSpread);
        } else {
            let args = as_u32(args.len());
            self.emit_suspension_point_at(shown, paren, Op::CallThis(args));
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

    /// The library function if a callee is the constructor of an error.
    pub(super) fn error_function(&self, callee: &Expr) -> Option<Builtin> {
        let function = self.library_function(callee)?;
        let is_plain = matches!(
            function,
            Builtin::MakeError | Builtin::MakeTypeError | Builtin::MakeRangeError
        );
        is_plain.then_some(function)
    }

    /// A template that is passed to a function: a list of its texts, then the values.
    pub(super) fn tagged(
        &mut self,
        tag: &Expr,
        texts: &[Arc<str>],
        raws: &[Arc<str>],
        values: &[Expr],
        at: u32,
    ) {
        self.callee(tag);
        for parts in [texts, raws] {
            self.emit(Op::NewList);
            for text in parts {
                let text = self.shared.text(text);
                self.emit(Op::Const(text));
                self.emit(Op::Append);
            }
        }
        self.emit(Op::Raw);
        for value in values {
            self.expr(value);
        }
        let args = as_u32(values.len() + 1);
        self.emit_suspension_point_at(tag.span.start, at, Op::CallThis(args));
    }

    /// The receiver and the function of a call.
    fn callee(&mut self, callee: &Expr) {
        match &callee.kind {
            ExprKind::Member { object, name, .. } if self.library_function(callee).is_none() => {
                self.expr(object);
                let name_id = self.member_text(name);
                self.at(name.span.start);
                self.emit(Op::GetCallee(name_id));
            }
            ExprKind::SuperMember(name) => self.super_callee(callee.span.start, name),
            _ => {
                self.emit(Op::Undefined);
                self.expr(callee);
            }
        }
    }
}
