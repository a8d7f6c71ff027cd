//! `meantime simulate`: runs definitions on a virtual clock, without a server.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use meantime_core::time::{Span, Zone};
use meantime_core::{Json, Source, Timestamp};
use meantime_journey::{JOURNEY_NOTATION, JourneyNotation};
use meantime_kernel::clock::{Clock as _, SystemClock};
use meantime_kernel::machine::Notations;
use meantime_server::notations;
use meantime_simulate::{
    Branch, SimulationError, SimulationReport, SimulationSpec, Stubs, explore, read_stubs,
    simulate, to_ics, to_mermaid, to_text,
};
use serde_json::json;

use crate::definitions::{self, DefinitionFile};
use crate::diagnostic::render_diagnostic;
use crate::exit::{self, UsageError};
use crate::show::{self, Format};

/// Runs definitions on a virtual clock and prints what happens.
///
/// Workers, people and other systems answer as the stubs say; without a stub they never answer.
#[derive(Debug, clap::Args)]
pub(crate) struct Simulate {
    /// Files, or directories of definitions
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// The definition to start, if the files have several
    #[arg(long, value_name = "NAME")]
    definition: Option<String>,
    /// The input: JSON, or `@FILE`; without it, definitions with a schedule are started by that
    #[arg(long, value_name = "JSON|@FILE")]
    input: Option<String>,
    /// The business key
    #[arg(long)]
    key: Option<String>,
    /// File of stubs: what workers, people and other systems answer, and when
    #[arg(long, value_name = "FILE")]
    stubs: Option<PathBuf>,
    /// Worker tasks without a stub return null at once
    #[arg(long)]
    complete_tasks: bool,
    /// When it starts [default: now]
    #[arg(long, value_name = "INSTANT")]
    from: Option<String>,
    /// How long it runs at most: a duration, or an instant
    #[arg(long, value_name = "DURATION|INSTANT", default_value = "P1Y")]
    until: String,
    /// Follow the outcomes that the stubs declare with `oneOf`, at most so many futures
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    branches: Option<u32>,
    /// The seed of random latencies and failures
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Print the timeline in another form
    #[arg(long, value_enum, conflicts_with = "branches")]
    timeline: Option<Timeline>,
    /// Configuration value of journeys (`platform.config`)
    #[arg(long = "config-value", value_name = "KEY=JSON|TEXT")]
    config: Vec<String>,
    /// Directory of files that definitions refer to, besides the definition's own directory
    #[arg(long, value_name = "DIR")]
    catalog: Vec<PathBuf>,
}

/// Other forms of a timeline.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Timeline {
    /// A calendar (RFC 5545)
    Ics,
    /// A Gantt chart for Mermaid
    Mermaid,
}

impl Simulate {
    pub(crate) fn run(self, format: Format) -> Result<ExitCode> {
        let mut files = Vec::new();
        for path in &self.paths {
            files.extend(definitions::find_at_least_one(path, &self.catalog)?);
        }
        let spec = self.spec(&files)?;
        let until = instant(&self.until, spec.from).map_err(|error| usage("--until", &error))?;
        let runtime = runtime()?;
        if let Some(limit) = self.branches {
            let limit = usize::try_from(limit)?;
            return match runtime.block_on(explore(&spec, until, limit)) {
                Ok((branches, more)) => print_branches(format, &branches, more),
                Err(error) => refused(&files, error),
            };
        }
        let report = match runtime.block_on(simulate(spec, until)) {
            Ok(report) => report,
            Err(error) => return refused(&files, error),
        };
        match self.timeline {
            Some(Timeline::Ics) => show::print_line(to_ics(&report).trim_end())?,
            Some(Timeline::Mermaid) => show::print_line(to_mermaid(&report).trim_end())?,
            None if show::is_for_people(format) => print_report(&report)?,
            None => show::document(format, &serde_json::to_value(&report)?)?,
        }
        Ok(ExitCode::SUCCESS)
    }

    fn spec(&self, files: &[DefinitionFile]) -> Result<SimulationSpec> {
        let from = match &self.from {
            Some(text) => Timestamp::parse(text).map_err(|error| usage("--from", &error))?,
            None => SystemClock.now().engine,
        };
        let input = match self.input.as_deref().map(text_or_file).transpose()? {
            Some(text) => Some(Json::parse(&text).map_err(|error| usage("--input", &error))?),
            None => None,
        };
        let mut stubs = match &self.stubs {
            Some(path) => stubs_of(path)?,
            None => Stubs::default(),
        };
        if self.complete_tasks {
            stubs.complete_other_tasks();
        }
        let mut config = BTreeMap::new();
        for text in &self.config {
            let Some((key, value)) = text.split_once('=') else {
                return Err(UsageError(format!("--config-value {text}: write KEY=VALUE")).into());
            };
            let json = Json::parse(value).unwrap_or_else(|_| Json::text(value));
            config.insert(key.to_owned(), json);
        }
        Ok(SimulationSpec {
            notations: notations_with(config),
            sources: sources_of(files),
            definition: self.definition.clone(),
            input,
            key: self.key.clone(),
            from,
            stubs,
            seed: self.seed,
            choices: Vec::new(),
        })
    }
}

/// All notations, with configuration values for journeys.
pub(super) fn notations_with(config: BTreeMap<String, Json>) -> Notations {
    let settings = meantime_journey::Settings { config, ..meantime_journey::Settings::default() };
    notations().with(JOURNEY_NOTATION, Arc::new(JourneyNotation::new(settings)))
}

