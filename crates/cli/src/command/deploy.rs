//! `meantime deploy`: deploys a file, or all definitions of a directory.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use hyper::Method;
use meantime_core::{Diagnostic, Position, Severity};
use serde_json::Value;

use crate::client::{Client, ClientError, RequestBody, ServerOptions, percent_encode};
use crate::definitions::{self, DefinitionFile};
use crate::diagnostic::render_diagnostic;
use crate::exit;
use crate::show::{self, Column, Format, text};

/// Deploys definitions.
#[derive(Debug, clap::Args)]
pub(crate) struct Deploy {
    /// A file, or a directory of definitions
    path: PathBuf,
    /// Directory of files that definitions refer to, besides the definition's own directory
    #[arg(long, value_name = "DIR")]
    catalog: Vec<PathBuf>,
    /// Only validate; deploy nothing
    #[arg(long)]
    dry_run: bool,
}

const DEPLOY_COLUMNS: &[Column] = &[
    ("DEFINITION", |it| text(&it["name"])),
    ("NOTATION", |it| text(&it["notation"])),
    ("VERSION", |it| text(&it["version"])),
    ("LABEL", |it| text(&it["label"])),
    ("WARNINGS", |it| it["warnings"].as_array().map_or(0, Vec::len).to_string()),
];

impl Deploy {
    pub(crate) fn run(self, target: &ServerOptions) -> Result<ExitCode> {
        let client = Client::new(target)?;
        let mut deployed = Vec::new();
        let mut refused = false;
        for file in definitions::find_at_least_one(&self.path, &self.catalog)? {
            match self.deploy(&client, &file) {
                Ok(answer) => {
                    let definitions = answer["definitions"].as_array().into_iter().flatten();
                    deployed.extend(definitions.cloned());
                }
                Err(error) => {
                    show_refusal(&file, error, target.format)?;
                    refused = true;
                }
            }
        }
        if !refused || !deployed.is_empty() || !show::is_for_people(target.format) {
            show::list(target.format, &deployed, DEPLOY_COLUMNS)?;
        }
        Ok(if refused { ExitCode::from(exit::FAILURE) } else { ExitCode::SUCCESS })
    }

    fn deploy(&self, client: &Client, file: &DefinitionFile) -> Result<Value> {
        let name = percent_encode(&file.source.name);
        let dry_run = if self.dry_run { "&dryRun=true" } else { "" };
        let path = format!("/definitions?name={name}{dry_run}");
        let sent = RequestBody::Source { media_type: file.media_type, source: file.source.clone() };
        client.call(Method::POST, &path, sent)
    }
}

/// Prints the diagnostics of a rejected definition; any other error ends the command.
fn show_refusal(file: &DefinitionFile, error: anyhow::Error, format: Format) -> Result<()> {
    let body = match error.downcast_ref::<ClientError>() {
        Some(ClientError::Refused { code, body, .. }) if code == "invalid_definition" => body,
        _ => return Err(error),
    };
    if !show::is_for_people(format) {
        show::print_error(&serde_json::to_string_pretty(body)?);
        return Ok(());
    }
    let name = file.path.display().to_string();
    for it in body["diagnostics"].as_array().into_iter().flatten() {
        let drawn =
            render_diagnostic(&name, &file.source.text, &read_diagnostic(it), show::colors());
        show::print_error(&format!("{drawn}\n"));
    }
    Ok(())
}

/// Reads a diagnostic from the JSON of the server.
fn read_diagnostic(it: &Value) -> Diagnostic {
    let number = |name: &str| it[name].as_u64().and_then(|it| u32::try_from(it).ok());
    let position =
        |line: &str, column: &str| Some(Position { line: number(line)?, column: number(column)? });
    let start = position("line", "column").unwrap_or(Position { line: 1, column: 1 });
    Diagnostic {
        severity: match it["severity"].as_str() {
            Some("warning") => Severity::Warning,
            Some("note") => Severity::Note,
            _ => Severity::Error,
        },
        end: position("endLine", "endColumn"),
        help: it["help"].as_str().map(str::to_owned),
        ..Diagnostic::error(text(&it["code"]), text(&it["message"]), start)
    }
}
