//! Resolves names and declares variables, scope by scope.
//!
//! The body of a function is checked after the enclosing code, so that it sees names which that
//! code declares by assignment, even further down.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use super::awaits::check_awaits;
use super::call::check_calls;
use super::jump::check_jumps;
use super::scope::{Analysis, Decl, DeclId, DeclKind, FunctionId, NameUse, Scope, ScopeId};
use super::similar::resembles;
use crate::ast::{
    Block, Body, Catch, Class, Declarator, Expr, ExprKind, File, ForBinding, Function,
    FunctionKind, Ident, Pattern, PatternKind, PropKey, Stmt, StmtKind, Visitor, Workflow,
    walk_expr, walk_stmt,
};
use crate::problem::{Code, Problems};
use crate::span::Span;

/// The names of the input in a bare script.
pub(crate) const INPUT_NAMES: [&str; 2] = ["inputs", "Inputs"];

/// With more declarations, names are not compared for similarity.
const MAX_COMPARED_NAMES: usize = 1_000;

/// Checks a file and resolves its names.
pub(crate) fn check(file: &File, problems: &mut Problems) -> Analysis {
    check_form(file, problems);
    let mut names = Names {
        problems,
        analysis: Analysis::default(),
        scopes: Vec::new(),
        functions: Vec::new(),
        queue: VecDeque::new(),
        scope: 0,
        late: Vec::new(),
        lost: &file.lost,
        is_module: file.is_module,
        entry: None,
    };
    names.file(file);
    let Names { mut analysis, problems, .. } = names;
    check_unused(&analysis, problems);
    check_jumps(file, problems);
    check_awaits(file, &analysis, problems);
    analysis.timers = check_calls(file, &analysis, problems);
    analysis
}

/// A file with workflows may contain no other statements that run.
fn check_form(file: &File, problems: &mut Problems) {
    check_exports(file, problems);
    if file.workflows.is_empty() {
        return;
    }
    for statement in &file.statements {
        let declares = matches!(
            statement.kind,
            StmtKind::Declare { .. }
                | StmtKind::Var(_)
                | StmtKind::Class(_)
                | StmtKind::Function(_)
                | StmtKind::Empty
        );
        if !declares {
            let message =
                "besides workflows, a file contains only functions, classes and constants";
            let help = "move the statement into the workflow";
            problems.add_with_help(Code::Form, statement.span, message, help);
        }
    }
    let mut seen: BTreeMap<&str, Span> = BTreeMap::new();
    for workflow in &file.workflows {
        let Some(name) = &workflow.name else {
            check_entry(workflow, problems);
            continue;
        };
        if seen.insert(&name.name, name.span).is_some() {
            let message = format!("the workflow `{}` is declared twice", name.name);
            problems.add(Code::Duplicate, name.span, message);
        }
        if file.is_module {
            let message = "a file has either an `export default` or workflows";
            let help = "put this workflow into a file of its own";
            problems.add_with_help(Code::Form, name.span, message, help);
        }
        if workflow.takes_context() {
            let message = "a workflow takes one input";
            let help = "take it apart: workflow name({ first, second }) { … }";
            problems.add_with_help(Code::Form, name.span, message, help);
        }
    }
}

/// The default export of a module gets two arguments.
fn check_entry(workflow: &Workflow, problems: &mut Problems) {
    if let Some(third) = workflow.function.params.get(2) {
        let message = "the default export gets two arguments: the input and the context";
        let help = "take the input apart: ({ first, second }, ctx)";
        problems.add_with_help(Code::Form, third.pattern.span, message, help);
    }
}

/// Only a module exports.
fn check_exports(file: &File, problems: &mut Problems) {
    for span in file.exports.iter().filter(|_| !file.is_module) {
        let message = "`export` is valid only beside an `export default`";
        let help = "write the workflow as `export default async function (input, ctx) { … }`, or \
                    remove the word";
        problems.add_with_help(Code::Form, *span, message, help);
    }
}

