//! Test files: definitions with what is expected of them, on the virtual clock.

use std::collections::BTreeMap;

use meantime_core::time::{Span, Zone};
use meantime_core::{Json, Source, Timestamp};
use meantime_kernel::machine::Notations;
use serde::Deserialize;
use serde_json::Value;

use crate::case_step::TestStep;
use crate::compare::{differences, first_missing};
use crate::run::{Simulation, SimulationError, SimulationSpec};
use crate::stub::Stubs;
use crate::trace::to_text;
use crate::yaml::{self, YamlProblem};

/// When a test starts if its file does not say it.
const DEFAULT_CLOCK: &str = "2026-01-01T00:00:00Z";

/// How long a case without steps runs at most.
const DEFAULT_UNTIL: &str = "P1Y";

/// A `*.test.yaml` file.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TestFile {
    /// The file of the definition, beside this one.
    pub definition: String,
    /// Further files that are deployed, for example those of children.
    #[serde(default)]
    pub also: Vec<String>,
    /// The name of the definition, if its file has several.
    #[serde(default)]
    pub name: Option<String>,
    /// When each case starts.
    #[serde(default)]
    pub clock: Option<String>,
    /// The seed of all random choices.
    #[serde(default)]
    pub seed: u64,
    /// Configuration values of journeys (`platform.config`).
    #[serde(default, deserialize_with = "crate::yaml::json_map")]
    pub config: BTreeMap<String, Json>,
    /// The stubs of all cases.
    #[serde(default)]
    pub stubs: Stubs,
    /// The cases.
    pub cases: Vec<TestCase>,
}

/// One case.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TestCase {
    /// What it shows.
    pub name: String,
    #[serde(default, deserialize_with = "crate::yaml::json")]
    input: Json,
    #[serde(default)]
    key: Option<String>,
    #[serde(default)]
    clock: Option<String>,
    #[serde(default)]
    stubs: Stubs,
    #[serde(default)]
    steps: Vec<TestStep>,
    /// How long it runs after its steps, a duration from the start.
    #[serde(default)]
    until: Option<String>,
    #[serde(default)]
    expect: Option<Expectation>,
    /// The case once for each row, with what the row says instead.
    #[serde(default)]
    table: Vec<Row>,
}

/// A row of a table.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Row {
    #[serde(default)]
    name: Option<String>,
    #[serde(default, deserialize_with = "crate::yaml::some_json")]
    input: Option<Json>,
    #[serde(default)]
    stubs: Stubs,
    #[serde(default)]
    expect: Option<Expectation>,
}

/// What is expected of an instance.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct Expectation {
    /// The instance, as traces name it; the first one if none is named.
    instance: Option<String>,
    status: Option<String>,
    #[serde(deserialize_with = "crate::yaml::some_json")]
    output: Option<Json>,
    #[serde(deserialize_with = "crate::yaml::some_json")]
    error: Option<Json>,
    #[serde(deserialize_with = "crate::yaml::some_json")]
    variables: Option<Json>,
    /// `kind name` or `kind element`, in any order: all of them.
    waiting_for: Option<Vec<String>>,
    incidents: Option<Vec<String>>,
    /// Tasks and calls in this order, with others between them.
    #[serde(deserialize_with = "crate::yaml::json_list")]
    calls: Vec<Json>,
    /// Events of the trace in this order, with others between them.
    #[serde(deserialize_with = "crate::yaml::json_list")]
    history: Vec<Json>,
    /// Armed timers in due order, with others between them.
    #[serde(deserialize_with = "crate::yaml::json_list")]
    timers: Vec<Json>,
    now: Option<String>,
}

/// Which cases to run.
#[derive(Debug, Clone, Default)]
pub struct TestFilter {
    /// Only cases whose name contains this text.
    pub name: Option<String>,
}

/// The result of one case.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CaseResult {
    /// Its name.
    pub name: String,
    /// What was not as expected; nothing if it passed.
    pub failures: Vec<String>,
    /// What happened, if it failed.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub trace: String,
}

