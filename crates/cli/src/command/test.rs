//! `meantime test`: runs test files on a virtual clock, without a server.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc;

use anyhow::{Context as _, Result};
use meantime_kernel::clock::Stopwatch;
use meantime_simulate::{CaseResult, TestFilter, read_test_file, run_tests};
use notify::{RecursiveMode, Watcher as _};
use serde_json::json;

use super::simulate::{notations_with, runtime, sources_of};
use crate::definitions;
use crate::exit::{self, UsageError};
use crate::show::{self, Format};

/// The end of the names of test files.
const SUFFIXES: [&str; 2] = [".test.yaml", ".test.yml"];

/// Runs test files on a virtual clock.
#[derive(Debug, clap::Args)]
pub(crate) struct Test {
    /// Test files (*.test.yaml), or directories that contain some [default: this directory]
    paths: Vec<PathBuf>,
    /// Only cases whose name contains TEXT
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
    /// Write a `JUnit` report to FILE
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Run again when a file changes
    #[arg(long)]
    watch: bool,
    /// Directory of files that definitions refer to, besides the definition's own directory
    #[arg(long, value_name = "DIR")]
    catalog: Vec<PathBuf>,
}

/// The results of one file.
struct FileResult {
    path: PathBuf,
    cases: Vec<CaseResult>,
    seconds: f64,
}

impl Test {
    pub(crate) fn run(mut self, format: Format) -> Result<ExitCode> {
        if self.paths.is_empty() {
            self.paths.push(PathBuf::from("."));
        }
        let code = self.run_once(format);
        if !self.watch {
            return code;
        }
        if let Err(error) = code {
            show::print_error(&format!("meantime: {error:#}"));
        }
        self.run_on_changes(format)
    }

    /// Runs the tests again after each change, for ever.
    fn run_on_changes(&self, format: Format) -> Result<ExitCode> {
        let (sender, changes) = mpsc::channel();
        let mut watcher =
            notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
                if event.is_ok_and(|it| it.kind.is_modify() || it.kind.is_create()) {
                    // The receiver lives as long as this command.
                    let _ = sender.send(());
                }
            })?;
        for path in &self.paths {
            let directory = if path.is_dir() { path } else { path.parent().unwrap_or(path) };
            let directory =
                if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
            watcher.watch(directory, RecursiveMode::Recursive)?;
        }
        while changes.recv().is_ok() {
            // Saving one file causes several notifications.
            while changes.try_recv().is_ok() {}
            if let Err(error) = self.run_once(format) {
                show::print_error(&format!("meantime: {error:#}"));
            }
        }
        Ok(ExitCode::SUCCESS)
    }

    fn run_once(&self, format: Format) -> Result<ExitCode> {
        let mut paths = Vec::new();
        for path in &self.paths {
            collect(path, &mut paths)?;
        }
        if paths.is_empty() {
            let text = "no test files found (expected *.test.yaml)".to_owned();
            return Err(UsageError(text).into());
        }
        let runtime = runtime()?;
        let mut results = Vec::new();
        for path in paths {
            let watch = Stopwatch::start();
            let cases = runtime.block_on(self.run_file(&path))?;
            let seconds = watch.elapsed().as_secs_f64();
            let result = FileResult { path, cases, seconds };
            if show::is_for_people(format) {
                print_file(&result)?;
            }
            results.push(result);
        }
        let cases = || results.iter().flat_map(|file| &file.cases);
        let (all, failed) = (cases().count(), cases().filter(|it| !it.failures.is_empty()).count());
        if let Some(path) = &self.junit {
            let text = junit(&results);
            std::fs::write(path, text).with_context(|| path.display().to_string())?;
        }
        if show::is_for_people(format) {
            let word = if failed == 0 { "passed" } else { "FAILED" };
            show::print_line(&format!("{word}: {all} cases, {failed} failed"))?;
        } else {
            let file = |file: &FileResult| json!({ "file": file.path, "cases": file.cases });
            let files: Vec<_> = results.iter().map(file).collect();
            show::document(format, &json!({ "files": files, "cases": all, "failed": failed }))?;
        }
        if all == 0 {
            return Err(UsageError("no case has a name that --filter matches".to_owned()).into());
        }
        Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::from(exit::FAILURE) })
    }

    async fn run_file(&self, path: &Path) -> Result<Vec<CaseResult>> {
        let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
        let file = read_test_file(&text).map_err(|it| {
            UsageError(format!("{}:{}:{}: {}", path.display(), it.line, it.column, it.message))
        })?;
        let beside = path.parent().unwrap_or(Path::new("."));
        let mut files = Vec::new();
        for name in std::iter::once(&file.definition).chain(&file.also) {
            files.extend(definitions::find_at_least_one(&beside.join(name), &self.catalog)?);
        }
        let filter = TestFilter { name: self.filter.clone() };
        let notations = notations_with(file.config.clone());
        Ok(run_tests(&file, &sources_of(&files), &notations, &filter).await)
    }
}