pub(super) struct Names<'p, 'a> {
    pub(super) problems: &'p mut Problems,
    pub(super) analysis: Analysis,
    pub(super) scopes: Vec<Scope>,
    pub(super) functions: Vec<FunctionNode>,
    queue: VecDeque<(&'a Function, ScopeId, FunctionId)>,
    pub(super) scope: ScopeId,
    /// Reads of unknown names; an assignment further down may still declare them.
    pub(super) late: Vec<(Ident, ScopeId)>,
    /// Names whose declarations could not be parsed.
    pub(super) lost: &'a BTreeSet<Arc<str>>,
    /// Whether an assignment to an unknown name is an error, as in JavaScript's modules.
    pub(super) is_module: bool,
    /// The name of the default export, which nothing may call.
    pub(super) entry: Option<DeclId>,
}

/// A function, its position, and the enclosing function.
pub(super) struct FunctionNode {
    pub(super) at: u32,
    pub(super) parent: Option<FunctionId>,
    /// The scope of its parameters and of names that it declares by assignment.
    pub(super) scope: ScopeId,
}

impl<'a> Names<'_, 'a> {
    fn file(&mut self, file: &'a File) {
        self.functions.push(FunctionNode { at: u32::MAX, parent: None, scope: 0 });
        self.scopes.push(Scope {
            parent: None,
            function: 0,
            names: BTreeMap::new(),
            privates: None,
        });
        if file.workflows.is_empty() {
            self.declare_inputs();
        }
        for workflow in &file.workflows {
            self.declare_entry(workflow);
        }
        self.declare_vars(&file.statements);
        self.hoist(&file.statements);
        for statement in &file.statements {
            self.stmt(statement);
        }
        for workflow in &file.workflows {
            self.enqueue(&workflow.function);
        }
        self.resolve_late_names();
        while let Some((function, scope, id)) = self.queue.pop_front() {
            self.function_body(function, scope, id);
            self.resolve_late_names();
        }
        self.join_inputs();
    }

    /// The name of a default export is a name of its file.
    fn declare_entry(&mut self, workflow: &'a Workflow) {
        let (None, Some(name)) = (&workflow.name, &workflow.function.name) else { return };
        let id = self.analysis.decls.len();
        self.declare(name, DeclKind::Function, 0);
        self.entry = Some(id);
        if let Some(decl) = self.analysis.decls.get_mut(id) {
            decl.read = true;
        }
    }

    /// Both names share one slot, so both are captured if one is.
    fn join_inputs(&mut self) {
        let is_input = |decl: &&mut Decl| decl.span.start == u32::MAX;
        let captured = self.analysis.decls.iter_mut().filter(is_input).any(|it| it.captured);
        for decl in self.analysis.decls.iter_mut().filter(is_input) {
            decl.captured = captured;
        }
    }

    /// `inputs` and `Inputs` are two names of one parameter.
    fn declare_inputs(&mut self) {
        for name in INPUT_NAMES {
            let ident = Ident { name: name.into(), span: Span::new(u32::MAX, u32::MAX) };
            self.declare(&ident, DeclKind::Param, 0);
        }
    }

    fn enqueue(&mut self, function: &'a Function) {
        let id = self.functions.len();
        let parent = self.scopes.get(self.scope).map(|scope| scope.function);
        self.functions.push(FunctionNode { at: function.span.start, parent, scope: 0 });
        self.analysis.captures.insert(function.span.start, BTreeSet::new());
        self.queue.push_back((function, self.scope, id));
    }

    fn function_body(&mut self, function: &'a Function, outside: ScopeId, id: FunctionId) {
        let scope = self.scopes.len();
        self.scopes.push(Scope {
            parent: Some(outside),
            function: id,
            names: BTreeMap::new(),
            privates: None,
        });
        if let Some(node) = self.functions.get_mut(id) {
            node.scope = scope;
        }
        self.scope = scope;
        self.declare_specials(function, scope);
        let params = function.params.iter().map(|param| &param.pattern);
        for pattern in params.chain(&function.rest) {
            let ready_at = pattern.span.start;
            pattern.each_name(&mut |name| self.declare(name, DeclKind::Param, ready_at));
        }
        for param in &function.params {
            self.pattern_values(&param.pattern);
            if let Some(default) = &param.default {
                self.expr(default);
            }
        }
        match &function.body {
            Body::Block(block) => {
                self.declare_vars(&block.statements);
                self.hoist(&block.statements);
                for statement in &block.statements {
                    self.stmt(statement);
                }
            }
            Body::Expr(expr) => self.expr(expr),
        }
    }

