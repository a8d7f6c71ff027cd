//! Scripts inside other definitions: they run to completion within the turn, and undeclared names
//! are variables of the surrounding definition.
//!
//! The text is wrapped in a workflow whose outermost block declares those names, so that the
//! machine needs no second kind of scope. Nothing can be awaited or started.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use meantime_core::{Diagnostic, Failure, Fault, Json, Limits, Severity, Timestamp};

use super::ast::{Body, Expr, ExprKind, File, StmtKind, Visitor, walk_expr};
use super::check::{DeclKind, check};
use super::compile::Program;
use super::parse::{Language, parse};
use super::problem::{Code, Problems};
use super::pure_host::PureHost;
use super::session::compile_script;
use super::span::SourceMap;
use super::vm::{Machine, StopReason};

/// The random seed is constant, so that evaluating the surrounding definition is repeatable.
const FIXED_SEED: u64 = 0x9e37_79b9_7f4a_7c15;

/// A script of another definition.
#[derive(Debug)]
pub struct Embedded {
    program: Program,
    /// Undeclared names, in order.
    names: Vec<String>,
}

/// The result of a run: its value and the variables it assigned.
#[derive(Debug)]
pub struct EmbeddedResult {
    /// The returned value, or that of its last expression.
    pub value: Json,
    /// Undeclared names whose value has changed, with the new value.
    pub assigned: Vec<(String, Json)>,
}

/// The inputs and the budget of a run.
#[derive(Debug, Clone, Copy)]
pub struct EmbeddedEnvironment<'a> {
    /// The time of the turn.
    pub now: Timestamp,
    /// The business key of the instance.
    pub key: Option<&'a str>,
    /// Operations that it may use.
    pub ops: u64,
}

/// Compiles a script. Lines are counted from its own beginning.
pub fn compile_embedded(text: &str) -> Result<Embedded, Vec<Diagnostic>> {
    let alone: Arc<str> = format!("workflow main() {{\n{text}\n}}").into();
    let mut problems = Problems::default();
    let file = parse(&alone, Language::JavaScript, &mut problems);
    let analysis = check(&file, &mut problems);
    refuse_awaits(&file, &mut problems);
    let implicit = analysis.decls.iter().filter(|it| it.kind == DeclKind::Implicit);
    let mut names: BTreeSet<String> = implicit.map(|it| it.name.to_string()).collect();
    names.extend(analysis.undefined);
    let mut errors = Vec::new();
    for mut found in problems.diagnostics(&SourceMap::new(alone.clone())) {
        let is_variable = found.code == Code::UndefinedName.code();
        if found.severity == Severity::Error && !is_variable {
            found.start.line = found.start.line.saturating_sub(1).max(1);
            errors.push(found);
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    let names: Vec<String> = names.into_iter().collect();
    let whole: Arc<str> = wrap_in_workflow(&return_last_expression(&alone, &file), &names).into();
    let compiled = compile_script(&whole, "script");
    let program = compiled.program.ok_or(compiled.diagnostics)?;
    Ok(Embedded { program, names })
}

/// Rejects `await`, which would have to outlive the turn.
fn refuse_awaits(file: &File, problems: &mut Problems) {
    struct Awaits<'p>(&'p mut Problems);
    impl<'a> Visitor<'a> for Awaits<'_> {
        fn expr(&mut self, expr: &'a Expr) {
            if let ExprKind::Await(_) = expr.kind {
                let message = "a script of a process runs at once and cannot wait";
                let help = "use a service task, an event, or a call of a flow";
                self.0.add_with_help(Code::AwaitNotAllowed, expr.span, message, help);
            }
            walk_expr(self, expr);
        }
    }
    let mut awaits = Awaits(problems);
    for workflow in &file.workflows {
        awaits.function(&workflow.function);
    }
}

