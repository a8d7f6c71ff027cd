//! `meantime eval`: one expression, without a server.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "the result is what it is for")]

use std::process::ExitCode;

use anyhow::{Context, Result, anyhow, bail};
use meantime_core::{Diagnostic, Severity};
use meantime_expr::dataweave::{EvalContext, EvalLimits, Script};
use meantime_expr::value::{Value, json};
use meantime_kernel::clock::{Clock, SystemClock};
use meantime_kernel::random::{Entropy, SystemEntropy};

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

/// The languages that are there.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Language {
    Dataweave,
}

impl Eval {
    pub(crate) fn run(&self) -> Result<ExitCode> {
        let source = text_or_file(&self.expression)?;
        let mut names = Vec::new();
        let mut values = Vec::new();
        for variable in &self.variables {
            let (name, value) = read_variable(variable)?;
            names.push(name);
            values.push(value);
        }
        match self.lang {
            Language::Dataweave => Ok(dataweave(&source, &names, values)),
        }
    }
}

/// The text itself, or what the file holds that it names.
fn text_or_file(argument: &str) -> Result<String> {
    match argument.strip_prefix('@') {
        Some(path) => std::fs::read_to_string(path).with_context(|| format!("cannot read {path}")),
        None => Ok(argument.to_owned()),
    }
}

fn read_variable(variable: &str) -> Result<(&str, Value)> {
    let Some((name, value)) = variable.split_once('=') else {
        bail!("`--var {variable}` is not of the form NAME=JSON");
    };
    let text = text_or_file(value)?;
    let value = json::read(&text).map_err(|error| anyhow!("--var {name}: {error}"))?;
    Ok((name, value))
}

fn dataweave(source: &str, names: &[&str], values: Vec<Value>) -> ExitCode {
    let compilation = Script::compile(source, names);
    compilation.diagnostics.iter().for_each(show);
    let Some(script) = compilation.script else { return ExitCode::FAILURE };
    let context = EvalContext {
        now: SystemClock.now().engine,
        seed: SystemEntropy::default().next(),
        limits: EvalLimits::default(),
    };
    match script.evaluate_to_json(values, &context) {
        Ok(text) => {
            println!("{text}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error[{}]: {error}", error.code());
            if let Some(help) = error.help {
                eprintln!("  help: {help}");
            }
            ExitCode::FAILURE
        }
    }
}

fn show(diagnostic: &Diagnostic) {
    let severity = match diagnostic.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    };
    let (line, column) = (diagnostic.start.line, diagnostic.start.column);
    eprintln!(
        "{severity}[{}]: {} (line {line}, column {column})",
        diagnostic.code, diagnostic.message
    );
    if let Some(help) = &diagnostic.help {
        eprintln!("  help: {help}");
    }
}
