//! Answers of a `kind: Api`: the output, or the error in the definition's envelope.
//!
//! All expressions of an answer share one budget. One that is out of budget counts like one that
//! fails: its rule does not match, or its envelope is not used. What may be computed on the thread
//! of a request is much less: [`Effort::Quick`].

use std::cell::Cell;

use meantime_core::{Definition, Fault, Json, Outcome, Termination, Timestamp};
use meantime_value::{Object, Value};

use super::instance::journey;
use crate::definition::{
    ApiResponse, Binding, EvaluationInputs, Expression, Journey, MAX_EVALUATION_OPS, Phase, Status,
};
use crate::json;
use crate::machine::{CANCELLED_OUTCOME, platform};
use crate::settings::Settings;

/// Operations and bytes of the context of a quick answer: some tens of microseconds.
const MAX_QUICK_OPS: u64 = 2_000;
const MAX_QUICK_BYTES: usize = 16 << 10;

/// How much may be computed for an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// What can be computed between other requests.
    Quick,
    /// All that an answer may cost.
    Full,
}

/// The answer costs more than a quick one may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooCostly;

/// An answer to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiAnswer {
    /// The HTTP status.
    pub status: u16,
    /// The body.
    pub body: Json,
    /// Whether the body is problem details (RFC 9457).
    pub is_problem: bool,
}

/// A start that was refused: nothing ran.
#[derive(Debug, Clone, Copy)]
pub struct RefusedStart<'a> {
    /// The stable code.
    pub code: &'a str,
    /// What is wrong with the input.
    pub problem: &'a Json,
    /// The input.
    pub input: &'a Json,
}

/// An error before the definition's mappers are applied.
struct ApiError {
    code: String,
    reason: String,
    status: u16,
}

/// The answer to the request that started the run. An answer with full effort is never too costly.
pub fn api_answer(
    settings: &Settings,
    definition: &Definition,
    outcome: &Outcome,
    now: Timestamp,
    effort: Effort,
) -> Result<ApiAnswer, TooCostly> {
    let error = error_of(outcome);
    let problem = error.as_ref().map(canonical_problem).unwrap_or_default();
    let unusable = || ApiAnswer { status: 500, body: answer_body(&problem), is_problem: true };
    let Some(journey) = journey(definition) else { return Ok(unusable()) };
    // Reading a long context costs too much if nobody looks at it.
    let (unread, context) = (Json::null(), context_of(outcome));
    let context = if is_computed(journey, error.as_ref()) { context } else { &unread };
    let scope = AnswerScope { settings, context, now, effort };
    let Ok(bindings) = AnswerBindings::new(journey, &scope, problem.clone())? else {
        return Ok(unusable());
    };
    let responses = &journey.http.responses;
    let default = match &error {
        Some(error) => responses.failed.unwrap_or(error.status),
        None => responses.succeeded.unwrap_or(200),
    };
    let status = matching_status(journey, error.as_ref(), &bindings).unwrap_or(default);
    let answer = match outcome {
        Outcome::Completed { output, .. } => {
            ApiAnswer { status, body: output.clone(), is_problem: false }
        }
        Outcome::Failed { .. } | Outcome::Cancelled { .. } => {
            let custom = journey.envelope.as_ref().and_then(|mapper| bindings.evaluate(mapper));
            let is_problem = custom.is_none();
            let body = answer_body(custom.as_ref().unwrap_or(&bindings.problem));
            ApiAnswer { status, body, is_problem }
        }
    };
    bindings.check_effort(effort)?;
    Ok(answer)
}

/// The answer to a request whose input was rejected, in the definition's envelope; none if it has
/// no envelope. An answer with full effort is never too costly.
pub fn api_refusal(
    settings: &Settings,
    definition: &Definition,
    refusal: &RefusedStart<'_>,
    now: Timestamp,
    effort: Effort,
) -> Result<Option<ApiAnswer>, TooCostly> {
    let Some(journey) = journey(definition) else { return Ok(None) };
    let Some(envelope) = &journey.envelope else { return Ok(None) };
    let status = 400;
    let (code, reason) = (refusal.code.to_owned(), "the input was refused".to_owned());
    let problem = canonical_problem(&ApiError { code, reason, status });
    let Ok(errors) = json::parse(refusal.problem) else { return Ok(None) };
    let problem = json::put(&problem, &["errors".to_owned()], errors);
    let scope = AnswerScope { settings, context: refusal.input, now, effort };
    let Ok(bindings) = AnswerBindings::new(journey, &scope, problem)? else { return Ok(None) };
    let custom = bindings.evaluate(envelope);
    bindings.check_effort(effort)?;
    Ok(custom.map(|body| ApiAnswer { status, body: answer_body(&body), is_problem: false }))
}

/// Whether an expression decides about the answer.
fn is_computed(journey: &Journey, error: Option<&ApiError>) -> bool {
    let phase = if error.is_some() { Phase::Failed } else { Phase::Succeeded };
    let is_computed = |rule: &ApiResponse| {
        rule.phase == phase
            && (rule.predicate.is_some() || matches!(rule.status, Status::Computed(_)))
    };
    (error.is_some() && journey.envelope.is_some())
        || journey.http.responses.rules.iter().any(is_computed)
}

