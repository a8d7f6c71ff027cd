//! Classes: the class itself is its constructor, with its methods on a prototype.

use super::builder::{FunctionBuilder, as_u32};
use super::op::{MethodKind, Op};
use crate::ast::{Accessor, Arg, Class, Expr, ExprKind, Function, FunctionKind, Ident, PropKey};
use crate::check::DeclKind;
use crate::span::Span;

impl FunctionBuilder<'_, '_> {
    /// Creates a class and leaves it on the stack. A declared name is set before static fields are
    /// defined, which may use it.
    pub(super) fn class(&mut self, class: &Class, declared: Option<Span>) {
        match &class.extends {
            Some(parent) => self.expr(parent),
            None => self.emit(Op::Undefined),
        }
        let at = class.constructor.span.start;
        self.shared.fields.insert(at, class.fields.is_some());
        self.closure(&class.constructor);
        self.at(at);
        self.emit(Op::NewClass { derived: class.extends.is_some() });
        for method in &class.methods {
            let kind = MethodKind {
                is_static: method.is_static,
                accessor: method.accessor,
                in_literal: false,
            };
            self.method(&method.key, &method.function, kind);
        }
        if let Some(fields) = &class.fields {
            self.closure(fields);
            self.emit(Op::SetFields { is_static: false });
        }
        if let Some(name) = declared {
            self.emit(Op::Dup);
            self.store_name(name);
        }
        if let Some(statics) = &class.statics {
            self.emit(Op::Dup);
            self.closure(statics);
            self.emit(Op::SetFields { is_static: true });
            self.emit_suspension_point(statics.span.start, Op::CallThis(0));
            self.emit(Op::Pop);
        }
    }

    /// Adds a method or an accessor to the class or object on the stack.
    pub(super) fn method(&mut self, key: &PropKey, function: &Function, kind: MethodKind) {
        match key {
            PropKey::Computed(key) => {
                self.expr(key);
                self.closure(function);
                self.at(function.span.start);
                self.emit(Op::DefineComputed(kind));
            }
            PropKey::Name(name, _) => {
                let name = self.shared.text(name);
                self.closure(function);
                self.at(function.span.start);
                self.emit(Op::Define { name, kind });
            }
            PropKey::Private(name) => {
                let name = self.private_text(name);
                self.closure(function);
                self.at(function.span.start);
                self.emit(Op::Define { name, kind });
            }
        }
    }

    /// The property name that a private name stands for. Scripts cannot write it.
    pub(super) fn private_text(&mut self, name: &Ident) -> u32 {
        let class = self.shared.analysis.privates.get(&name.span.start).copied();
        let plain = name.name.trim_start_matches('#');
        let text = format!("\u{1}#{plain}:{}", class.unwrap_or_default());
        self.shared.text(&text.into())
    }

    /// The constant of a property name after a dot.
    pub(super) fn member_text(&mut self, name: &Ident) -> u32 {
        if name.name.starts_with('#') {
            self.private_text(name)
        } else {
            self.shared.text(&name.name)
        }
    }

    /// `this` and the other variables that no name declares, at the start of a function.
    pub(super) fn declare_specials(&mut self, function: &Function) {
        let start = function.span.start;
        let ids = self.shared.analysis.specials.get(&start).cloned().unwrap_or_default();
        let constructs =
            matches!(function.kind, FunctionKind::Constructor | FunctionKind::DerivedConstructor);
        for id in ids {
            let Some(decl) = self.shared.analysis.decls.get(id) else { continue };
            let (kind, read) = (decl.kind, decl.read);
            let needed = read || constructs || function.kind == FunctionKind::Fields;
            if !needed {
                continue;
            }
            let slot = self.slot_of(id);
            self.bring_into_scope(slot);
            self.emit(match kind {
                DeclKind::Home => Op::TakeHome,
                DeclKind::NewTarget => Op::TakeTarget,
                _ => Op::TakeThis,
            });
            if self.is_captured(id) {
                self.emit(Op::NewCell(slot));
            }
            self.store(id);
            if matches!(kind, DeclKind::This | DeclKind::DerivedThis) {
                self.own_this = Some(id);
            } else if kind == DeclKind::Home {
                self.own_home = Some(id);
            }
        }
        if function.kind == FunctionKind::Constructor {
            self.define_fields(start, start);
        }
    }