/// Reads a test file.
pub fn read_test_file(text: &str) -> Result<TestFile, YamlProblem> {
    let file: TestFile = yaml::read(text)?;
    let check = || {
        file.stubs.check()?;
        file.clock.as_deref().map(instant).transpose()?;
        if file.cases.is_empty() {
            return Err("`cases` is empty: there is nothing to test".to_owned());
        }
        for (index, case) in file.cases.iter().enumerate() {
            let at = |error: String| format!("cases[{index}]: {error}");
            case.stubs.check().map_err(at)?;
            case.clock.as_deref().map(instant).transpose().map_err(at)?;
            case.table.iter().try_for_each(|row| row.stubs.check()).map_err(at)?;
            for (number, step) in case.steps.iter().enumerate() {
                step.check().map_err(|error| at(format!("steps[{number}]: {error}")))?;
            }
            let has_expectation =
                |case: &TestCase| case.expect.is_some() || case.steps.iter().any(TestStep::expects);
            let each_row =
                !case.table.is_empty() && case.table.iter().all(|it| it.expect.is_some());
            if !has_expectation(case) && !each_row {
                return Err(at("it expects nothing".to_owned()));
            }
        }
        Ok(())
    };
    check().map_err(YamlProblem::of_file)?;
    Ok(file)
}

fn instant(text: &str) -> Result<Timestamp, String> {
    Timestamp::parse(text).map_err(|error| format!("`clock`: {error}"))
}

/// Runs the cases of a file. Needs a tokio runtime.
pub async fn run_tests(
    file: &TestFile,
    sources: &[(String, Source)],
    notations: &Notations,
    filter: &TestFilter,
) -> Vec<CaseResult> {
    let mut results = Vec::new();
    for case in file.cases.iter().flat_map(rows) {
        if filter.name.as_ref().is_some_and(|part| !case.name.contains(part)) {
            continue;
        }
        let clock = case.clock.as_deref().or(file.clock.as_deref()).unwrap_or(DEFAULT_CLOCK);
        let spec = SimulationSpec {
            notations: notations.clone(),
            sources: sources.to_vec(),
            definition: file.name.clone(),
            input: Some(case.input.clone()),
            key: case.key.clone(),
            from: Timestamp::parse(clock).unwrap_or_default(),
            stubs: file.stubs.overridden_by(&case.stubs),
            seed: file.seed,
            choices: Vec::new(),
        };
        results.push(run_case(&case, spec).await);
    }
    results
}

/// The case itself, or one for each row of its table.
fn rows(case: &TestCase) -> Vec<TestCase> {
    if case.table.is_empty() {
        return vec![case.clone()];
    }
    let of = |(index, row): (usize, &Row)| {
        let name = row.name.clone().unwrap_or_else(|| (index + 1).to_string());
        TestCase {
            name: format!("{}: {name}", case.name),
            input: row.input.clone().unwrap_or_else(|| case.input.clone()),
            stubs: case.stubs.overridden_by(&row.stubs),
            expect: row.expect.clone().or_else(|| case.expect.clone()),
            table: Vec::new(),
            ..case.clone()
        }
    };
    case.table.iter().enumerate().map(of).collect()
}

async fn run_case(case: &TestCase, spec: SimulationSpec) -> CaseResult {
    let name = case.name.clone();
    let mut simulation = match Simulation::new(spec).await {
        Ok(simulation) => simulation,
        Err(error) => {
            return CaseResult { name, failures: vec![words(&error)], trace: String::new() };
        }
    };
    let mut failures = Vec::new();
    if let Err(error) = play(case, &mut simulation, &mut failures).await {
        failures.push(words(&error));
    }
    let trace = if failures.is_empty() {
        String::new()
    } else {
        let report = simulation.report(crate::run::SimulationEnd::Horizon).await;
        report.map(|report| to_text(&report)).unwrap_or_default()
    };
    simulation.stop().await;
    CaseResult { name, failures, trace }
}

/// The error with the diagnostics of a definition.
fn words(error: &SimulationError) -> String {
    let SimulationError::Diagnostics { file, diagnostics } = error else {
        return error.to_string();
    };
    let of = |it: &meantime_core::Diagnostic| {
        format!("{file}:{}:{}: {} {}", it.start.line, it.start.column, it.code, it.message)
    };
    diagnostics.iter().map(of).collect::<Vec<_>>().join("\n")
}

async fn play(
    case: &TestCase,
    simulation: &mut Simulation,
    failures: &mut Vec<String>,
) -> Result<(), SimulationError> {
    let begun = simulation.now();
    simulation.start().await?;
    for (number, step) in case.steps.iter().enumerate() {
        let found = step.play(simulation).await?;
        failures.extend(found.into_iter().map(|text| format!("steps[{number}]: {text}")));
        if !failures.is_empty() {
            // What follows would only fail because of it.
            return Ok(());
        }
    }
    let until = case.until.as_deref().or(case.steps.is_empty().then_some(DEFAULT_UNTIL));
    if let Some(until) = until {
        match after(begun, until) {
            Ok(until) => drop(simulation.run_until(until).await?),
            Err(text) => failures.push(format!("until: {text}")),
        }
    }
    if let Some(expect) = &case.expect {
        failures.extend(expect.check(simulation).await?);
    }
    Ok(())
}

