//! `meantime validate`: validates definitions without a server.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use meantime_core::{Diagnostic, Limits, Severity};
use meantime_kernel::clock::{Clock as _, SystemClock};
use meantime_server::notations;
use serde_json::{Value, json};

use crate::definitions::{self, DefinitionFile};
use crate::diagnostic::render_diagnostic;
use crate::exit;
use crate::show::{self, Format};

/// Validates definitions without a server.
#[derive(Debug, clap::Args)]
pub(crate) struct Validate {
    /// Files, or directories of definitions
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// Directory of files that definitions refer to, besides the definition's own directory
    #[arg(long, value_name = "DIR")]
    catalog: Vec<PathBuf>,
}

impl Validate {
    pub(crate) fn run(self, format: Format) -> Result<ExitCode> {
        let mut files = Vec::new();
        for path in &self.paths {
            files.extend(definitions::find_at_least_one(path, &self.catalog)?);
        }
        let validated: Vec<(DefinitionFile, Vec<Diagnostic>)> = files
            .into_iter()
            .map(|file| {
                let found = validate_file(&file);
                (file, found)
            })
            .collect();
        let is_error = |it: &Diagnostic| it.severity == Severity::Error;
        let errors =
            validated.iter().flat_map(|(_, found)| found).filter(|it| is_error(it)).count();
        if show::is_for_people(format) {
            let colors = show::colors();
            for (file, found) in &validated {
                for diagnostic in found {
                    let name = file.path.display().to_string();
                    show::print_error(&format!(
                        "{}\n",
                        render_diagnostic(&name, &file.source.text, diagnostic, colors)
                    ));
                }
            }
            let (files, good) = (validated.len(), errors == 0);
            show::print_line(&format!(
                "{files} files, {errors} errors{}",
                if good { "" } else { ": rejected" }
            ))?;
        } else {
            let all =
                validated.iter().flat_map(|(file, found)| found.iter().map(|it| to_json(file, it)));
            show::document(format, &json!({ "diagnostics": all.collect::<Vec<_>>() }))?;
        }
        Ok(if errors == 0 { ExitCode::SUCCESS } else { ExitCode::from(exit::FAILURE) })
    }
}

fn validate_file(file: &DefinitionFile) -> Vec<Diagnostic> {
    let notations = notations();
    let Some(notation) = notations.get(file.notation) else {
        let start = meantime_core::Position { line: 1, column: 1 };
        let message = format!("this build does not read the notation {:?}", file.notation);
        return vec![Diagnostic::error("unsupported_media_type", message, start)];
    };
    let compiled = notation.compile(&file.source, &Limits::default());
    let now = SystemClock.now().engine;
    let lint = compiled.definitions.iter().flat_map(|definition| notation.lint(definition, now));
    compiled.diagnostics.into_iter().chain(lint).collect()
}

fn to_json(file: &DefinitionFile, it: &Diagnostic) -> Value {
    let severity = match it.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    };
    let mut value = json!({
        "file": file.path.display().to_string(),
        "code": it.code,
        "severity": severity,
        "message": it.message,
        "line": it.start.line,
        "column": it.start.column,
    });
    if let Some(end) = it.end {
        value["endLine"] = end.line.into();
        value["endColumn"] = end.column.into();
    }
    if let Some(help) = &it.help {
        value["help"] = help.clone().into();
    }
    value
}