/// Test files of a path, sorted.
fn collect(path: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    let meta = std::fs::metadata(path).with_context(|| path.display().to_string())?;
    if !meta.is_dir() {
        found.push(path.to_owned());
        return Ok(());
    }
    let mut entries = Vec::new();
    for entry in std::fs::read_dir(path).with_context(|| path.display().to_string())? {
        entries.push(entry?.path());
    }
    entries.sort();
    for entry in entries {
        let name = entry.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if entry.is_dir() && !name.starts_with('.') && name != "node_modules" && name != "target" {
            collect(&entry, found)?;
        } else if SUFFIXES.iter().any(|suffix| name.ends_with(suffix)) {
            found.push(entry);
        }
    }
    Ok(())
}

fn print_file(file: &FileResult) -> Result<()> {
    let failed: Vec<&CaseResult> = file.cases.iter().filter(|it| !it.failures.is_empty()).collect();
    show::print_line(&format!(
        "{} {} ({} cases)",
        if failed.is_empty() { "ok    " } else { "FAILED" },
        file.path.display(),
        file.cases.len()
    ))?;
    for case in failed {
        show::print_line(&format!("\n  {}", case.name))?;
        for failure in &case.failures {
            show::print_line(&indented(failure, "    "))?;
        }
        if !case.trace.is_empty() {
            show::print_line("\n    what happened:")?;
            show::print_line(&indented(&case.trace, "      "))?;
        }
    }
    Ok(())
}

fn indented(text: &str, by: &str) -> String {
    text.trim_end().lines().map(|line| format!("{by}{line}")).collect::<Vec<_>>().join("\n")
}

/// The results as `JUnit` XML, as build servers read it.
fn junit(files: &[FileResult]) -> String {
    use std::fmt::Write as _;
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
    for file in files {
        let failed = file.cases.iter().filter(|it| !it.failures.is_empty()).count();
        let name = escaped(&file.path.display().to_string());
        let _ = writeln!(
            text,
            "  <testsuite name=\"{name}\" tests=\"{}\" failures=\"{failed}\" time=\"{:.3}\">",
            file.cases.len(),
            file.seconds
        );
        for case in &file.cases {
            let title = escaped(&case.name);
            let _ = write!(text, "    <testcase classname=\"{name}\" name=\"{title}\"");
            if case.failures.is_empty() {
                text.push_str("/>\n");
                continue;
            }
            let message = escaped(case.failures.first().map_or("", String::as_str));
            let body = escaped(&format!("{}\n\n{}", case.failures.join("\n"), case.trace));
            let _ = writeln!(
                text,
                ">\n      <failure message=\"{message}\">{body}</failure>\n    </testcase>"
            );
        }
        text.push_str("  </testsuite>\n");
    }
    text.push_str("</testsuites>\n");
    text
}

fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' | '\t' => escaped.push(letter),
            // XML has no other control characters.
            letter if letter.is_control() => escaped.push('?'),
            letter => escaped.push(letter),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_junit_report_escapes_what_people_write() {
        let case = |name: &str, failures: &[&str]| CaseResult {
            name: name.to_owned(),
            failures: failures.iter().map(|&it| it.to_owned()).collect(),
            trace: String::new(),
        };
        let cases = vec![case("paid", &[]), case("a < b & \"c\"", &["status: expected <x>"])];
        let file = FileResult { path: PathBuf::from("order.test.yaml"), cases, seconds: 0.25 };
        let text = junit(&[file]);
        assert!(text.contains("tests=\"2\" failures=\"1\" time=\"0.250\""), "{text}");
        assert!(text.contains("name=\"a &lt; b &amp; &quot;c&quot;\""), "{text}");
        assert!(text.contains("message=\"status: expected &lt;x&gt;\""), "{text}");
    }
}
