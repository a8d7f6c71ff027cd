//! Evaluates expressions.

use std::cell::RefCell;
use std::collections::BTreeMap;

use meantime_core::{Failure, Json, Limits, Timestamp};
use meantime_dataweave::{EvalContext, EvalLimits, Script};
use meantime_script::{Embedded, EmbeddedEnvironment, EmbeddedResult};
use meantime_value::Value;
use meantime_value::json;

use super::Expression;
use crate::incident_code::IncidentCode;

/// The largest value that an expression may build, in bytes.
const MAX_VALUE_BYTES: usize = 16 * 1024 * 1024;

/// The variables that an expression sees.
pub(crate) trait VariableScope {
    fn get(&self, name: &str) -> Option<Json>;

    fn all(&self) -> BTreeMap<String, Json>;

    /// The business key of the instance.
    fn key(&self) -> Option<&str>;
}

/// What an expression may read and use besides variables.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Environment<'a> {
    /// The time of the turn; none at deployment.
    pub(crate) now: Option<Timestamp>,
    /// Operations that it may use.
    pub(crate) ops: u64,
    /// The seed of random numbers; every evaluation has its own.
    pub(crate) seed: u64,
    /// The configured limits.
    pub(crate) limits: &'a Limits,
}

/// The result of a script.
#[derive(Debug, Default)]
pub(crate) struct ScriptResult {
    pub(crate) value: Json,
    /// Process variables that it assigned, in order.
    pub(crate) assigned: Vec<(String, Json)>,
}

/// The total size of all parts that one value is composed of, in bytes.
const MAX_COMBINED_BYTES: usize = 16 << 20;

/// Operations of one expression. A script may use all operations that its instance has left.
const MAX_OPS: u64 = 1_000_000;

/// The result of an evaluation and its cost.
#[derive(Debug)]
pub(crate) struct Evaluation {
    pub(crate) value: Result<Json, Failure>,
    /// Operations used.
    pub(crate) ops: u64,
    /// Why the value is null, if it is and the reason is known.
    pub(crate) reason: Option<String>,
}

/// The cost of an evaluation so far, and why its value is null.
#[derive(Default)]
struct EvaluationUsage {
    ops: u64,
    /// Bytes of the values of all parts of a text, list or object.
    bytes: usize,
    reason: Option<String>,
}

impl Expression {
    /// The value and its cost.
    pub(crate) fn evaluate(
        &self,
        scope: &dyn VariableScope,
        environment: &Environment<'_>,
    ) -> Evaluation {
        let mut notes = EvaluationUsage::default();
        let value = self.value(scope, environment, &mut notes);
        let is_null = value.as_ref().is_ok_and(Json::is_null);
        Evaluation { value, ops: notes.ops, reason: notes.reason.filter(|_| is_null) }
    }

    /// Runs a script.
    pub(crate) fn run(
        &self,
        scope: &dyn VariableScope,
        environment: &Environment<'_>,
    ) -> (Result<ScriptResult, Failure>, u64) {
        if let Self::Flow(embedded, _) = self {
            let (ran, ops) = run_flow(embedded, scope, environment);
            return (
                ran.map(|EmbeddedResult { value, assigned }| ScriptResult { value, assigned }),
                ops,
            );
        }
        let evaluated = self.evaluate(scope, environment);
        let outcome = evaluated.value.map(|value| ScriptResult { value, assigned: Vec::new() });
        (outcome, evaluated.ops)
    }

    fn value(
        &self,
        scope: &dyn VariableScope,
        environment: &Environment<'_>,
        notes: &mut EvaluationUsage,
    ) -> Result<Json, Failure> {
        notes.ops += 1;
        if notes.ops > environment.ops {
            return Err(Failure::new("expression_too_long", "the expressions take too long"));
        }
        let value = self.uncounted_value(scope, environment, notes)?;
        // Counted for every part: the parts of a list or object exist at the same time.
        notes.bytes = notes.bytes.saturating_add(value.size());
        if notes.bytes > MAX_COMBINED_BYTES {
            let text = "the parts of a value need too much memory";
            return Err(Failure::new("expression_too_large", text));
        }
        Ok(value)
    }

