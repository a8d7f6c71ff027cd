//! Runs the cases of a corpus and prints how many give the output of the official engine.
//!
//! `cargo run --example conformance -- dataweave FILE [--failures]`; `cargo xtask conformance` is
//! the same with a default path. A corpus is a JSON document with `cases`, each with a `name`, a
//! `script`, `inputs` by name with `content` and `mime`, and the expected text in
//! `oracle.output`.
//! A file that is not JSON has one case per line, `expression => JSON` or `expression => ERR
//! reason`. An expression that we accept as an extension, with a warning, may have a value where
//! the official engine has an error.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command line prints")]
#![expect(clippy::disallowed_methods, reason = "the command reads a file; the crate does not")]

use std::collections::BTreeMap;
use std::process::ExitCode;

use meantime_core::{Severity, Timestamp};
use meantime_dataweave::{EvalContext, EvalLimits, Script};
use meantime_value::json::{self, Layout};
use meantime_value::{Object, Value};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let show_failures = args.iter().any(|arg| arg == "--failures");
    let mut plain = args.iter().filter(|arg| !arg.starts_with("--"));
    match (plain.next().map(String::as_str), plain.next()) {
        (Some("dataweave"), Some(path)) => run(path, show_failures),
        _ => {
            eprintln!("usage: conformance dataweave FILE [--failures]");
            ExitCode::from(2)
        }
    }
}

fn run(path: &str, show_failures: bool) -> ExitCode {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) => {
            eprintln!("conformance: cannot read the corpus {path}: {error}");
            return ExitCode::from(2);
        }
    };
    if !text.trim_start().starts_with('{') {
        return run_probes(&text, show_failures);
    }
    let cases = match json::read(&text).map(|corpus| corpus_cases(&corpus)) {
        Ok(Some(cases)) => cases,
        Ok(None) => {
            eprintln!("conformance: {path} has no `cases`");
            return ExitCode::from(2);
        }
        Err(error) => {
            eprintln!("conformance: {path}: {error}");
            return ExitCode::from(2);
        }
    };
    let mut modules: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for case in &cases {
        let outcome = case.run();
        let (passed, total) = modules.entry(module_of(&case.name)).or_default();
        *total += 1;
        match outcome {
            Ok(()) => *passed += 1,
            Err(reason) if show_failures => {
                println!("── {}\n{}\n→ {reason}\n", case.name, case.script.trim_end());
            }
            Err(_) => {}
        }
    }
    print_table(&modules);
    ExitCode::SUCCESS
}

fn run_probes(text: &str, show_failures: bool) -> ExitCode {
    let mut counts = (0, 0);
    for line in text.lines() {
        let Some((expression, expected)) = line.rsplit_once(" => ") else { continue };
        counts.1 += 1;
        match probe(expression.trim_end(), expected.trim()) {
            Ok(()) => counts.0 += 1,
            Err(reason) if show_failures => println!("── {}\n→ {reason}\n", expression.trim_end()),
            Err(_) => {}
        }
    }
    print_table(&BTreeMap::from([("probes".to_owned(), counts)]));
    ExitCode::SUCCESS
}

fn probe(expression: &str, expected: &str) -> Result<(), String> {
    let is_error = expected.starts_with("ERR");
    let compilation = Script::compile(expression, &[]);
    let is_extra = compilation.diagnostics.iter().any(|found| found.code == "dataweave_extension");
    let case = Case {
        name: String::new(),
        script: expression.to_owned(),
        inputs: Vec::new(),
        expected: if is_error { "null".to_owned() } else { expected.to_owned() },
    };
    match (case.evaluate(), is_error) {
        (Err(_), true) => Ok(()),
        (Ok(_), true) if is_extra => Ok(()),
        (Ok(found), true) => Err(format!("expected an error, found {found}")),
        _ => case.run(),
    }
}

fn print_table(modules: &BTreeMap<String, (usize, usize)>) {
    println!("{:<24} {:>6} {:>6} {:>7}", "module", "passed", "cases", "rate");
    let mut sum = (0, 0);
    for (module, (passed, total)) in modules {
        println!("{module:<24} {passed:>6} {total:>6} {:>6}%", percent(*passed, *total));
        sum = (sum.0 + passed, sum.1 + total);
    }
    println!("{:<24} {:>6} {:>6} {:>6}%", "all", sum.0, sum.1, percent(sum.0, sum.1));
}

fn percent(passed: usize, total: usize) -> String {
    let tenths = passed * 1000 / total.max(1);
    format!("{}.{}", tenths / 10, tenths % 10)
}

struct Case {
    name: String,
    script: String,
    inputs: Vec<(String, String)>,
    expected: String,
}

impl Case {
    fn run(&self) -> Result<(), String> {
        let found = self.evaluate()?;
        let expected = json::read(&self.expected).map_err(|error| error.to_string())?;
        let expected = json::write(&expected, Layout::Compact, usize::MAX)
            .map_err(|error| error.to_string())?;
        if found == expected {
            Ok(())
        } else {
            Err(format!("expected {expected}\n  found    {found}"))
        }
    }

    fn evaluate(&self) -> Result<String, String> {
        let names: Vec<&str> = self.inputs.iter().map(|(name, _)| name.as_str()).collect();
        let compilation = Script::compile(&self.script, &names);
        let Some(script) = compilation.script else {
            let errors = compilation.diagnostics.iter();
            let errors = errors.filter(|diagnostic| diagnostic.severity == Severity::Error);
            let lines: Vec<String> = errors
                .map(|error| {
                    format!("{}:{} {}", error.start.line, error.start.column, error.message)
                })
                .collect();
            return Err(lines.join("\n  "));
        };
        let mut values = Vec::new();
        for (name, content) in &self.inputs {
            values.push(json::read(content).map_err(|error| format!("input {name}: {error}"))?);
        }
        let context = EvalContext {
            now: Timestamp::from_millis(1_800_000_000_000),
            seed: 1,
            limits: EvalLimits::default(),
        };
        script
            .evaluate_to_json(values, &context)
            .map_err(|error| format!("{}: {error}", error.code()))
    }
}

fn corpus_cases(corpus: &Value) -> Option<Vec<Case>> {
    let Value::Array(cases) = field(corpus, "cases")? else { return None };
    Some(cases.iter().filter_map(corpus_case).collect())
}

fn corpus_case(case: &Value) -> Option<Case> {
    let mut inputs = Vec::new();
    if let Some(Value::Object(all)) = field(case, "inputs") {
        for entry in Object::entries(all) {
            inputs.push((entry.key.name().to_string(), text(field(&entry.value, "content")?)?));
        }
    }
    Some(Case {
        name: text(field(case, "name")?)?,
        script: text(field(case, "script")?)?,
        inputs,
        expected: text(field(field(case, "oracle")?, "output")?)?,
    })
}

fn field<'v>(value: &'v Value, name: &str) -> Option<&'v Value> {
    match value {
        Value::Object(object) => object.get(name),
        _ => None,
    }
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::Text(text) => Some(text.to_string()),
        _ => None,
    }
}

/// `dw-strings-functions-first#1` belongs to Strings; pages without functions belong to the
/// language.
fn module_of(name: &str) -> String {
    let page = name.split('#').next().unwrap_or(name);
    match page.strip_prefix("dw-").and_then(|rest| rest.split_once("-functions-")) {
        Some((module, _)) => module.to_owned(),
        None if page.contains("cookbook") => "(cookbook)".to_owned(),
        None => "(language)".to_owned(),
    }
}
