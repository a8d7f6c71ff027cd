//! The state of the compiler and its entry point.

use std::sync::Arc;

use meantime_core::{LineMap, Severity};
use meantime_value::{Text, Value};

use super::super::diagnostic::{Code as ProblemCode, Problem};
use super::super::program::{Code, FunctionSet, Lambda, Node, Op, SetId};
use super::super::syntax::{Directive, ParsedScript, Span, parse};
use super::super::types::TypeTable;
use super::scope::{Binding, Scope};

/// A program if there was no error, and all problems.
pub(crate) struct Compiled {
    pub(crate) code: Option<Code>,
    pub(crate) problems: Vec<Problem>,
}

/// Compiles a script with these inputs.
pub(crate) fn compile(source: &str, inputs: &[&str]) -> Compiled {
    let ParsedScript { directives, body, problems } = parse(source);
    let mut compiler = Compiler::new(source, inputs, problems);
    if compiler.has_errors() {
        return Compiled { code: None, problems: compiler.problems };
    }
    let variables = compiler.header(&directives);
    let body = compiler.expression(&body);
    let mut problems = compiler.problems;
    problems.sort_by_key(|problem| (problem.span.start, problem.code));
    problems.dedup_by(|a, b| a.span == b.span && a.message == b.message);
    if problems.iter().any(|problem| problem.severity == Severity::Error) {
        return Compiled { code: None, problems };
    }
    let code = Code {
        source: Arc::from(source),
        lines: LineMap::new(source),
        inputs: inputs.iter().map(|name| Text::from(*name)).collect(),
        variables,
        sets: compiler.sets,
        lambdas: compiler.lambdas.into_iter().flatten().collect(),
        types: compiler.types,
        body,
        headers_in_any_case: false,
    };
    Compiled { code: Some(code), problems }
}

pub(super) struct Compiler<'s> {
    pub(super) source: &'s str,
    pub(super) problems: Vec<Problem>,
    pub(super) scope: Scope,
    pub(super) sets: Vec<FunctionSet>,
    /// For each function set: the number of arguments with which its second parameter is called, if
    /// that is a function.
    pub(super) callbacks: Vec<Option<usize>>,
    /// Filled when the body is compiled; the index is reserved before, because bodies nest.
    pub(super) lambdas: Vec<Option<Lambda>>,
    pub(super) types: TypeTable,
    /// The function whose body is being compiled, to find calls of itself in tail position.
    pub(super) current: Option<SetId>,
    /// The input `context`, if there is one: an unknown name is then one of its fields.
    pub(super) context: Option<usize>,
}

impl<'s> Compiler<'s> {
    fn new(source: &'s str, inputs: &[&str], problems: Vec<Problem>) -> Self {
        let mut scope = Scope::default();
        for (index, name) in inputs.iter().enumerate() {
            scope.bind(Text::from(*name), Binding::Global(index));
        }
        scope.globals = inputs.len();
        Self {
            source,
            problems,
            scope,
            sets: Vec::new(),
            callbacks: Vec::new(),
            lambdas: Vec::new(),
            types: Vec::new(),
            current: None,
            context: inputs.iter().position(|name| *name == "context"),
        }
    }

    fn has_errors(&self) -> bool {
        self.problems.iter().any(|problem| problem.severity == Severity::Error)
    }

    /// The declarations of the header; functions may use later declarations.
    fn header(&mut self, directives: &[Directive]) -> Vec<Node> {
        self.declare_modules(directives);
        self.declare_types(directives);
        let functions = self.declare_functions(directives);
        let mut variables = Vec::new();
        for directive in directives {
            if let Directive::Var { name, value } = directive {
                // A function may call itself by the name of its variable.
                let is_lambda = super::structure::is_lambda(value);
                let index = self.scope.globals;
                self.scope.globals += 1;
                if is_lambda {
                    self.scope.bind(name.text.clone(), Binding::Global(index));
                }
                let node = self.expression(value);
                if !is_lambda {
                    self.scope.bind(name.text.clone(), Binding::Global(index));
                }
                variables.push(node);
            }
        }
        self.compile_functions(functions);
        variables
    }

    pub(super) fn error(&mut self, code: ProblemCode, span: Span, message: impl Into<String>) {
        self.problems.push(Problem::error(code, span, message));
    }

    pub(super) fn node(op: Op, span: Span) -> Node {
        Node { op, span }
    }

    pub(super) fn constant(value: Value, span: Span) -> Node {
        Self::node(Op::Constant(value), span)
    }

    /// A node for an invalid expression; the program is never run.
    pub(super) fn error_node(span: Span) -> Node {
        Self::constant(Value::Null, span)
    }
}