/// The text between the braces, with its last expression returned.
fn return_last_expression(alone: &str, file: &File) -> String {
    let body = file.workflows.first().map(|it| &it.function.body);
    let last = match body {
        Some(Body::Block(block)) => block.statements.last(),
        _ => None,
    };
    let inner = alone.find('{').map_or(0, |at| at + 1)..alone.len().saturating_sub(1);
    let Some(StmtKind::Expr(expr)) = last.map(|it| &it.kind) else {
        return alone.get(inner).unwrap_or_default().to_owned();
    };
    let (start, end) = (expr.span.start as usize, expr.span.end as usize);
    let part = |from: usize, to: usize| alone.get(from..to).unwrap_or_default();
    let (before, value, after) = (part(inner.start, start), part(start, end), part(end, inner.end));
    format!("{before}return ({value}){after}")
}

/// The workflow that runs: sets the variables, runs the script, returns its value and the
/// variables.
fn wrap_in_workflow(body: &str, names: &[String]) -> String {
    let declared: Vec<String> =
        names.iter().map(|name| format!("let {name} = given$.{name};")).collect();
    format!(
        "workflow main(given$) {{ {} const run$ = () => {{{body}}}; const value$ = run$(); \
         return {{ value: value$, variables: {{ {} }} }}; }}",
        declared.concat(),
        names.join(", ")
    )
}

impl Embedded {
    /// Runs to completion.
    pub fn run(
        &self,
        variable: &dyn Fn(&str) -> Option<Json>,
        around: &EmbeddedEnvironment<'_>,
        limits: &Limits,
    ) -> (Result<EmbeddedResult, Failure>, u64) {
        let given: BTreeMap<&String, Json> =
            self.names.iter().map(|name| (name, variable(name).unwrap_or_default())).collect();
        let limits = Limits { ops_per_slice: around.ops, ..limits.clone() };
        let mut host = PureHost::new(around.now, FIXED_SEED, around.key);
        let input = Json::object(given.iter().map(|(name, value)| (name.as_str(), value)));
        let mut machine = match Machine::start(&self.program, 0, &input, &mut host, &limits) {
            Ok(machine) => machine,
            Err(fault) => return (Err(failed(fault)), 1),
        };
        let outcome = run(&mut machine);
        let ops = machine.ops();
        (outcome.map(|result| changed(&result, &given)), ops)
    }
}

/// The document that the workflow of [`wrap_in_workflow`] returns.
#[derive(serde::Deserialize)]
struct EmbeddedReturn {
    #[serde(default)]
    value: Json,
    #[serde(default)]
    variables: BTreeMap<String, Json>,
}

fn run(machine: &mut Machine<'_>) -> Result<EmbeddedReturn, Failure> {
    match machine.run().map_err(failed)? {
        StopReason::Finished => {
            let result = machine.result().map_err(failed)?;
            // The trace is dropped: its positions refer to the generated workflow, not to the
            // author's text.
            let result = result.map_err(|failure| Failure { trace: None, ..failure })?;
            result.read().map_err(|error| Failure::new("TypeError", error.to_string()))
        }
        StopReason::Waiting | StopReason::Yield => {
            Err(Failure::new("expression_too_long", "the script takes too long"))
        }
        StopReason::Uncaught { .. } => {
            let (value, text) = machine.error();
            let part = |name| machine.error_part(name).and_then(|it| it.read::<String>().ok());
            let code = part("code").or_else(|| part("name"));
            let message = part("message").unwrap_or(text);
            let data = part("message").is_none().then_some(value);
            Err(Failure {
                data,
                ..Failure::new(code.unwrap_or_else(|| "Error".to_owned()), message)
            })
        }
    }
}

fn failed(fault: Fault) -> Failure {
    Failure::new(fault.code, fault.message)
}

fn changed(result: &EmbeddedReturn, given: &BTreeMap<&String, Json>) -> EmbeddedResult {
    let is_new = |(name, value): &(&String, &Json)| given.get(name) != Some(value);
    let assigned = result.variables.iter().filter(is_new);
    let assigned = assigned.map(|(name, value)| (name.clone(), value.clone())).collect();
    EmbeddedResult { value: result.value.clone(), assigned }
}