    fn uncounted_value(
        &self,
        scope: &dyn VariableScope,
        environment: &Environment<'_>,
        notes: &mut EvaluationUsage,
    ) -> Result<Json, Failure> {
        match self {
            Self::Literal(json) => Ok(json.clone()),
            Self::Variable(name) => Ok(scope.get(name).unwrap_or_default()),
            Self::BusinessKey => Ok(scope.key().map_or_else(Json::null, Json::text)),
            Self::Feel(program) => run_feel(program, scope, environment, notes),
            Self::Flow(embedded, source) => {
                let (ran, used) = run_flow(embedded, scope, environment);
                notes.ops += used;
                ran.map(|ran| ran.value).map_err(|failure| {
                    let message = format!("`{source}`: {}", failure.message);
                    Failure { message, ..failure }
                })
            }
            Self::DataWeave(script, source) => {
                run_dataweave(script, source, scope, environment, notes)
            }
            Self::Concatenated(parts) => {
                let mut text = String::new();
                for part in parts {
                    text.push_str(&display_text(&part.value(scope, environment, notes)?));
                }
                Ok(Json::text(&text))
            }
            Self::List(items) => {
                let values: Result<Vec<Json>, Failure> =
                    items.iter().map(|item| item.value(scope, environment, notes)).collect();
                Ok(Json::list(&values?))
            }
            Self::Map(entries) => {
                let mut values = BTreeMap::new();
                for (name, entry) in entries {
                    values.insert(name, entry.value(scope, environment, notes)?);
                }
                Ok(Json::object(values.iter().map(|(name, value)| (name.as_str(), value))))
            }
        }
    }
}

fn run_feel(
    program: &meantime_feel::Program,
    scope: &dyn VariableScope,
    environment: &Environment<'_>,
    notes: &mut EvaluationUsage,
) -> Result<Json, Failure> {
    // A variable is parsed once, however often the expression names it.
    let read: RefCell<BTreeMap<String, Option<Value>>> = RefCell::default();
    // A variable that exists but cannot be parsed is a failure, not a missing variable.
    let unread: RefCell<Option<Failure>> = RefCell::default();
    let names = |name: &str| {
        let parsed = || {
            let failed =
                |error: json::InvalidJson| unread.replace(Some(too_deep_failure(name, &error)));
            scope.get(name).and_then(|json| json::read_document(&json).map_err(failed).ok())
        };
        read.borrow_mut().entry(name.to_owned()).or_insert_with(parsed).clone()
    };
    let ops = environment.ops.saturating_sub(notes.ops).min(MAX_OPS);
    let limits = meantime_feel::Environment { now: environment.now, ops, seed: environment.seed };
    let evaluated = program.evaluate(&names, &limits);
    notes.ops += evaluated.ops;
    if let Some(failure) = unread.take() {
        return Err(failure);
    }
    if notes.reason.is_none() {
        notes.reason = evaluated.reason;
    }
    let value: Value = evaluated.value.map_err(|error| {
        let text = format!("`= {}`: {error}", program.source());
        Failure::new(error.code(), text)
    })?;
    to_document(&value, &program.source())
}

fn run_flow(
    embedded: &Embedded,
    scope: &dyn VariableScope,
    environment: &Environment<'_>,
) -> (Result<EmbeddedResult, Failure>, u64) {
    let Some(now) = environment.now else {
        return (Err(Failure::new("no_clock", "there is no time yet")), 1);
    };
    let around = EmbeddedEnvironment { now, key: scope.key(), ops: environment.ops };
    embedded.run(&|name| scope.get(name), &around, environment.limits)
}

fn run_dataweave(
    script: &Script,
    source: &str,
    scope: &dyn VariableScope,
    environment: &Environment<'_>,
    notes: &mut EvaluationUsage,
) -> Result<Json, Failure> {
    let Some(now) = environment.now else {
        return Err(Failure::new("no_clock", "there is no time yet"));
    };
    let all = scope.all();
    let all = Json::object(all.iter().map(|(name, value)| (name.as_str(), value)));
    let context = json::read_document(&all).map_err(|error| too_deep_failure("context", &error))?;
    let ops = environment.ops.saturating_sub(notes.ops).min(MAX_OPS);
    let limits = EvalLimits { ops, ..EvalLimits::default() };
    let failed = |code: &str, text: String| Failure::new(code, format!("`{source}`: {text}"));
    let evaluation = script
        .evaluate(vec![context], &EvalContext { now, seed: 0, limits })
        .map_err(|error| failed(error.code(), error.to_string()));
    if evaluation.is_err() {
        notes.ops += limits.ops;
    }
    let evaluation = evaluation?;
    notes.ops += evaluation.ops;
    json::write_document(&evaluation.value, limits.output_bytes)
        .map_err(|error| failed(IncidentCode::NotJson.code(), error.to_string()))
}

/// A document that grew deeper than any reader goes.
fn too_deep_failure(name: &str, error: &json::InvalidJson) -> Failure {
    Failure::new("unsupported_json", format!("`{name}` cannot be read: {error}"))
}

/// A value as part of a text.
fn display_text(value: &Json) -> String {
    match value.as_str() {
        "null" => String::new(),
        text if text.starts_with('"') => value.read().unwrap_or_default(),
        other => other.to_owned(),
    }
}

/// A value as a document.
fn to_document(value: &Value, source: &dyn std::fmt::Display) -> Result<Json, Failure> {
    let failed = |text: String| IncidentCode::NotJson.failure(format!("`{source}`: {text}"));
    let value = meantime_feel::to_json(value).map_err(|error| failed(error.to_string()))?;
    json::write_document(&value, MAX_VALUE_BYTES).map_err(|error| failed(error.to_string()))
}