    /// Calls the function that defines the fields of the new object.
    fn define_fields(&mut self, class: u32, at: u32) {
        if !self.shared.fields.get(&class).copied().unwrap_or_default() {
            return;
        }
        let (Some(this), Some(home)) = (self.own_this, self.own_home) else { return };
        self.load(this);
        self.load(home);
        self.emit_suspension_point(at, Op::CallFields);
        self.emit(Op::Pop);
    }

    /// `super(…)`: the parent creates the object, then the fields are defined.
    pub(super) fn super_call(&mut self, expr: &Expr, args: &[Arg], paren: u32) {
        let at = expr.span.start;
        self.load_at(at);
        self.load_at(at + 2);
        if args.iter().any(|arg| arg.spread) {
            self.list(args);
            self.emit_suspension_point_at(at, paren, Op::SuperConstructSpread);
        } else {
            for arg in args {
                self.expr(&arg.value);
            }
            let count = as_u32(args.len());
            self.emit_suspension_point_at(at, paren, Op::SuperConstruct(count));
        }
        self.emit(Op::Dup);
        self.load_at(at + 1);
        self.emit(Op::NotYet);
        match self.shared.analysis.decl(Span::new(at + 1, at + 2)) {
            Some(id) => self.store(id),
            None => self.emit(Op::Pop),
        }
        // The object and its class are known at run time; there may be no fields.
        self.emit(Op::Dup);
        self.load_at(at);
        self.emit_suspension_point(at, Op::CallFields);
        self.emit(Op::Pop);
    }

    fn load_at(&mut self, at: u32) {
        match self.shared.analysis.decl(Span::new(at, at + 1)) {
            Some(id) => self.load(id),
            None => self.emit(Op::Undefined),
        }
    }

    /// `super.name`
    pub(super) fn super_member(&mut self, at: u32, name: &Ident) {
        self.load_at(at + 1);
        self.load_at(at);
        let name_id = self.shared.text(&name.name);
        self.at(name.span.start);
        self.emit(Op::SuperGet(name_id));
    }

    /// The receiver and the function of a call whose function gets a receiver.
    pub(super) fn super_callee(&mut self, at: u32, name: &Ident) {
        self.load_at(at + 1);
        self.emit(Op::Dup);
        self.load_at(at);
        let name_id = self.shared.text(&name.name);
        self.at(name.span.start);
        self.emit(Op::SuperGet(name_id));
    }

    pub(super) fn this(&mut self, expr: &Expr) {
        let id = self.shared.analysis.decl(expr.span);
        let kind = id.and_then(|id| self.shared.analysis.decls.get(id)).map(|decl| decl.kind);
        self.load_at(expr.span.start);
        if kind == Some(DeclKind::DerivedThis) {
            self.at(expr.span.start);
            self.emit(Op::NeedThis);
        }
    }

    /// A field of the object that is being constructed.
    pub(super) fn field(&mut self, at: u32, key: &PropKey, value: Option<&Expr>) {
        let Some(this) = self.own_this else { return };
        self.load(this);
        match value {
            Some(value) => self.expr(value),
            None => self.emit(Op::Undefined),
        }
        let name = match key {
            PropKey::Name(name, _) => self.shared.text(name),
            PropKey::Private(name) => self.private_text(name),
            PropKey::Computed(_) => return,
        };
        self.at(at);
        self.emit(Op::DefineField(name));
    }

    /// `new callee(…)`
    pub(super) fn construct(&mut self, expr: &Expr) {
        let ExprKind::New { callee, args, paren } = &expr.kind else { return };
        let spread = args.iter().any(|arg| arg.spread);
        if let (Some(function), false) = (self.error_function(callee), spread) {
            for arg in args {
                self.expr(&arg.value);
            }
            self.at(expr.span.start);
            return self.emit(Op::NewError { function, args: as_u32(args.len()) });
        }
        self.expr(callee);
        if spread {
            self.list(args);
            self.emit_suspension_point_at(expr.span.start, *paren, Op::ConstructSpread);
        } else {
            for arg in args {
                self.expr(&arg.value);
            }
            let count = as_u32(args.len());
            self.emit_suspension_point_at(expr.span.start, *paren, Op::Construct(count));
        }
    }

    /// What a constructor returns: an object, or `this`.
    pub(super) fn constructed(&mut self) {
        if let (Some(this), true) = (self.own_this, self.constructs) {
            self.load(this);
            self.emit(Op::OrThis);
        }
    }

    /// An accessor of an object literal.
    pub(super) fn literal_accessor(&mut self, key: &PropKey, which: Accessor, function: &Function) {
        let kind = MethodKind { is_static: false, accessor: Some(which), in_literal: true };
        self.method(key, function, kind);
    }
}