/// A runtime for simulations: the engine has threads of its own.
pub(super) fn runtime() -> Result<tokio::runtime::Runtime> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    runtime.context("cannot start the runtime")
}

/// The sources of definition files with their notations.
pub(super) fn sources_of(files: &[DefinitionFile]) -> Vec<(String, Source)> {
    files.iter().map(|file| (file.notation.to_owned(), file.source.clone())).collect()
}

fn stubs_of(path: &Path) -> Result<Stubs> {
    let name = path.display();
    let text = std::fs::read_to_string(path).with_context(|| name.to_string())?;
    read_stubs(&text).map_err(|it| {
        UsageError(format!("{name}:{}:{}: {}", it.line, it.column, it.message)).into()
    })
}

fn usage(option: &str, error: &dyn std::fmt::Display) -> UsageError {
    UsageError(format!("{option}: {error}"))
}

/// An instant, or a duration after one.
fn instant(text: &str, at: Timestamp) -> Result<Timestamp, meantime_core::time::TimeError> {
    if text.starts_with(['P', 'p']) {
        return Span::parse_delay(text)?.add_to(at, &Zone::UTC);
    }
    Timestamp::parse(text)
}

/// The argument itself, or the content of the file that `@FILE` names.
fn text_or_file(argument: &str) -> Result<String> {
    match argument.strip_prefix('@') {
        Some(path) => std::fs::read_to_string(path).with_context(|| format!("cannot read {path}")),
        None => Ok(argument.to_owned()),
    }
}

/// Definitions with errors are rejected, with their source; other errors are usage errors or bugs.
fn refused(files: &[DefinitionFile], error: SimulationError) -> Result<ExitCode> {
    match error {
        SimulationError::Diagnostics { file, diagnostics } => {
            let source = files.iter().find(|it| it.source.name == file);
            let text = source.map_or("", |it| &*it.source.text);
            for diagnostic in &diagnostics {
                let shown = render_diagnostic(&file, text, diagnostic, show::colors());
                show::print_error(&format!("{shown}\n"));
            }
            Ok(ExitCode::from(exit::FAILURE))
        }
        SimulationError::Ambiguous(_) => Err(UsageError(format!("{error}: --definition")).into()),
        error => Err(error.into()),
    }
}

fn print_report(report: &SimulationReport) -> Result<()> {
    show::print_line(to_text(report).trim_end())?;
    show::print_line("")?;
    for instance in &report.instances {
        show::print_line(&format!("{}: {}", instance.instance, outcome(instance)))?;
    }
    if !report.unanswered.is_empty() {
        show::print_line("\nNobody answers (give a stub, or --complete-tasks for worker tasks):")?;
        for waits in &report.unanswered {
            show::print_line(&format!("  {waits}"))?;
        }
    }
    Ok(())
}

/// The status with the output, the error, or what the instance waits for.
fn outcome(instance: &meantime_simulate::InstanceReport) -> String {
    let mut text = instance.status.to_owned();
    if let Some(output) = &instance.output {
        let _ = write!(text, " {}", output.as_str());
    }
    if let Some(error) = &instance.error {
        let _ = write!(text, " {}: {}", error.code, error.message);
    }
    if !instance.incidents.is_empty() {
        let _ = write!(text, ", incidents {}", instance.incidents.join(", "));
    }
    let waits = instance.waiting_for.iter().map(|wait| match wait.due_at {
        Some(due_at) => format!("{} {} (until {due_at})", wait.kind, wait.name),
        None => format!("{} {}", wait.kind, wait.name),
    });
    let waits: Vec<String> = waits.collect();
    if !waits.is_empty() {
        let _ = write!(text, ", waits for {}", waits.join(", "));
    }
    text
}

/// The futures as a tree: the choices, and when and how each ends.
fn print_branches(format: Format, branches: &[Branch], more: bool) -> Result<ExitCode> {
    if !show::is_for_people(format) {
        show::document(format, &json!({ "branches": branches, "more": more }))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut before: Vec<String> = Vec::new();
    let mut ends = Vec::new();
    for Branch { report } in branches {
        let path = report.choices.iter().map(|it| format!("{} = {}", it.stub, it.outcome));
        let path: Vec<String> = path.collect();
        let same = path.iter().zip(&before).take_while(|(one, other)| one == other).count();
        for (depth, choice) in path.iter().enumerate().skip(same) {
            show::print_line(&format!("{}{choice}", "  ".repeat(depth)))?;
        }
        let indent = "  ".repeat(path.len());
        if let Some(first) = report.instances.first() {
            let end = first.ended_at.map_or_else(|| "never".to_owned(), |at| at.to_string());
            ends.extend(first.ended_at);
            show::print_line(&format!("{indent}ends {end}: {}", outcome(first)))?;
        }
        before = path;
    }
    let (first, last) = (ends.iter().min(), ends.iter().max());
    if let (Some(first), Some(last)) = (first, last) {
        let unended = branches.len() - ends.len();
        let rest = if unended == 0 { String::new() } else { format!("; {unended} do not end") };
        show::print_line(&format!(
            "\n{} futures: the earliest end is {first}, the latest {last}{rest}",
            branches.len()
        ))?;
    }
    if more {
        show::print_line("There are more futures than --branches allows.")?;
    }
    Ok(ExitCode::SUCCESS)
}
