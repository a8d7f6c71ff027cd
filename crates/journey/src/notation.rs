//! Journeys as a notation of the engine.

use std::sync::Arc;

use meantime_core::time::{Span as Duration, Zone};
use meantime_core::{
    Compiled, Cx, Definition, Diagnostic, Event, Execution, Fault, Graph, Limits, Notation,
    Position, Source, Start, State, Timestamp, Turn, View,
};

use crate::check;
use crate::code::Code;
use crate::definition::Journey;
use crate::graph::graph;
use crate::machine::{Run, SavedRun, view};
use crate::read::{Document, document};
use crate::report::Report;
use crate::settings::Settings;
use crate::yaml::{self, Span};

/// The name of the notation.
pub const JOURNEY_NOTATION: &str = "journey";

/// Runs journeys, with the settings of one engine.
#[derive(Debug, Default)]
pub struct JourneyNotation {
    settings: Settings,
}

impl JourneyNotation {
    /// A notation with settings.
    pub const fn new(settings: Settings) -> Self {
        Self { settings }
    }

    fn compile_document(
        &self,
        root: &yaml::Node,
        source: &Source,
        limits: &Limits,
        compiled: &mut Compiled,
    ) {
        let (read, mut report) = document(root, &source.files, &self.settings, limits);
        match read {
            Some(Document::Journey(journey)) => {
                check::check(&journey, &mut report);
                // Values missing in this deployment are reported, but a stored definition must
                // still load.
                if !report.refuses_definition() {
                    compiled.definitions.push(definition(*journey));
                }
            }
            Some(Document::Limits(_)) => {
                let message = "`kind: MetadataLimits` configures the engine and runs nothing";
                report
                    .warn(Code::Limits, root.span, message)
                    .help("name the file in the configuration of the server");
            }
            None => {}
        }
        compiled.diagnostics.extend(report.finish());
    }
}

impl Notation for JourneyNotation {
    fn compile(&self, source: &Source, limits: &Limits) -> Compiled {
        let mut compiled = Compiled::default();
        let size = source.text.len() + source.files.iter().map(|it| it.text.len()).sum::<usize>();
        if size > limits.source_bytes {
            let message = format!("the source has {size} bytes, at most {}", limits.source_bytes);
            compiled.diagnostics.push(whole(Code::TooLarge, message));
            return compiled;
        }
        let documents = yaml::read(&source.text);
        let mut report = Report::default();
        for problem in documents.problems {
            report.error(Code::Yaml, problem.span, problem.message);
            if let Some(help) = problem.help {
                report.help(help);
            }
        }
        if documents.roots.is_empty() && report.count() == 0 {
            report.error(Code::Yaml, Span::WHOLE_DOCUMENT, "the source is empty");
        }
        let is_yaml = !report.has_errors();
        compiled.diagnostics.extend(report.finish());
        // An incomplete tree would lead to wrong problems.
        if is_yaml {
            for root in &documents.roots {
                self.compile_document(root, source, limits, &mut compiled);
            }
        }
        compiled
    }

    fn lint(&self, definition: &Definition, now: Timestamp) -> Vec<Diagnostic> {
        definition.body::<Journey>().map(|it| check::lint(it, now)).unwrap_or_default()
    }

    fn start(&self, definition: &Definition, start: &Start, cx: &Cx<'_>) -> Result<Turn, Fault> {
        Run::start(journey(definition)?, &self.settings, start, cx)
    }

    fn advance(
        &self,
        definition: &Definition,
        state: &State,
        events: &[Event],
        cx: &Cx<'_>,
    ) -> Result<Turn, Fault> {
        let saved = SavedRun::read(state)?;
        let mut run = Run::new(journey(definition)?, &self.settings, saved, cx);
        let verdicts =
            events.iter().map(|event| run.handle_event(event)).collect::<Result<_, _>>()?;
        run.finish(verdicts)
    }

    fn inspect(&self, definition: &Definition, state: &State) -> View {
        match (journey(definition), SavedRun::read(state)) {
            (Ok(journey), Ok(saved)) => view(journey, &saved),
            _ => View::default(),
        }
    }

    fn graph(&self, definition: &Definition) -> Graph {
        journey(definition).map(graph).unwrap_or_default()
    }
}

fn journey(definition: &Definition) -> Result<&Journey, Fault> {
    let text = "the body is of another notation";
    definition.body().ok_or_else(|| Fault::new("not_a_journey", text))
}

fn definition(journey: Journey) -> Definition {
    let execution = journey.timeout.as_ref().map(|timeout| Execution {
        max_duration: Duration::from_millis(timeout.max_duration_sec.saturating_mul(1_000)),
        zone: Zone::utc(),
        code: timeout.code.clone(),
        reason: timeout.reason.clone(),
    });
    Definition {
        name: journey.name.clone(),
        label: Some(journey.version.clone()),
        triggers: Vec::new(),
        execution,
        system: false,
        body: Arc::new(journey),
    }
}

fn whole(code: Code, message: String) -> Diagnostic {
    Diagnostic::error(code.code(), message, Position { line: 1, column: 1 })
}