    /// `this` and, in classes, what `super` needs.
    fn declare_specials(&mut self, function: &Function, scope: ScopeId) {
        let special: &[(&str, DeclKind)] = match function.kind {
            FunctionKind::Arrow => &[],
            FunctionKind::Plain => &[("this", DeclKind::This)],
            FunctionKind::Method | FunctionKind::Fields => {
                &[("this", DeclKind::This), ("super", DeclKind::Home)]
            }
            FunctionKind::Constructor => &[("this", DeclKind::This), ("super", DeclKind::Home)],
            FunctionKind::DerivedConstructor => &[
                ("this", DeclKind::DerivedThis),
                ("super", DeclKind::Home),
                ("new.target", DeclKind::NewTarget),
            ],
        };
        for (name, kind) in special {
            let (name, id): (Arc<str>, _) = ((*name).into(), self.analysis.decls.len());
            let owner = self.scopes.get(scope).map_or(0, |scope| scope.function);
            self.analysis.decls.push(Decl {
                name: name.clone(),
                kind: *kind,
                span: function.span,
                function: owner,
                ready_at: 0,
                captured: false,
                read: false,
                arity: None,
            });
            if let Some(scope) = self.scopes.get_mut(scope) {
                scope.names.insert(name, id);
            }
            self.analysis.specials.entry(function.span.start).or_default().push(id);
        }
    }

    /// Declares the names of all `var` of a function, wherever they are in it.
    fn declare_vars(&mut self, statements: &'a [Stmt]) {
        let mut found = Vars(Vec::new());
        for statement in statements {
            found.stmt(statement);
        }
        let function = self.scopes.get(self.scope).map_or(0, |scope| scope.function);
        let at = self.functions.get(function).map_or(u32::MAX, |node| node.at);
        for name in found.0 {
            let scope = self.scopes.get(self.scope);
            if let Some(id) = scope.and_then(|scope| scope.names.get(&name.name)).copied() {
                // Declared again, or a parameter.
                self.analysis.uses.insert(name.span.start, NameUse::Decl(id));
                continue;
            }
            let id = self.analysis.decls.len();
            self.declare(name, DeclKind::Var, 0);
            self.analysis.implicit.entry(at).or_default().push(id);
        }
    }

    /// Declares the names of a block before its statements are checked.
    fn hoist(&mut self, statements: &'a [Stmt]) {
        for statement in statements {
            match &statement.kind {
                StmtKind::Declare { constant, declarators } => {
                    let kind = if *constant { DeclKind::Const } else { DeclKind::Let };
                    for declarator in declarators {
                        let pattern = &declarator.pattern;
                        let init = declarator.init.as_ref();
                        let ready_at = init.map_or(pattern.span.start, |init| init.span.end);
                        pattern.each_name(&mut |name| self.declare(name, kind, ready_at));
                        self.record_arity(pattern, init, *constant);
                    }
                }
                StmtKind::Class(class) => {
                    if let Some(name) = &class.name {
                        self.declare(name, DeclKind::Let, statement.span.end);
                    }
                }
                StmtKind::Function(function) => {
                    if let Some(name) = &function.name {
                        self.declare(name, DeclKind::Function, 0);
                        self.set_arity(name, function);
                    }
                }
                _ => {}
            }
        }
    }

    /// A constant that is a function: its parameter count never changes.
    fn record_arity(&mut self, pattern: &Pattern, init: Option<&'a Expr>, constant: bool) {
        if let (true, PatternKind::Name(name), Some(ExprKind::Function(function))) =
            (constant, &pattern.kind, init.map(|init| &init.kind))
        {
            self.set_arity(name, function);
        }
    }

    fn set_arity(&mut self, name: &Ident, function: &Function) {
        let needed = function.params.iter().take_while(|param| param.default.is_none()).count();
        let most = function.rest.is_none().then_some(function.params.len());
        let decl = self.analysis.decl(name.span);
        if let Some(decl) = decl.and_then(|id| self.analysis.decls.get_mut(id)) {
            decl.arity = Some((needed, most));
        }
    }

