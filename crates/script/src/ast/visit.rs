//! Visits the tree in source order.

use super::tree::{
    Arg, Block, Body, Class, Declarator, Expr, ExprKind, Function, Pattern, PatternItem,
    PatternKind, Prop, PropKey, Stmt, StmtKind,
};

/// Visits every node. A method that is not overridden visits the children of its node.
pub(crate) trait Visitor<'a> {
    fn stmt(&mut self, stmt: &'a Stmt) {
        walk_stmt(self, stmt);
    }

    fn expr(&mut self, expr: &'a Expr) {
        walk_expr(self, expr);
    }

    fn pattern(&mut self, pattern: &'a Pattern) {
        walk_pattern(self, pattern);
    }

    fn block(&mut self, block: &'a Block) {
        for stmt in &block.statements {
            self.stmt(stmt);
        }
    }

    fn function(&mut self, function: &'a Function) {
        walk_function(self, function);
    }

    fn class(&mut self, class: &'a Class) {
        walk_class(self, class);
    }
}

pub(crate) fn walk_class<'a, V: Visitor<'a> + ?Sized>(v: &mut V, class: &'a Class) {
    class.extends.iter().for_each(|parent| v.expr(parent));
    v.function(&class.constructor);
    for method in &class.methods {
        walk_key(v, &method.key);
        v.function(&method.function);
    }
    class.fields.iter().chain(&class.statics).for_each(|fields| v.function(fields));
}

fn walk_declarators<'a, V: Visitor<'a> + ?Sized>(v: &mut V, declarators: &'a [Declarator]) {
    for declarator in declarators {
        if let Some(init) = &declarator.init {
            v.expr(init);
        }
        v.pattern(&declarator.pattern);
    }
}

pub(crate) fn walk_function<'a, V: Visitor<'a> + ?Sized>(v: &mut V, function: &'a Function) {
    for param in &function.params {
        v.pattern(&param.pattern);
        if let Some(default) = &param.default {
            v.expr(default);
        }
    }
    if let Some(rest) = &function.rest {
        v.pattern(rest);
    }
    walk_body(v, &function.body);
}

pub(crate) fn walk_body<'a, V: Visitor<'a> + ?Sized>(v: &mut V, body: &'a Body) {
    match body {
        Body::Block(block) => v.block(block),
        Body::Expr(expr) => v.expr(expr),
    }
}

pub(crate) fn walk_stmt<'a, V: Visitor<'a> + ?Sized>(v: &mut V, stmt: &'a Stmt) {
    match &stmt.kind {
        StmtKind::Declare { declarators, .. } | StmtKind::Var(declarators) => {
            walk_declarators(v, declarators);
        }
        StmtKind::Class(class) => v.class(class),
        StmtKind::Field { key, value } => {
            walk_key(v, key);
            if let Some(value) = value {
                v.expr(value);
            }
        }
        StmtKind::Function(function) => v.function(function),
        StmtKind::Expr(expr) | StmtKind::Throw(expr) => v.expr(expr),
        StmtKind::Block(block) => v.block(block),
        StmtKind::If { branches, otherwise } => {
            for (test, then) in branches {
                v.expr(test);
                v.stmt(then);
            }
            if let Some(otherwise) = otherwise {
                v.stmt(otherwise);
            }
        }
        StmtKind::While { test, body } => {
            v.expr(test);
            v.stmt(body);
        }
        StmtKind::DoWhile { body, test } => {
            v.stmt(body);
            v.expr(test);
        }
        StmtKind::For { init, test, update, body } => {
            if let Some(init) = init {
                v.stmt(init);
            }
            if let Some(test) = test {
                v.expr(test);
            }
            for update in update {
                v.expr(update);
            }
            v.stmt(body);
        }
        StmtKind::ForEach { binding, subject, body, .. } => {
            v.expr(subject);
            v.pattern(&binding.pattern);
            v.stmt(body);
        }
        StmtKind::Switch { subject, cases } => {
            v.expr(subject);
            for case in cases {
                if let Some(test) = &case.test {
                    v.expr(test);
                }
                for stmt in &case.body {
                    v.stmt(stmt);
                }
            }
        }
        StmtKind::Try { block, catch, finally } => {
            v.block(block);
            if let Some(catch) = catch {
                if let Some(param) = &catch.param {
                    v.pattern(param);
                }
                v.block(&catch.body);
            }
            if let Some(finally) = finally {
                v.block(finally);
            }
        }
        StmtKind::Return(value) => value.iter().for_each(|value| v.expr(value)),
        StmtKind::Labeled(_, body) => v.stmt(body),
        StmtKind::Break(_) | StmtKind::Continue(_) | StmtKind::Empty => {}
    }
}