/// What an answer is computed from.
struct AnswerScope<'a> {
    settings: &'a Settings,
    context: &'a Json,
    now: Timestamp,
    effort: Effort,
}

/// The values that expressions of an answer can use.
struct AnswerBindings {
    context: Value,
    platform: Value,
    problem: Value,
    now: Timestamp,
    /// What the expressions that come may cost together.
    ops_left: Cell<u64>,
    has_failed: Cell<bool>,
}

/// A value as the body of an answer. It comes from an expression or a problem, so it is within the
/// depth limit.
fn answer_body(value: &Value) -> Json {
    json::document(value).unwrap_or_else(|fault| {
        let fields = [("code", Json::text(&fault.code)), ("detail", Json::text(&fault.message))];
        Json::object(fields.iter().map(|(name, text)| (*name, text)))
    })
}

impl AnswerBindings {
    fn new(
        journey: &Journey,
        scope: &AnswerScope<'_>,
        problem: Value,
    ) -> Result<Result<Self, Fault>, TooCostly> {
        let AnswerScope { settings, context, now, effort } = *scope;
        let ops = match effort {
            Effort::Quick if context.size() > MAX_QUICK_BYTES => return Err(TooCostly),
            Effort::Quick => MAX_QUICK_OPS,
            Effort::Full => MAX_EVALUATION_OPS,
        };
        let read = || Ok((platform(journey, settings, Object::default())?, json::parse(context)?));
        Ok(read().map(|(platform, context)| {
            let (ops_left, has_failed) = (Cell::new(ops), Cell::new(false));
            Self { context, platform, problem, now, ops_left, has_failed }
        }))
    }

    /// An expression that fails may have lacked the budget: a quick answer does not count then.
    fn check_effort(&self, effort: Effort) -> Result<(), TooCostly> {
        let is_quick = effort == Effort::Quick;
        if is_quick && self.has_failed.get() { Err(TooCostly) } else { Ok(()) }
    }

    fn evaluate(&self, expression: &Expression) -> Option<Value> {
        // The problem is bound under both names that definitions use.
        let payload = json::object_of([("error", self.problem.clone())]);
        let values = [
            (Binding::Context, self.context.clone()),
            (Binding::Platform, self.platform.clone()),
            (Binding::Error, self.problem.clone()),
            (Binding::Payload, payload),
        ];
        let inputs = EvaluationInputs { now: self.now, seed: 0 };
        let ops_left = self.ops_left.get();
        let evaluation = expression.evaluate_within(ops_left, &values, &inputs);
        self.ops_left.set(ops_left.saturating_sub(evaluation.ops));
        self.has_failed.set(self.has_failed.get() || evaluation.result.is_err());
        evaluation.result.ok()
    }
}

/// The status of the first matching rule.
fn matching_status(
    journey: &Journey,
    error: Option<&ApiError>,
    bindings: &AnswerBindings,
) -> Option<u16> {
    let phase = if error.is_some() { Phase::Failed } else { Phase::Succeeded };
    let fits = |rule: &&ApiResponse| {
        rule.phase == phase
            && rule.error_type.as_ref().is_none_or(|it| error.is_some_and(|e| e.code == *it))
            && rule
                .predicate
                .as_ref()
                .is_none_or(|it| matches!(bindings.evaluate(it), Some(Value::Bool(true))))
    };
    match &journey.http.responses.rules.iter().find(fits)?.status {
        Status::Fixed(status) => Some(*status),
        Status::Computed(expression) => {
            let status = json::shown(&bindings.evaluate(expression)?).parse::<u16>().ok();
            status.filter(|status| (100..=599).contains(status))
        }
    }
}

fn error_of(outcome: &Outcome) -> Option<ApiError> {
    match outcome {
        Outcome::Completed { .. } => None,
        Outcome::Failed { failure, termination, .. } => {
            let status = match termination {
                Termination::Timeout => 504,
                Termination::Fail | Termination::RuntimeError => 500,
            };
            let (code, reason) = (failure.code.clone(), failure.message.clone());
            Some(ApiError { code, reason, status })
        }
        Outcome::Cancelled { .. } => {
            let (code, reason) = (CANCELLED_OUTCOME.0.to_owned(), CANCELLED_OUTCOME.1.to_owned());
            Some(ApiError { code, reason, status: 500 })
        }
    }
}

/// The problem document of a failed outcome.
pub(crate) fn problem_of(outcome: &Outcome) -> Option<Value> {
    error_of(outcome).as_ref().map(canonical_problem)
}

/// The problem document of an error.
fn canonical_problem(error: &ApiError) -> Value {
    json::object_of([
        ("type", error.code.as_str().into()),
        ("title", error.reason.as_str().into()),
        ("status", i64::from(error.status).into()),
        ("code", error.code.as_str().into()),
        ("reason", error.reason.as_str().into()),
        ("detail", error.reason.as_str().into()),
    ])
}

const fn context_of(outcome: &Outcome) -> &Json {
    let (Outcome::Completed { context, .. }
    | Outcome::Failed { context, .. }
    | Outcome::Cancelled { context, .. }) = outcome;
    context
}
