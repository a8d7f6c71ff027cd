//! Resolves uses of names to declarations, and records captures.

use std::sync::Arc;

use super::names::{INPUT_NAMES, Names};
use super::scope::{DeclId, DeclKind, FunctionId, NameUse, ScopeId};
use super::similar::closest;
use crate::ast::{AssignOp, Expr, ExprKind, Ident, Pattern, PatternKind, Prop};
use crate::library::{global, global_names};
use crate::problem::Code;

/// Names of other JavaScript environments, and what to use instead.
const HELP_FOR_FOREIGN_NAMES: &[(&str, &str)] = &[
    ("setTimeout", "use `await Task.delay(seconds)`"),
    ("setInterval", "use a loop with `await Task.delay(seconds)`"),
    ("fetch", "use `await Http.request({ method, url })`"),
    ("require", "a flow is one file; call other work with Task.run or Workflow.run"),
    ("process", "secrets and settings belong to workers, not to flows"),
    ("Symbol", "use strings"),
    ("globalThis", "there are no global variables"),
    ("window", "there are no global variables"),
    ("arguments", "use a rest parameter: (...args)"),
];

impl Names<'_, '_> {
    /// Resolves the names that an expression itself uses; its operands are visited later.
    pub(super) fn resolve_names_of(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Name(name) => {
                let name = Ident { name: name.clone(), span: expr.span };
                self.resolve_read(&name);
            }
            ExprKind::This => self.resolve_special("this", expr.span.start, expr),
            ExprKind::SuperCall { .. } => {
                let at = expr.span.start;
                self.resolve_special("super", at, expr);
                self.resolve_special("this", at + 1, expr);
                self.resolve_special("new.target", at + 2, expr);
            }
            ExprKind::SuperMember(_) => {
                self.resolve_special("super", expr.span.start, expr);
                self.resolve_special("this", expr.span.start + 1, expr);
            }
            ExprKind::Member { name, .. } if name.name.starts_with('#') => {
                self.resolve_private(name);
            }
            ExprKind::HasPrivate { name, .. } => {
                let name = Ident { name: format!("#{}", name.name).into(), span: name.span };
                self.resolve_private(&name);
            }
            ExprKind::Object(props) => {
                for prop in props {
                    if let Prop::Short { name, default } = prop {
                        self.resolve_read(name);
                        if default.is_some() {
                            let message = "a default is valid only in a destructuring pattern";
                            self.problems.add(Code::Syntax, name.span, message);
                        }
                    }
                }
            }
            // A variable that is changed based on its old value must exist.
            ExprKind::Assign { target, op, .. } if *op != AssignOp::Plain => {
                self.check_assigned_names(target);
            }
            ExprKind::Update { target, .. } => self.check_assigned_names(target),
            _ => {}
        }
    }

    /// `this` or a part of `super`, registered at a position of its own.
    fn resolve_special(&mut self, name: &str, at: u32, expr: &Expr) {
        let name = Ident { name: name.into(), span: crate::span::Span::new(at, at + 1) };
        if let Some(id) = self.find(&name, self.scope) {
            return self.mark_used(&name, id, self.scope);
        }
        let (message, help) = match expr.kind {
            ExprKind::This => {
                ("`this` outside of a function is not in the language", "name the value")
            }
            ExprKind::SuperCall { .. } => (
                "`super(…)` is valid only in the constructor of a class that extends another",
                "remove it",
            ),
            _ => ("`super` is valid only in a method of a class", "remove it"),
        };
        self.problems.add_with_help(Code::Refused, expr.span, message, help);
    }

    /// Finds the class that declares a private name.
    pub(super) fn resolve_private(&mut self, name: &Ident) {
        let mut at = Some(self.scope);
        while let Some(scope) = at.and_then(|id| self.scopes.get(id)) {
            if let Some((class, names)) = &scope.privates
                && names.contains(&name.name)
            {
                self.analysis.privates.insert(name.span.start, *class);
                return;
            }
            at = scope.parent;
        }
        let message = format!("no enclosing class declares `{}`", name.name);
        let help = "declare it as a field of the class";
        self.problems.add_with_help(Code::UndefinedName, name.span, message, help);
    }

    fn check_assigned_names(&mut self, target: &Pattern) {
        let PatternKind::Name(name) = &target.kind else { return };
        if self.find(name, self.scope).is_none() {
            self.late.push((name.clone(), self.scope));
        } else {
            self.resolve_read(name);
        }
    }

    fn resolve_read(&mut self, name: &Ident) {
        match self.find(name, self.scope) {
            Some(id) => self.mark_used(name, id, self.scope),
            None => match global(&name.name) {
                Some(global) => {
                    self.analysis.uses.insert(name.span.start, NameUse::Global(global));
                }
                None => self.late.push((name.clone(), self.scope)),
            },
        }
    }

    fn mark_used(&mut self, name: &Ident, id: DeclId, scope: ScopeId) {
        if self.entry == Some(id) {
            let message = "a use of the default export itself is not in the language";
            let help = "start another instance with Workflow.run, or move the code into a function";
            self.problems.add_with_help(Code::Refused, name.span, message, help);
            return;
        }
        self.record_use(name, id, scope);
        if let Some(decl) = self.analysis.decls.get_mut(id) {
            decl.read = true;
        }
    }

    /// A plain assignment: to an existing variable, or else a declaration.
    pub(super) fn assign(&mut self, name: &Ident) {
        let late = |(it, _): &(Ident, ScopeId)| it.span == name.span;
        if self.late.iter().any(late) {
            // A compound assignment never declares an unknown name.
            return;
        }
        let Some(id) = self.find(name, self.scope) else {
            if global(&name.name).is_some() {
                let message = format!("`{}` is part of the language", name.name);
                self.problems.add_with_help(
                    Code::Constant,
                    name.span,
                    message,
                    "choose another name",
                );
                return;
            }
            if self.is_module {
                return self.report_undeclared(name);
            }
            let function = self.scopes.get(self.scope).map_or(0, |scope| scope.function);
            let node = self.functions.get(function);
            let (outer, at) = node.map_or((0, u32::MAX), |node| (node.scope, node.at));
            let id = self.analysis.decls.len();
            self.analysis.implicit.entry(at).or_default().push(id);
            let here = std::mem::replace(&mut self.scope, outer);
            self.declare(name, DeclKind::Implicit, 0);
            self.scope = here;
            return;
        };
        let kind = self.analysis.decls.get(id).map(|decl| decl.kind);
        if let Some(kind @ (DeclKind::Const | DeclKind::Function)) = kind {
            let what = if kind == DeclKind::Const { "a constant" } else { "a function" };
            let message = format!("`{}` is {what} and cannot be assigned to", name.name);
            let help = "declare it with `let`, or choose another name";
            self.problems.add_with_help(Code::Constant, name.span, message, help);
        }
        self.record_use(name, id, self.scope);
    }

    /// In a module an assignment declares nothing.
    fn report_undeclared(&mut self, name: &Ident) {
        if !self.lost.contains(&name.name) {
            let message = format!("`{}` is not defined", name.name);
            let help = "declare it with `let`";
            self.problems.add_with_help(Code::UndefinedName, name.span, message, help);
        }
    }

    pub(super) fn find(&self, name: &Ident, from: ScopeId) -> Option<DeclId> {
        let mut at = Some(from);
        while let Some(scope) = at.and_then(|id| self.scopes.get(id)) {
            if let Some(id) = scope.names.get(&name.name) {
                return Some(*id);
            }
            at = scope.parent;
        }
        None
    }

    /// Records that a name refers to a declaration, and that the functions in between capture it.
    fn record_use(&mut self, name: &Ident, id: DeclId, scope: ScopeId) {
        self.analysis.uses.insert(name.span.start, NameUse::Decl(id));
        let user = self.scopes.get(scope).map_or(0, |scope| scope.function);
        let Some(decl) = self.analysis.decls.get_mut(id) else { return };
        if decl.function == user {
            if name.span.start < decl.ready_at && name.span != decl.span {
                let message = format!("`{}` is used before its declaration", name.name);
                self.problems.add(Code::UsedBeforeDeclaration, name.span, message);
            }
            return;
        }
        decl.captured = true;
        let owner = decl.function;
        self.capture(id, user, owner);
    }

    fn capture(&mut self, id: DeclId, user: FunctionId, owner: FunctionId) {
        let mut at = Some(user);
        while let Some(function) = at.filter(|function| *function != owner) {
            let Some(node) = self.functions.get(function) else { return };
            // If this function has captured it, so have all functions in between.
            if !self.analysis.captures.entry(node.at).or_default().insert(id) {
                return;
            }
            at = node.parent;
        }
    }

    /// Resolves the remaining names: now all assignments of this function are known; those of the
    /// enclosing functions were already.
    pub(super) fn resolve_late_names(&mut self) {
        for (name, scope) in std::mem::take(&mut self.late) {
            match self.find(&name, scope) {
                Some(id) => self.mark_used(&name, id, scope),
                None => self.report_undefined(&name, scope),
            }
        }
    }

    fn report_undefined(&mut self, name: &Ident, scope: ScopeId) {
        self.analysis.undefined.insert(name.name.to_string());
        if !self.problems.is_full() && !self.lost.contains(&name.name) {
            let known = HELP_FOR_FOREIGN_NAMES.iter().find(|(word, _)| *word == &*name.name);
            let help = match known {
                Some((_, help)) => Some((*help).to_owned()),
                None => self.suggest_name(name, scope),
            };
            let message = format!("`{}` is not defined", name.name);
            match help {
                Some(help) => {
                    self.problems.add_with_help(Code::UndefinedName, name.span, message, help);
                }
                None => self.problems.add(Code::UndefinedName, name.span, message),
            }
        }
    }

    fn suggest_name(&self, name: &Ident, scope: ScopeId) -> Option<String> {
        let mut visible: Vec<&str> = Vec::new();
        let mut at = Some(scope);
        while let Some(scope) = at.and_then(|id| self.scopes.get(id)) {
            let is_written = |(_, id): &(&Arc<str>, &DeclId)| {
                self.analysis.decls.get(**id).is_some_and(|decl| !decl.kind.is_special())
            };
            visible.extend(scope.names.iter().filter(is_written).map(|(name, _)| &**name));
            at = scope.parent;
        }
        visible.sort_unstable();
        let all = visible.into_iter().chain(global_names().map(|name| -> &str { name }));
        let meant = closest(&name.name, all.filter(|name| *name != INPUT_NAMES[1]))?;
        Some(format!("did you mean `{meant}`?"))
    }
}
