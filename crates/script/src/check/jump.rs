//! Checks control flow: invalid jumps, unreachable code, endless loops.

use crate::ast::{
    Block, Body, Expr, ExprKind, File, Function, Ident, Stmt, StmtKind, Visitor, walk_expr,
    walk_function, walk_stmt,
};
use crate::lex::Number;
use crate::problem::{Code, Problems};

/// Checks jumps, reachability and endless loops of a file.
pub(super) fn check_jumps(file: &File, problems: &mut Problems) {
    let mut finder = AwaitFinder { found: false, into_functions: true };
    for statement in &file.statements {
        finder.stmt(statement);
    }
    for workflow in &file.workflows {
        finder.function(&workflow.function);
    }
    let in_function = file.workflows.is_empty();
    let mut jumps =
        Jumps { problems, targets: Vec::new(), in_function, some_function_awaits: finder.found };
    jumps.check_statements(&file.statements);
    for workflow in &file.workflows {
        jumps.function(&workflow.function);
    }
}

/// A target of `break` or `continue`.
struct Target<'a> {
    label: Option<&'a str>,
    is_loop: bool,
    /// Whether a `break` without a label ends it.
    breaks: bool,
}

struct Jumps<'p, 'a> {
    problems: &'p mut Problems,
    targets: Vec<Target<'a>>,
    in_function: bool,
    some_function_awaits: bool,
}

impl<'a> Jumps<'_, 'a> {
    /// A list of statements: code after a jump is unreachable.
    fn check_statements(&mut self, statements: &'a [Stmt]) {
        let mut reported = false;
        for (index, statement) in statements.iter().enumerate() {
            let before = index.checked_sub(1).and_then(|index| statements.get(index));
            let declares = matches!(statement.kind, StmtKind::Function(_) | StmtKind::Empty);
            if !reported && !declares && before.is_some_and(never_completes) {
                let message = "this can never run";
                self.problems.add(Code::Unreachable, statement.span, message);
                reported = true;
            }
            self.stmt(statement);
        }
    }

    fn check_body_of_target(
        &mut self,
        label: Option<&'a str>,
        is_loop: bool,
        breaks: bool,
        body: &'a Stmt,
    ) {
        self.targets.push(Target { label, is_loop, breaks });
        self.stmt(body);
        self.targets.pop();
    }

    fn check_jump(&mut self, stmt: &'a Stmt, label: Option<&'a Ident>, word: &str) {
        let fits = |target: &Target<'_>| match (label, word) {
            (Some(label), "break") => target.label == Some(&*label.name),
            (Some(label), _) => target.label == Some(&*label.name) && target.is_loop,
            (None, "break") => target.breaks,
            (None, _) => target.is_loop,
        };
        if self.targets.iter().any(fits) {
            return;
        }
        let message = match label {
            Some(label) => format!("no enclosing statement has the label `{}`", label.name),
            None => format!("`{word}` is out of place: no loop is around it"),
        };
        self.problems.add(Code::JumpNotAllowed, stmt.span, message);
    }

    fn check_labeled(&mut self, label: &'a Ident, body: &'a Stmt) {
        let name = Some(&*label.name);
        if self.targets.iter().any(|target| target.label == name) {
            let message = format!("the label `{}` is used twice", label.name);
            self.problems.add(Code::Duplicate, label.span, message);
        }
        let is_loop = is_loop(body);
        self.targets.push(Target { label: name, is_loop, breaks: false });
        self.stmt(body);
        self.targets.pop();
    }

    /// Reports an endless loop: its condition is always true, and it neither exits nor waits.
    fn check_endless_loop(&mut self, stmt: &'a Stmt, test: Option<&Expr>, body: &'a Stmt) {
        if test.is_some_and(|test| !is_always_true(test)) {
            return;
        }
        let mut exits = ExitFinder { found: false, depth: 0, calls: false };
        exits.stmt(body);
        let mut awaits = AwaitFinder { found: false, into_functions: false };
        awaits.stmt(body);
        let may_wait = awaits.found || (exits.calls && self.some_function_awaits);
        if !exits.found && !may_wait {
            let message = "this loop neither ends nor waits";
            let help = "add a `break`, a `return`, or an `await`";
            self.problems.add_with_help(Code::Endless, stmt.span, message, help);
        }
    }
}

impl<'a> Visitor<'a> for Jumps<'_, 'a> {
    fn stmt(&mut self, stmt: &'a Stmt) {
        match &stmt.kind {
            StmtKind::While { test, body } | StmtKind::DoWhile { body, test } => {
                self.check_endless_loop(stmt, Some(test), body);
                self.expr(test);
                self.check_body_of_target(None, true, true, body);
            }
            StmtKind::For { init, test, update, body } => {
                self.check_endless_loop(stmt, test.as_ref(), body);
                if let Some(init) = init {
                    self.stmt(init);
                }
                test.iter().chain(update).for_each(|expr| self.expr(expr));
                self.check_body_of_target(None, true, true, body);
            }
            StmtKind::ForEach { subject, body, .. } => {
                self.expr(subject);
                self.check_body_of_target(None, true, true, body);
            }
            StmtKind::Switch { subject, cases } => {
                self.expr(subject);
                self.targets.push(Target { label: None, is_loop: false, breaks: true });
                for case in cases {
                    if let Some(test) = &case.test {
                        self.expr(test);
                    }
                    self.check_statements(&case.body);
                }
                self.targets.pop();
            }
            StmtKind::Break(label) => self.check_jump(stmt, label.as_ref(), "break"),
            StmtKind::Continue(label) => self.check_jump(stmt, label.as_ref(), "continue"),
            StmtKind::Return(_) if !self.in_function => {
                let message = "`return` is out of place: no function is around it";
                self.problems.add(Code::JumpNotAllowed, stmt.span, message);
            }
            StmtKind::Labeled(label, body) => self.check_labeled(label, body),
            _ => walk_stmt(self, stmt),
        }
    }

