//! Reads BPMN models of other vendors and prints for each whether it is accepted or why it is
//! refused.
//!
//! `cargo run --example models -- FILE|DIR…`; `cargo xtask conformance bpmn` is the same.
//! Every model is read twice: as it is, and as a copy in which all processes are executable. A
//! refusal of the copy means that the model uses elements which are not executed here, or lacks
//! something the engine cannot invent, such as the time of a timer or the worker of a service task.
//! Each refusal names a line.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command line prints")]
#![expect(clippy::disallowed_methods, reason = "the command reads files; the crate does not")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use meantime_bpmn::Bpmn;
use meantime_core::{Compiled, Limits, Notation, Severity, Source};

/// Codes of elements and attributes that are not executed here; all other codes are about the
/// model.
const LEFT_OUT: [&str; 5] = ["B004", "B005", "B014", "B015", "B016"];

fn main() -> ExitCode {
    let mut files = Vec::new();
    for argument in std::env::args().skip(1) {
        if let Err(error) = collect(Path::new(&argument), &mut files) {
            eprintln!("conformance: {argument}: {error}");
            return ExitCode::from(2);
        }
    }
    files.sort();
    if files.is_empty() {
        eprintln!("conformance: there is no model (*.bpmn)");
        return ExitCode::from(2);
    }
    let mut sum = Sum::default();
    for file in &files {
        match std::fs::read(file) {
            Ok(bytes) => sum.add(file, &String::from_utf8_lossy(&bytes)),
            Err(error) => {
                eprintln!("conformance: {}: {error}", file.display());
                return ExitCode::from(2);
            }
        }
    }
    sum.print(files.len());
    if sum.nameless == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// A file, or all models below a directory.
fn collect(path: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    if !path.is_dir() {
        files.push(path.to_owned());
        return Ok(());
    }
    for entry in std::fs::read_dir(path)? {
        let path = entry?.path();
        if path.is_dir() || path.extension().is_some_and(|it| it == "bpmn") {
            collect(&path, files)?;
        }
    }
    Ok(())
}

/// The results of all models.
#[derive(Default)]
struct Sum {
    accepted: usize,
    /// Refusals of executable copies, by code.
    codes: BTreeMap<String, usize>,
    /// Refused without an error that explains it.
    nameless: usize,
}

impl Sum {
    fn add(&mut self, file: &Path, text: &str) {
        let name = file.display().to_string();
        let as_it_is = compile(&name, text);
        report(&name, "as it is", &as_it_is);
        let executable = compile(&name, &switched_on(text));
        report(&name, "executable", &executable);
        for compiled in [&as_it_is, &executable] {
            self.nameless += usize::from(!is_accepted(compiled) && errors(compiled).count() == 0);
        }
        self.accepted += usize::from(is_accepted(&executable));
        for found in errors(&executable) {
            *self.codes.entry(found.code.clone()).or_default() += 1;
        }
    }

    fn print(&self, models: usize) {
        println!("{} of {models} models are accepted when they are executable", self.accepted);
        let (left_out, incomplete): (Vec<_>, Vec<_>) =
            self.codes.iter().partition(|(code, _)| LEFT_OUT.contains(&code.as_str()));
        for (what, codes) in [("not executed here", left_out), ("incomplete or wrong", incomplete)]
        {
            println!("{what}: {}", codes.iter().map(|(_, count)| **count).sum::<usize>());
            for (code, count) in codes {
                println!("  {count:>4} × {code}");
            }
        }
    }
}

fn compile(name: &str, text: &str) -> Compiled {
    let source = Source { name: name.to_owned(), text: text.into(), files: Vec::new() };
    Bpmn.compile(&source, &Limits::default())
}

fn errors(compiled: &Compiled) -> impl Iterator<Item = &meantime_core::Diagnostic> {
    compiled.diagnostics.iter().filter(|it| it.severity == Severity::Error)
}

fn is_accepted(compiled: &Compiled) -> bool {
    !compiled.definitions.is_empty() && errors(compiled).count() == 0
}

fn report(name: &str, how: &str, compiled: &Compiled) {
    let verdict = if is_accepted(compiled) { "accepted" } else { "refused" };
    println!("{name}: {how}: {verdict}");
    for found in errors(compiled) {
        let at = found.start;
        println!("  {}:{} {} {}", at.line, at.column, found.code, found.message);
    }
}

/// The same text with every process marked as executable, line by line.
fn switched_on(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 64);
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        let tag_end = rest[at..].find('>').map_or(rest.len(), |end| at + end);
        let (before, tag) = rest[..tag_end].split_at(at);
        out.push_str(before);
        let inner = tag[1..].split(char::is_whitespace).next().unwrap_or_default();
        if !inner.starts_with('/') && inner.rsplit(':').next() == Some("process") {
            let plain = tag.replace("isExecutable=\"false\"", "");
            if plain.contains("isExecutable=\"true\"") {
                out.push_str(&plain);
            } else {
                let name = 1 + inner.len();
                out.push_str(&plain[..name]);
                out.push_str(" isExecutable=\"true\"");
                out.push_str(&plain[name..]);
            }
        } else {
            out.push_str(tag);
        }
        rest = &rest[tag_end..];
    }
    out.push_str(rest);
    out
}
