//! Checks `await` in code that cannot be suspended, and `await` on values that are never awaitable.

use super::scope::{Analysis, NameUse};
use crate::ast::{
    Expr, ExprKind, File, Function, Stmt, Visitor, WorkflowForm, walk_body, walk_expr,
    walk_function, walk_stmt,
};
use crate::library::{Global, Member, Method, member};
use crate::problem::{Code, Problems};

/// Checks every `await` of a file.
pub(super) fn check_awaits(file: &File, analysis: &Analysis, problems: &mut Problems) {
    let beside_workflows = !file.workflows.is_empty();
    let (is_module, plain) = (file.is_module, None);
    let mut awaits =
        Awaits { problems, analysis, refused_by: None, beside_workflows, is_module, plain };
    for statement in &file.statements {
        awaits.stmt(statement);
    }
    awaits.beside_workflows = false;
    for workflow in &file.workflows {
        match workflow.form {
            WorkflowForm::Keyword => awaits.function(&workflow.function),
            WorkflowForm::Plain => {
                awaits.plain = Some(HELP_ASYNC_ENTRY);
                walk_function(&mut awaits, &workflow.function);
            }
            WorkflowForm::Async => awaits.async_function(&workflow.function),
        }
    }
}

const HELP_ASYNC_ENTRY: &str = "write `export default async function`";

const HELP_PLAIN_FUNCTION: &str =
    "write `async` before the function, and await its result where you call it";

const HELP_PARAMETER: &str = "await in the body of the function";

struct Awaits<'p> {
    problems: &'p mut Problems,
    analysis: &'p Analysis,
    /// The method to which this callback is passed, if its callbacks cannot wait.
    refused_by: Option<Method>,
    /// Outside of all functions in a file with workflows.
    beside_workflows: bool,
    is_module: bool,
    /// In a function of a module that is not `async`: what to do instead.
    plain: Option<&'static str>,
}

impl Awaits<'_> {
    /// The default export of a module: `await` is valid in its body, as in JavaScript not in its
    /// parameters, nor in the functions inside.
    fn async_function(&mut self, function: &Function) {
        self.plain = Some(HELP_PARAMETER);
        for param in &function.params {
            self.pattern(&param.pattern);
            param.default.iter().for_each(|default| self.expr(default));
        }
        function.rest.iter().for_each(|rest| self.pattern(rest));
        self.plain = None;
        walk_body(self, &function.body);
    }

    fn check(&mut self, expr: &Expr, operand: &Expr) {
        if let Some(help) = self.plain {
            let message = "`await` is valid only in the body of an `async` function";
            self.problems.add_with_help(Code::AwaitNotAllowed, expr.span, message, help);
        } else if let Some(method) = &self.refused_by {
            let message = format!("`await` cannot be used in a callback of `{}`", method.name());
            let help = "await first, then call it with the results";
            self.problems.add_with_help(Code::AwaitNotAllowed, expr.span, message, help);
        } else if self.beside_workflows {
            let message = "`await` cannot be used outside of a workflow";
            let help = "move it into the workflow";
            self.problems.add_with_help(Code::AwaitNotAllowed, expr.span, message, help);
        }
        if let Some((what, help)) = self.why_never_awaitable(operand) {
            let message = format!("{what} is never awaitable");
            self.problems.add_with_help(Code::NeverAwaitable, expr.span, message, help);
        }
    }

    /// Why an operand can never be an awaitable, if so.
    fn why_never_awaitable(&self, operand: &Expr) -> Option<(&'static str, &'static str)> {
        const HELP_REMOVE_AWAIT: &str = "remove `await`";
        Some(match &operand.kind {
            ExprKind::Array(_) => ("a list", "use `await Task.all([…])`"),
            ExprKind::Object(_) => ("an object", "use `await Task.all({…})`"),
            ExprKind::Function(_) => ("a function", "call it"),
            ExprKind::Null
            | ExprKind::Bool(_)
            | ExprKind::Number(_)
            | ExprKind::Text(_)
            | ExprKind::Template { .. }
            | ExprKind::Class(_)
            | ExprKind::Regex { .. } => ("this value", HELP_REMOVE_AWAIT),
            ExprKind::Unary { .. } | ExprKind::Binary { .. } | ExprKind::Update { .. } => {
                ("the result of an operator", HELP_REMOVE_AWAIT)
            }
            ExprKind::Call { callee, .. } => match self.library_function(callee)? {
                Member::Function(function) if function.gives_awaitable() => return None,
                _ => ("the result of this function", HELP_REMOVE_AWAIT),
            },
            _ => return None,
        })
    }

    fn library_function(&self, callee: &Expr) -> Option<Member> {
        match &callee.kind {
            ExprKind::Name(_) => match self.analysis.at(callee.span)? {
                NameUse::Global(Global::Function(function)) => Some(Member::Function(function)),
                _ => None,
            },
            ExprKind::Member { object, name, .. } => {
                let ExprKind::Name(namespace) = &object.kind else { return None };
                match self.analysis.at(object.span)? {
                    NameUse::Global(_) => member(namespace, &name.name),
                    NameUse::Decl(_) => None,
                }
            }
            _ => None,
        }
    }
}

impl<'a> Visitor<'a> for Awaits<'_> {
    fn stmt(&mut self, stmt: &'a Stmt) {
        walk_stmt(self, stmt);
    }

    fn expr(&mut self, expr: &'a Expr) {
        match &expr.kind {
            ExprKind::Await(operand) => {
                self.check(expr, operand);
                self.expr(operand);
            }
            ExprKind::Call { callee, args, .. } => {
                let method = match &callee.kind {
                    ExprKind::Member { name, .. } => Method::by_name(&name.name),
                    _ => None,
                };
                let refuses = method.filter(|it| it.takes_callback() && !it.may_wait());
                self.expr(callee);
                for arg in args {
                    match (&arg.value.kind, refuses) {
                        (ExprKind::Function(function), Some(method)) if !function.is_async => {
                            let before = self.refused_by.replace(method);
                            self.function(function);
                            self.refused_by = before;
                        }
                        _ => self.expr(&arg.value),
                    }
                }
            }
            _ => walk_expr(self, expr),
        }
    }

    fn function(&mut self, function: &'a Function) {
        let beside = std::mem::replace(&mut self.beside_workflows, false);
        let plain = self.plain;
        // An async function suspends itself, not the code that calls it.
        let refused_by = if function.is_async { self.refused_by.take() } else { self.refused_by };
        if self.is_module {
            self.plain = (!function.is_async).then_some(HELP_PLAIN_FUNCTION);
        }
        walk_function(self, function);
        (self.beside_workflows, self.plain, self.refused_by) = (beside, plain, refused_by);
    }
}