    pub(super) fn declare(&mut self, name: &Ident, kind: DeclKind, ready_at: u32) {
        let Some(scope) = self.scopes.get_mut(self.scope) else { return };
        let id = self.analysis.decls.len();
        if scope.names.contains_key(&name.name) {
            let what = if kind == DeclKind::Param { "the parameter " } else { "" };
            let message = format!("{what}`{}` is declared twice in this scope", name.name);
            self.problems.add(Code::Duplicate, name.span, message);
        }
        scope.names.insert(name.name.clone(), id);
        let (function, span) = (scope.function, name.span);
        self.analysis.decls.push(Decl {
            name: name.name.clone(),
            kind,
            span,
            function,
            ready_at,
            captured: false,
            read: false,
            arity: None,
        });
        self.analysis.uses.insert(span.start, NameUse::Decl(id));
    }

    /// Runs in a new scope.
    fn inside(&mut self, run: impl FnOnce(&mut Self)) {
        let outside = self.scope;
        let function = self.scopes.get(outside).map_or(0, |scope| scope.function);
        self.scope = self.scopes.len();
        self.scopes.push(Scope {
            parent: Some(outside),
            function,
            names: BTreeMap::new(),
            privates: None,
        });
        run(self);
        self.scope = outside;
    }

    fn key(&mut self, key: &'a PropKey) {
        match key {
            PropKey::Name(..) => {}
            PropKey::Computed(key) => self.expr(key),
            PropKey::Private(name) => self.resolve_private(name),
        }
    }

    /// Computed keys and defaults of a declaring pattern.
    fn pattern_values(&mut self, pattern: &'a Pattern) {
        crate::ast::walk_pattern(&mut Declared(self), pattern);
    }

    fn for_each(&mut self, binding: &'a ForBinding, subject: &'a Expr, body: &'a Stmt) {
        self.expr(subject);
        self.inside(|it| {
            match binding.declares {
                Some(constant) => {
                    let kind = if constant { DeclKind::Const } else { DeclKind::Let };
                    binding.pattern.each_name(&mut |name| it.declare(name, kind, 0));
                    it.pattern_values(&binding.pattern);
                }
                None => it.pattern(&binding.pattern),
            }
            it.stmt(body);
        });
    }

    fn catch(&mut self, catch: &'a Catch) {
        self.inside(|it| {
            if let Some(param) = &catch.param {
                param.each_name(&mut |name| it.declare(name, DeclKind::Caught, 0));
                it.pattern_values(param);
            }
            it.block(&catch.body);
        });
    }
}

impl<'a> Visitor<'a> for Names<'_, 'a> {
    fn stmt(&mut self, stmt: &'a Stmt) {
        match &stmt.kind {
            StmtKind::Declare { declarators, .. } => {
                for declarator in declarators {
                    if let Some(init) = &declarator.init {
                        self.expr(init);
                    }
                    self.pattern_values(&declarator.pattern);
                }
            }
            StmtKind::Var(declarators) => {
                for Declarator { pattern, init } in declarators {
                    if let Some(init) = init {
                        self.expr(init);
                        self.pattern(pattern);
                    }
                }
            }
            StmtKind::Class(class) => self.class(class),
            StmtKind::Field { key, value } => {
                if let PropKey::Computed(key) = key {
                    let message = "a field with a computed name is not in the language";
                    let help = "set it in the constructor";
                    self.problems.add_with_help(Code::Refused, key.span, message, help);
                }
                self.key(key);
                if let Some(value) = value {
                    self.expr(value);
                }
            }
            StmtKind::For { init, .. } => self.inside(|it| {
                it.hoist(init.as_deref().map(std::slice::from_ref).unwrap_or_default());
                walk_stmt(it, stmt);
            }),
            StmtKind::ForEach { binding, subject, body, .. } => {
                self.for_each(binding, subject, body);
            }
            StmtKind::Switch { subject, cases } => {
                self.expr(subject);
                self.inside(|it| {
                    for case in cases {
                        it.hoist(&case.body);
                    }
                    for case in cases {
                        if let Some(test) = &case.test {
                            it.expr(test);
                        }
                        for statement in &case.body {
                            it.stmt(statement);
                        }
                    }
                });
            }
            StmtKind::Try { block, catch, finally } => {
                self.block(block);
                if let Some(catch) = catch {
                    self.catch(catch);
                }
                if let Some(finally) = finally {
                    self.block(finally);
                }
            }
            _ => walk_stmt(self, stmt),
        }
    }

