//! Checks calls: unknown members of the library, and wrong numbers of arguments.

use std::collections::BTreeMap;

use super::argument::LiteralTimer;
use super::scope::{Analysis, DeclId, NameUse};
use super::similar::closest;
use crate::ast::{Arg, Expr, ExprKind, File, Ident, Stmt, Visitor, walk_expr, walk_stmt};
use crate::library::{Builtin, Global, Kind, Member, member, member_names};
use crate::problem::{Code, Problems};
use crate::span::Span;
use crate::vm::Regex;

/// Checks all calls of a file; returns the timers with a literal time.
pub(super) fn check_calls(
    file: &File,
    analysis: &Analysis,
    problems: &mut Problems,
) -> Vec<LiteralTimer> {
    let constants = BTreeMap::new();
    let mut calls = Calls { problems, analysis, timers: Vec::new(), constants };
    for statement in &file.statements {
        calls.stmt(statement);
    }
    for workflow in &file.workflows {
        calls.function(&workflow.function);
    }
    calls.timers
}

pub(super) struct Calls<'p> {
    pub(super) problems: &'p mut Problems,
    pub(super) analysis: &'p Analysis,
    pub(super) timers: Vec<LiteralTimer>,
    /// Constants of a known kind.
    pub(super) constants: BTreeMap<DeclId, Kind>,
}

/// The result of looking an expression up in the library.
#[derive(PartialEq)]
enum LibraryLookup {
    Member(Member),
    /// A member that does not exist.
    Unknown,
    /// Not part of the library.
    Other,
}

impl Calls<'_> {
    /// The library name that an expression refers to, if any.
    fn library_name(&self, expr: &Expr) -> Option<(Global, std::sync::Arc<str>)> {
        let ExprKind::Name(name) = &expr.kind else { return None };
        match self.analysis.at(expr.span)? {
            NameUse::Global(global) => Some((global, name.clone())),
            NameUse::Decl(_) => None,
        }
    }

    fn check_member(&mut self, namespace: &str, name: &Ident) -> Option<Member> {
        let found = member(namespace, &name.name);
        if found.is_none() {
            let message = format!("`{namespace}` has no `{}`", name.name);
            let meant = closest(&name.name, member_names(namespace));
            let help = if let Some(meant) = meant {
                format!("did you mean `{namespace}.{meant}`?")
            } else {
                let all: Vec<&str> = member_names(namespace).collect();
                format!("there is {}", all.join(", "))
            };
            self.problems.add_with_help(Code::UnknownMember, name.span, message, help);
        }
        found
    }

    /// Looks an expression up as a member of the library; an unknown member is reported.
    fn library_member(&mut self, expr: &Expr) -> LibraryLookup {
        let ExprKind::Member { object, name, .. } = &expr.kind else { return LibraryLookup::Other };
        match self.library_name(object) {
            None | Some((Global::Undefined | Global::Number(_), _)) => LibraryLookup::Other,
            Some((_, namespace)) => match self.check_member(&namespace, name) {
                Some(member) => LibraryLookup::Member(member),
                None => LibraryLookup::Unknown,
            },
        }
    }

    fn check_call(&mut self, callee: &Expr, args: &[Arg], span: Span) {
        let function = match self.library_name(callee) {
            Some((Global::Function(function), _)) => Some(function),
            Some((Global::Namespace(namespace), _)) => {
                let message = format!("`{namespace}` is not a function");
                let all: Vec<&str> = member_names(namespace).collect();
                let help = format!("call one of its functions: {}", all.join(", "));
                self.problems.add_with_help(Code::UnknownMember, callee.span, message, help);
                return;
            }
            Some((Global::Undefined | Global::Number(_), _)) => None,
            None => match self.library_member(callee) {
                LibraryLookup::Member(Member::Function(function)) => Some(function),
                LibraryLookup::Member(_) => {
                    self.problems.add(Code::UnknownMember, callee.span, "this is not a function");
                    None
                }
                LibraryLookup::Unknown => None,
                LibraryLookup::Other => {
                    self.check_script_call(callee, args, span);
                    self.check_method(callee, args, span);
                    None
                }
            },
        };
        if let Some(function) = function {
            self.check_arity(function, args, span);
            self.check_arguments(function, args);
        }
    }

    /// The library function that a callee refers to, if any.
    pub(super) fn library_function(&self, callee: &Expr) -> Option<Builtin> {
        if let Some((Global::Function(function), _)) = self.library_name(callee) {
            return Some(function);
        }
        let ExprKind::Member { object, name, .. } = &callee.kind else { return None };
        let (_, namespace) = self.library_name(object)?;
        match member(&namespace, &name.name)? {
            Member::Function(function) => Some(function),
            _ => None,
        }
    }

    fn check_arity(&mut self, function: Builtin, args: &[Arg], span: Span) {
        let (least, most) = function.arity();
        if let Some(wrong) = wrong_count(args, least, most) {
            let name = function.full_name();
            let message = format!("`{name}` takes {wrong}, this call has {}", args.len());
            self.problems.add(Code::Arity, span, message);
        }
    }

    fn check_script_call(&mut self, callee: &Expr, args: &[Arg], span: Span) {
        let ExprKind::Name(name) = &callee.kind else { return };
        let Some(NameUse::Decl(id)) = self.analysis.at(callee.span) else { return };
        let Some((least, most)) = self.analysis.decls.get(id).and_then(|decl| decl.arity) else {
            return;
        };
        if let Some(wrong) = wrong_count(args, least, most) {
            let message = format!("`{name}` takes {wrong}, this call has {}", args.len());
            self.problems.add(Code::ScriptArity, span, message);
        }
    }
}