pub(crate) fn walk_expr<'a, V: Visitor<'a> + ?Sized>(v: &mut V, expr: &'a Expr) {
    match &expr.kind {
        ExprKind::Null
        | ExprKind::Bool(_)
        | ExprKind::Number(_)
        | ExprKind::Text(_)
        | ExprKind::Name(_)
        | ExprKind::This
        | ExprKind::Regex { .. }
        | ExprKind::SuperMember(_)
        | ExprKind::Bad => {}
        ExprKind::Template { values, .. } | ExprKind::Sequence(values) => {
            walk_all(v, values);
        }
        ExprKind::Tagged { tag, values, .. } => {
            v.expr(tag);
            walk_all(v, values);
        }
        ExprKind::Array(args) | ExprKind::SuperCall { args, .. } => walk_args(v, args),
        ExprKind::Class(class) => v.class(class),
        ExprKind::Object(props) => props.iter().for_each(|prop| walk_prop(v, prop)),
        ExprKind::Function(function) => v.function(function),
        ExprKind::Unary { operand, .. } | ExprKind::Chain(operand) | ExprKind::Await(operand) => {
            v.expr(operand);
        }
        ExprKind::Update { target, .. } => v.pattern(target),
        ExprKind::Binary { left, right, .. } | ExprKind::Logical { left, right, .. } => {
            v.expr(left);
            v.expr(right);
        }
        ExprKind::Ternary { test, then, otherwise } => {
            v.expr(test);
            v.expr(then);
            v.expr(otherwise);
        }
        ExprKind::Assign { target, value, .. } => {
            v.pattern(target);
            v.expr(value);
        }
        ExprKind::Member { object, .. } | ExprKind::HasPrivate { object, .. } => v.expr(object),
        ExprKind::Index { object, index, .. } => {
            v.expr(object);
            v.expr(index);
        }
        ExprKind::Call { callee, args, .. } | ExprKind::New { callee, args, .. } => {
            v.expr(callee);
            walk_args(v, args);
        }
    }
}

pub(crate) fn walk_pattern<'a, V: Visitor<'a> + ?Sized>(v: &mut V, pattern: &'a Pattern) {
    match &pattern.kind {
        PatternKind::Name(_) => {}
        PatternKind::Member(expr) => v.expr(expr),
        PatternKind::Array { items, rest } => {
            items.iter().flatten().for_each(|item| walk_item(v, item));
            if let Some(rest) = rest {
                v.pattern(rest);
            }
        }
        PatternKind::Object { entries, rest } => {
            for (key, item) in entries {
                walk_key(v, key);
                walk_item(v, item);
            }
            if let Some(rest) = rest {
                v.pattern(rest);
            }
        }
    }
}

fn walk_item<'a, V: Visitor<'a> + ?Sized>(v: &mut V, item: &'a PatternItem) {
    v.pattern(&item.pattern);
    if let Some(default) = &item.default {
        v.expr(default);
    }
}

fn walk_prop<'a, V: Visitor<'a> + ?Sized>(v: &mut V, prop: &'a Prop) {
    match prop {
        Prop::Pair { key, value } => {
            walk_key(v, key);
            v.expr(value);
        }
        Prop::Short { default, .. } => default.iter().for_each(|default| v.expr(default)),
        Prop::Spread(value) => v.expr(value),
        Prop::Accessor { key, function, .. } => {
            walk_key(v, key);
            v.function(function);
        }
    }
}

fn walk_key<'a, V: Visitor<'a> + ?Sized>(v: &mut V, key: &'a PropKey) {
    if let PropKey::Computed(key) = key {
        v.expr(key);
    }
}

fn walk_all<'a, V: Visitor<'a> + ?Sized>(v: &mut V, all: &'a [Expr]) {
    for expr in all {
        v.expr(expr);
    }
}

fn walk_args<'a, V: Visitor<'a> + ?Sized>(v: &mut V, args: &'a [Arg]) {
    for arg in args {
        v.expr(&arg.value);
    }
}