    fn block(&mut self, block: &'a Block) {
        self.inside(|it| {
            it.hoist(&block.statements);
            for statement in &block.statements {
                it.stmt(statement);
            }
        });
    }

    fn function(&mut self, function: &'a Function) {
        self.enqueue(function);
    }

    fn class(&mut self, class: &'a Class) {
        class.extends.iter().for_each(|parent| self.expr(parent));
        self.inside(|it| {
            let names = class.privates.iter().map(|name| name.name.clone()).collect();
            let at = class.constructor.span.start;
            let at = class.name.as_ref().map_or(at, |name| name.span.start);
            if let Some(scope) = it.scopes.get_mut(it.scope) {
                scope.privates = Some((at, names));
            }
            it.function(&class.constructor);
            for method in &class.methods {
                it.key(&method.key);
                it.function(&method.function);
            }
            for fields in class.fields.iter().chain(&class.statics) {
                it.function(fields);
            }
        });
    }

    fn expr(&mut self, expr: &'a Expr) {
        self.resolve_names_of(expr);
        walk_expr(self, expr);
    }

    /// A pattern visited here assigns; declaring patterns are visited elsewhere.
    fn pattern(&mut self, pattern: &'a Pattern) {
        if let PatternKind::Name(name) = &pattern.kind {
            self.assign(name);
        }
        crate::ast::walk_pattern(self, pattern);
    }
}

/// Finds the names of all `var` outside of inner functions.
struct Vars<'a>(Vec<&'a Ident>);

impl<'a> Visitor<'a> for Vars<'a> {
    fn stmt(&mut self, stmt: &'a Stmt) {
        match &stmt.kind {
            StmtKind::Var(declarators) => {
                for declarator in declarators {
                    declarator.pattern.each_name(&mut |name| self.0.push(name));
                }
            }
            StmtKind::ForEach { binding, .. } if binding.is_var => {
                binding.pattern.each_name(&mut |name| self.0.push(name));
            }
            _ => {}
        }
        walk_stmt(self, stmt);
    }

    fn expr(&mut self, _: &'a Expr) {}

    fn function(&mut self, _: &'a Function) {}

    fn class(&mut self, _: &'a Class) {}
}

/// Visits a declaring pattern, whose names are already declared.
struct Declared<'n, 'p, 'a>(&'n mut Names<'p, 'a>);

impl<'a> Visitor<'a> for Declared<'_, '_, 'a> {
    fn expr(&mut self, expr: &'a Expr) {
        self.0.expr(expr);
    }
}

/// Warns of variables that are never read, and of new names that look like typing errors.
fn check_unused(analysis: &Analysis, problems: &mut Problems) {
    for decl in &analysis.decls {
        let counts = !matches!(decl.kind, DeclKind::Param | DeclKind::Caught);
        let counts = counts && !decl.kind.is_special();
        if counts && !decl.read && !decl.name.starts_with('_') {
            let message = format!("`{}` is never used", decl.name);
            let help = "remove it, or begin its name with `_`";
            problems.add_with_help(Code::Unused, decl.span, message, help);
        }
        // Similarity compares every pair of names, which takes too long in a file with thousands of
        // them.
        let few = analysis.decls.len() <= MAX_COMPARED_NAMES;
        if decl.kind == DeclKind::Implicit && few {
            let is_alike =
                |other: &&Decl| !other.kind.is_special() && resembles(&decl.name, &other.name);
            let other = analysis.decls.iter().find(is_alike);
            if let Some(other) = other {
                let message = format!("`{}` is a new variable here", decl.name);
                let help =
                    format!("did you mean `{}`? Otherwise declare it with `let`", other.name);
                problems.add_with_help(Code::SimilarName, decl.span, message, help);
            }
        }
    }
}
