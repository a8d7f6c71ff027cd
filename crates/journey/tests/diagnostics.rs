//! Diagnostics of definitions: every file in `tests/diagnostics` has sources and their problems.
//!
//! `UPDATE_EXPECT=1` rewrites the expected problems.

#![expect(clippy::disallowed_methods, reason = "tests read their cases from files")]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use libtest_mimic::{Arguments, Failed, Trial};
use meantime_core::{Diagnostic, Limits, Notation, Severity, Source, SourceFile, Timestamp};
use meantime_journey::{JourneyNotation, Settings};

fn main() {
    let arguments = Arguments::from_args();
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/diagnostics");
    let entries = fs::read_dir(directory).expect("the diagnostics are there");
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    let trial = |path: PathBuf| {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Trial::test(name, move || check(&path))
    };
    libtest_mimic::run(&arguments, paths.into_iter().map(trial).collect()).exit();
}

/// Reads a file: blocks with a source, each followed by a block with its problems.
fn check(path: &Path) -> Result<(), Failed> {
    let text = fs::read_to_string(path)?;
    let mut rewritten = String::new();
    let (mut source, mut files, mut block) = (String::new(), Vec::new(), None::<(String, String)>);
    for line in text.lines() {
        match (&mut block, line.strip_prefix("```")) {
            (Some((kind, content)), Some(_)) => {
                match kind.split_whitespace().collect::<Vec<_>>()[..] {
                    ["journey"] => {
                        source.clone_from(content);
                        rewritten.push_str(content);
                    }
                    ["file", name] => {
                        files.push(SourceFile { name: name.to_owned(), text: content.clone() });
                        rewritten.push_str(content);
                    }
                    ["diagnostics"] => rewritten.push_str(&render_diagnostics(&source, &files)),
                    _ => rewritten.push_str(content),
                }
                rewritten.push_str("```\n");
                block = None;
            }
            (Some((_, content)), None) => {
                content.push_str(line);
                content.push('\n');
            }
            (None, Some(kind)) => {
                block = Some((kind.to_owned(), String::new()));
                let _ = writeln!(rewritten, "```{kind}");
            }
            (None, None) => {
                let _ = writeln!(rewritten, "{line}");
            }
        }
    }
    if rewritten == text {
        return Ok(());
    }
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(path, rewritten)?;
        return Ok(());
    }
    Err(format!("expected:\n{text}\nfound:\n{rewritten}").into())
}

fn render_diagnostics(source: &str, files: &[SourceFile]) -> String {
    let notation = JourneyNotation::new(Settings { deploys: true, ..Settings::default() });
    let source = Source { name: "main".to_owned(), text: source.into(), files: files.to_vec() };
    let compiled = notation.compile(&source, &Limits::default());
    let now = Timestamp::parse("2026-01-01T00:00:00Z").expect("an instant");
    let time = compiled.definitions.iter().flat_map(|it| notation.lint(it, now));
    let mut lines: Vec<String> = compiled.diagnostics.iter().map(line).collect();
    lines.extend(time.map(|it| line(&it)));
    if lines.is_empty() { "none\n".to_owned() } else { lines.concat() }
}

fn line(it: &Diagnostic) -> String {
    let severity = match it.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    };
    let help = it.help.as_ref().map_or_else(String::new, |help| format!("    help: {help}\n"));
    let (line, column) = (it.start.line, it.start.column);
    format!("{} {severity} {line}:{column} {}\n{help}", it.code, it.message)
}
