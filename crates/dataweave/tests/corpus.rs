//! Scripts with the answers of the official engine; see `corpus/generate.py`.
#![expect(clippy::disallowed_methods, reason = "a test reads its vectors; the crate reads no file")]

use std::path::{Path, PathBuf};

use libtest_mimic::{Arguments, Failed, Trial};
use meantime_core::Timestamp;
use meantime_dataweave::{EvalContext, EvalLimits, Script};
use meantime_value::json::{self, Layout};
use meantime_value::{Object, Value};

fn main() {
    let args = Arguments::from_args();
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let mut trials = Vec::new();
    for path in files(&dir) {
        let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        let name = name.unwrap_or_default();
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("txt") => trials.push(Trial::test(name, move || all_lines(&path))),
            Some("json") => trials.push(Trial::test(name, move || all_scripts(&path))),
            _ => {}
        }
    }
    libtest_mimic::run(&args, trials).exit();
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).expect("the directory of vectors is there");
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// One expression per line; all failures of a file are reported together.
fn all_lines(path: &Path) -> Result<(), Failed> {
    let text = std::fs::read_to_string(path)?;
    let mut imports = String::new();
    let mut failures = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        if let Some(module) = line.strip_prefix("#import ") {
            imports.extend(["import * from ", module, "\n"]);
        }
        if line.starts_with('#') {
            continue;
        }
        let Some((expression, expected)) = line.rsplit_once(" => ") else {
            failures.push(format!("{line}\n  has no answer"));
            continue;
        };
        let script = format!("%dw 2.0\noutput application/json\n{imports}---\n{expression}");
        if let Err(problem) = check(&script, &[], Vec::new(), expected) {
            failures.push(format!("{expression}\n  {problem}"));
        }
    }
    report(&failures)
}

fn report(failures: &[String]) -> Result<(), Failed> {
    if failures.is_empty() {
        return Ok(());
    }
    Err(format!("{} failed\n{}", failures.len(), failures.join("\n")).into())
}

/// Whole scripts with inputs.
fn all_scripts(path: &Path) -> Result<(), Failed> {
    let text = std::fs::read_to_string(path)?;
    let Value::Array(cases) = json::read(&text)? else { return Err("not an array".into()) };
    let mut failures = Vec::new();
    for case in cases.iter() {
        let Value::Object(case) = case else { return Err("not an object".into()) };
        let script = script_of(case);
        let (names, values) = inputs_of(case);
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let expected = case.get("expect").map(compact).unwrap_or_default();
        let expected = if expected == "\"error\"" { "error".to_owned() } else { expected };
        if let Err(problem) = check(&script, &names, values, &expected) {
            failures.push(format!("{script}\n  {problem}"));
        }
    }
    report(&failures)
}

fn script_of(case: &Object) -> String {
    let Some(Value::Array(lines)) = case.get("script") else { return String::new() };
    let line = |line: &Value| match line {
        Value::Text(text) => text.to_string(),
        _ => String::new(),
    };
    lines.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn inputs_of(case: &Object) -> (Vec<String>, Vec<Value>) {
    let Some(Value::Object(inputs)) = case.get("inputs") else { return Default::default() };
    let entries = inputs.entries().iter();
    entries.map(|entry| (entry.key.name().to_string(), entry.value.clone())).unzip()
}

fn compact(value: &Value) -> String {
    json::write(value, Layout::Compact, usize::MAX).unwrap_or_default()
}

fn check(script: &str, names: &[&str], values: Vec<Value>, expected: &str) -> Result<(), String> {
    let found = evaluate(script, names, values);
    match (found, expected) {
        (Err(_), "error") => Ok(()),
        (Ok(found), "error") => Err(format!("expected an error, found {}", one_line(&found))),
        (Err(problem), _) => Err(format!("expected {expected}, found: {problem}")),
        (Ok(found), _) => {
            // A key that stands twice is a value of DataWeave, and no document.
            let (found, expected) = match json::read(expected) {
                Ok(expected) => (compact(&found), compact(&expected)),
                Err(_) => (one_line(&found), expected.to_owned()),
            };
            if found == expected {
                return Ok(());
            }
            Err(format!("expected {expected}\n  found    {found}"))
        }
    }
}

fn one_line(value: &Value) -> String {
    json::write(value, Layout::OneLine, usize::MAX).unwrap_or_default()
}

fn evaluate(script: &str, names: &[&str], values: Vec<Value>) -> Result<Value, String> {
    let compilation = Script::compile(script, names);
    let Some(script) = compilation.script else {
        let messages = compilation.diagnostics.iter().map(|found| found.message.clone());
        return Err(messages.collect::<Vec<_>>().join("; "));
    };
    let context = EvalContext {
        now: Timestamp::from_millis(1_800_000_000_000),
        seed: 1,
        limits: EvalLimits::default(),
    };
    let evaluation = script.evaluate(values, &context);
    let value = evaluation.map_err(|error| format!("{} {error}", error.code()))?.value;
    match json::write(&value, Layout::Compact, usize::MAX) {
        Ok(_) => Ok(value),
        Err(error) => Err(error.to_string()),
    }
}