    fn block(&mut self, block: &'a Block) {
        self.check_statements(&block.statements);
    }

    fn function(&mut self, function: &'a Function) {
        // Jumps cannot leave a function.
        let targets = std::mem::take(&mut self.targets);
        let in_function = std::mem::replace(&mut self.in_function, true);
        walk_function(self, function);
        self.targets = targets;
        self.in_function = in_function;
    }
}

fn is_loop(stmt: &Stmt) -> bool {
    match &stmt.kind {
        StmtKind::While { .. }
        | StmtKind::DoWhile { .. }
        | StmtKind::For { .. }
        | StmtKind::ForEach { .. } => true,
        StmtKind::Labeled(_, body) => is_loop(body),
        _ => false,
    }
}

fn is_always_true(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Bool(value) => *value,
        ExprKind::Number(Number::Int(value)) => *value != 0,
        ExprKind::Text(text) => !text.is_empty(),
        _ => false,
    }
}

/// Whether a statement never completes normally.
fn never_completes(stmt: &Stmt) -> bool {
    match &stmt.kind {
        StmtKind::Return(_) | StmtKind::Throw(_) | StmtKind::Break(_) | StmtKind::Continue(_) => {
            true
        }
        StmtKind::Block(block) => block.statements.iter().any(never_completes),
        StmtKind::If { branches, otherwise: Some(otherwise) } => {
            branches.iter().all(|(_, then)| never_completes(then)) && never_completes(otherwise)
        }
        StmtKind::While { test, body } => is_always_true(test) && !breaks_out(body),
        StmtKind::For { test, body, .. } => {
            test.as_ref().is_none_or(is_always_true) && !breaks_out(body)
        }
        StmtKind::Try { block, catch, finally } => {
            let ends = |block: &Block| block.statements.iter().any(never_completes);
            finally.as_ref().is_some_and(ends)
                || (ends(block) && catch.as_ref().is_none_or(|catch| ends(&catch.body)))
        }
        _ => false,
    }
}

/// Whether a body contains a `break` that can leave its loop.
fn breaks_out(body: &Stmt) -> bool {
    let mut finder = BreakFinder { found: false, depth: 0 };
    finder.stmt(body);
    finder.found
}

struct BreakFinder {
    found: bool,
    depth: u32,
}

impl<'a> Visitor<'a> for BreakFinder {
    fn stmt(&mut self, stmt: &'a Stmt) {
        let nested = is_loop(stmt) || matches!(stmt.kind, StmtKind::Switch { .. });
        if let StmtKind::Break(label) = &stmt.kind {
            self.found |= label.is_some() || self.depth == 0;
        } else {
            self.depth += u32::from(nested);
            walk_stmt(self, stmt);
            self.depth -= u32::from(nested);
        }
    }

    fn function(&mut self, _: &'a Function) {}
}

/// Finds exits of a loop: its `break`, `return`, `throw`, or a labelled jump.
struct ExitFinder {
    found: bool,
    depth: u32,
    /// Whether it calls something that may be a function of the script.
    calls: bool,
}

impl<'a> Visitor<'a> for ExitFinder {
    fn stmt(&mut self, stmt: &'a Stmt) {
        let nested = is_loop(stmt) || matches!(stmt.kind, StmtKind::Switch { .. });
        match &stmt.kind {
            StmtKind::Return(_) | StmtKind::Throw(_) => self.found = true,
            StmtKind::Break(label) => self.found |= label.is_some() || self.depth == 0,
            StmtKind::Continue(label) => self.found |= label.is_some(),
            _ => {}
        }
        self.depth += u32::from(nested);
        walk_stmt(self, stmt);
        self.depth -= u32::from(nested);
    }

    fn expr(&mut self, expr: &'a Expr) {
        if let ExprKind::Call { callee, .. } = &expr.kind {
            self.calls |= matches!(callee.kind, ExprKind::Name(_));
        }
        walk_expr(self, expr);
    }

    fn function(&mut self, function: &'a Function) {
        // A function defined here may be called from here.
        self.calls |= matches!(function.body, Body::Block(_) | Body::Expr(_));
    }
}

struct AwaitFinder {
    found: bool,
    into_functions: bool,
}

impl<'a> Visitor<'a> for AwaitFinder {
    fn expr(&mut self, expr: &'a Expr) {
        self.found |= matches!(expr.kind, ExprKind::Await(_));
        walk_expr(self, expr);
    }

    fn function(&mut self, function: &'a Function) {
        if self.into_functions {
            walk_function(self, function);
        }
    }
}
