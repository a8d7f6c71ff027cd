//! `meantime eval`: evaluates one expression or script without a server.

use std::collections::BTreeMap;
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow, bail};
use meantime_core::{Diagnostic, Json, Limits, Severity};
use meantime_dataweave::{EvalContext, EvalLimits, Script};
use meantime_kernel::clock::{Clock, SystemClock};
use meantime_kernel::random::{Entropy, SystemEntropy};
use meantime_value::json;

use crate::show;

/// Maximum number of operations of a FEEL expression.
const FEEL_OPS_LIMIT: u64 = 10_000_000;

/// Evaluates an expression and prints the result as JSON.
#[derive(Debug, clap::Args)]
pub(crate) struct Eval {
    /// The language of the expression
    #[arg(long, value_enum)]
    lang: Language,
    /// The expression, or `@FILE` to read it from a file
    expression: String,
    /// A variable: `NAME=JSON`, or `NAME=@FILE` to read the JSON from a file
    #[arg(long = "var", value_name = "NAME=JSON|@FILE")]
    variables: Vec<String>,
}

/// The languages that can be evaluated.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Language {
    Dataweave,
    Feel,
    Flow,
}

impl Eval {
    pub(crate) fn run(&self) -> Result<ExitCode> {
        let source = text_or_file(&self.expression)?;
        let variables: Result<Vec<(&str, String)>> =
            self.variables.iter().map(|variable| read_variable(variable)).collect();
        match self.lang {
            Language::Dataweave => eval_dataweave(&source, &variables?),
            Language::Feel => eval_feel(&source, &variables?),
            Language::Flow => eval_flow(&source, &variables?),
        }
    }
}

/// The argument itself, or the content of the file that `@FILE` names.
fn text_or_file(argument: &str) -> Result<String> {
    match argument.strip_prefix('@') {
        Some(path) => std::fs::read_to_string(path).with_context(|| format!("cannot read {path}")),
        None => Ok(argument.to_owned()),
    }
}

/// Parses `NAME=JSON` or `NAME=@FILE`.
fn read_variable(variable: &str) -> Result<(&str, String)> {
    let Some((name, value)) = variable.split_once('=') else {
        bail!("`--var {variable}` is not of the form NAME=JSON");
    };
    Ok((name, text_or_file(value)?))
}

/// Evaluates a flow script without an instance: it has no tasks, timers or other effects.
fn eval_flow(source: &str, variables: &[(&str, String)]) -> Result<ExitCode> {
    let mut inputs = Vec::new();
    for (name, text) in variables {
        let value = Json::parse(text).map_err(|error| anyhow!("--var {name}: {error}"))?;
        inputs.push(((*name).to_owned(), value));
    }
    let (now, seed) = (SystemClock.now().engine, SystemEntropy::default().next());
    let evaluation = meantime_script::evaluate(source, &inputs, now, seed, &Limits::default());
    evaluation.diagnostics.iter().for_each(print_diagnostic);
    Ok(match evaluation.result {
        Some(Ok(json)) => {
            show::print_line(json.as_str())?;
            ExitCode::SUCCESS
        }
        Some(Err(failure)) => {
            show::print_error(&format!("error[{}]: {}", failure.code, failure.message));
            ExitCode::FAILURE
        }
        None => ExitCode::FAILURE,
    })
}

fn eval_dataweave(source: &str, variables: &[(&str, String)]) -> Result<ExitCode> {
    let names: Vec<&str> = variables.iter().map(|(name, _)| *name).collect();
    let mut values = Vec::new();
    for (name, text) in variables {
        values.push(json::read(text).map_err(|error| anyhow!("--var {name}: {error}"))?);
    }
    let compilation = Script::compile(source, &names);
    compilation.diagnostics.iter().for_each(print_diagnostic);
    let Some(script) = compilation.script else { return Ok(ExitCode::FAILURE) };
    let context = EvalContext {
        now: SystemClock.now().engine,
        seed: SystemEntropy::default().next(),
        limits: EvalLimits::default(),
    };
    Ok(match script.evaluate_to_json(values, &context) {
        Ok(text) => {
            show::print_line(&text)?;
            ExitCode::SUCCESS
        }
        Err(error) => {
            show::print_error(&format!("error[{}]: {error}", error.code()));
            if let Some(help) = error.help {
                show::print_error(&format!("  help: {help}"));
            }
            ExitCode::FAILURE
        }
    })
}

fn eval_feel(source: &str, variables: &[(&str, String)]) -> Result<ExitCode> {
    let mut values = BTreeMap::new();
    for (name, text) in variables {
        let value = json::read(text).map_err(|error| anyhow!("--var {name}: {error}"))?;
        values.insert(*name, value);
    }
    let program = match meantime_feel::compile(source.trim().trim_start_matches('=').trim()) {
        Ok(program) => program,
        Err(problem) => {
            show::print_error(&format!("error: {problem}"));
            if let Some(help) = problem.help() {
                show::print_error(&format!("  help: {help}"));
            }
            return Ok(ExitCode::FAILURE);
        }
    };
    let variable = |name: &str| values.get(name).cloned();
    let now = SystemClock.now().engine;
    let seed = now.as_millis().unsigned_abs();
    let environment = meantime_feel::Environment { now: Some(now), ops: FEEL_OPS_LIMIT, seed };
    let evaluated = program.evaluate(&variable, &environment);
    // FEEL turns errors into null; the first such error is shown even when the result is not null.
    if let Some(reason) = evaluated.reason {
        show::print_error(&format!("note: {reason}"));
    }
    let text = evaluated.value.map_err(|error| error.to_string()).and_then(|value| {
        let plain = meantime_feel::to_json(&value).map_err(|error| error.to_string())?;
        json::write(&plain, json::Layout::Compact, usize::MAX).map_err(|error| error.to_string())
    });
    Ok(match text {
        Ok(text) => {
            show::print_line(&text)?;
            ExitCode::SUCCESS
        }
        Err(error) => {
            show::print_error(&format!("error: {error}"));
            ExitCode::FAILURE
        }
    })
}

fn print_diagnostic(diagnostic: &Diagnostic) {
    let severity = match diagnostic.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    };
    let (line, column) = (diagnostic.start.line, diagnostic.start.column);
    show::print_error(&format!(
        "{severity}[{}]: {} (line {line}, column {column})",
        diagnostic.code, diagnostic.message
    ));
    if let Some(help) = &diagnostic.help {
        show::print_error(&format!("  help: {help}"));
    }
}