/// An instant, or a duration after one.
pub(crate) fn after(at: Timestamp, text: &str) -> Result<Timestamp, String> {
    if text.starts_with(['P', 'p']) {
        let span = Span::parse_delay(text).map_err(|error| error.to_string())?;
        return span.add_to(at, &Zone::UTC).map_err(|error| error.to_string());
    }
    Timestamp::parse(text).map_err(|error| error.to_string())
}

fn value(json: &Json) -> Value {
    json.read().unwrap_or_default()
}

impl Expectation {
    /// What is not as expected.
    pub(crate) async fn check(
        &self,
        simulation: &mut Simulation,
    ) -> Result<Vec<String>, SimulationError> {
        let Some(id) = simulation.instance_named(self.instance.as_deref()) else {
            let name = self.instance.as_deref().unwrap_or_default();
            return Ok(vec![format!("there is no instance `{name}`")]);
        };
        let Some(instance) = simulation.instance(id).await? else {
            return Ok(vec!["the instance is gone".to_owned()]);
        };
        let mut found = Vec::new();
        if let Some(status) = &self.status
            && status != instance.status
        {
            let why = instance.error.as_ref();
            let why = why.map_or_else(String::new, |it| format!(" ({}: {})", it.code, it.message));
            found.push(format!("status: expected {status}, got {}{why}", instance.status));
        }
        let actual = serde_json::to_value(&instance).unwrap_or_default();
        for (name, expected) in
            [("output", &self.output), ("error", &self.error), ("variables", &self.variables)]
        {
            if let Some(expected) = expected {
                found.extend(differences(name, &value(expected), &actual[name]));
            }
        }
        if let Some(expected) = &self.waiting_for {
            found.extend(waiting(expected, &instance.waiting_for));
        }
        if let Some(expected) = &self.incidents
            && *expected != instance.incidents
        {
            found.push(format!("incidents: expected {expected:?}, got {:?}", instance.incidents));
        }
        if let Some(expected) = &self.now {
            match Timestamp::parse(expected) {
                Ok(at) if at == simulation.now() => {}
                _ => found.push(format!("now: expected {expected}, got {}", simulation.now())),
            }
        }
        let calls: Vec<Value> = simulation.calls().iter().map(call_value).collect();
        let trace =
            simulation.trace().iter().map(|it| serde_json::to_value(it).unwrap_or_default());
        let history: Vec<Value> = trace.collect();
        let timers = simulation.timers().await?.into_iter().map(|(element, due_at)| {
            serde_json::json!({ "element": element, "dueAt": due_at.to_string() })
        });
        let timers: Vec<Value> = timers.collect();
        for (name, expected, actual) in [
            ("calls", &self.calls, &calls),
            ("history", &self.history, &history),
            ("timers", &self.timers, &timers),
        ] {
            let expected: Vec<Value> = expected.iter().map(value).collect();
            if let Some(missing) = first_missing(&expected, actual) {
                let lines: Vec<String> = actual.iter().map(|it| format!("  {it}")).collect();
                let lines =
                    if lines.is_empty() { "  nothing".to_owned() } else { lines.join("\n") };
                found.push(format!("{name}: {missing} is missing; there is, in order:\n{lines}"));
            }
        }
        Ok(found)
    }
}

fn call_value(call: &crate::run::Call) -> Value {
    let input: Value = value(&call.input);
    serde_json::json!({
        (call.kind): call.name,
        "element": call.element,
        "instance": call.instance,
        "input": input,
    })
}

/// Compares `kind name` or `kind element` with what an instance waits for.
fn waiting(expected: &[String], actual: &[crate::report::Waits]) -> Option<String> {
    let mut left: Vec<&crate::report::Waits> = actual.iter().collect();
    let missing = expected.iter().find(|text| {
        let is = |wait: &&crate::report::Waits| {
            **text == format!("{} {}", wait.kind, wait.name)
                || **text == format!("{} {}", wait.kind, wait.element)
                || text.as_str() == wait.kind
        };
        match left.iter().position(is) {
            Some(at) => {
                left.remove(at);
                false
            }
            None => true,
        }
    });
    if missing.is_none() && left.is_empty() {
        return None;
    }
    let actual: Vec<String> = actual.iter().map(|it| format!("{} {}", it.kind, it.name)).collect();
    Some(format!("waitingFor: expected {expected:?}, got {actual:?}"))
}