/// The expected number of arguments in words, if another number is given.
pub(super) fn wrong_count(args: &[Arg], least: usize, most: Option<usize>) -> Option<String> {
    let spread = args.iter().any(|arg| arg.spread);
    let too_many = most.is_some_and(|most| args.len() > most);
    if spread || !(too_many || args.len() < least) {
        return None;
    }
    let plural = |count: usize| if count == 1 { "argument" } else { "arguments" };
    Some(match most {
        Some(0) => "no arguments".to_owned(),
        Some(most) if most == least => format!("{least} {}", plural(least)),
        Some(most) => format!("{least} to {most} arguments"),
        None => format!("at least {least} {}", plural(least)),
    })
}

impl<'a> Visitor<'a> for Calls<'_> {
    fn stmt(&mut self, stmt: &'a Stmt) {
        walk_stmt(self, stmt);
        self.record_constants(stmt);
    }

    fn expr(&mut self, expr: &'a Expr) {
        match &expr.kind {
            ExprKind::Call { callee, args, .. } => {
                self.check_call(callee, args, expr.span);
                // The parts of a library callee are table names, not values.
                let is_library = self.library_name(callee).is_some()
                    || matches!(&callee.kind, ExprKind::Member { object, .. }
                        if self.library_name(object).is_some());
                if !is_library {
                    self.expr(callee);
                }
                for arg in args {
                    self.expr(&arg.value);
                }
            }
            ExprKind::Regex { source, flags } => {
                if let Err(error) = Regex::new(source, flags) {
                    let message = format!("this regular expression is invalid: {}", error.message);
                    self.problems.add(Code::Regex, expr.span, message);
                }
            }
            ExprKind::New { callee, args, .. } => {
                if let Some(function) = self.library_function(callee) {
                    self.check_arity(function, args, expr.span);
                } else {
                    self.expr(callee);
                }
                for arg in args {
                    self.expr(&arg.value);
                }
            }
            ExprKind::Member { .. } if self.library_member(expr) != LibraryLookup::Other => {}
            ExprKind::Name(_) => {
                if let Some((Global::Namespace(namespace), _)) = self.library_name(expr) {
                    let message = format!("`{namespace}` is not a value");
                    let help = format!(
                        "use one of its functions, such as `{namespace}.{}`",
                        member_names(namespace).next().unwrap_or_default()
                    );
                    self.problems.add_with_help(Code::UnknownMember, expr.span, message, help);
                }
            }
            _ => walk_expr(self, expr),
        }
    }
}
