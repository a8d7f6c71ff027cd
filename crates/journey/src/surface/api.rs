//! Answers of a `kind: Api`: the output, or the error in the definition's envelope.

use meantime_core::{Definition, Fault, Json, Outcome, Termination, Timestamp};
use meantime_value::{Object, Value};

use super::instance::journey;
use crate::definition::{
    ApiResponse, Binding, EvaluationInputs, Expression, Journey, Phase, Status,
};
use crate::json;
use crate::machine::{CANCELLED_OUTCOME, platform};
use crate::settings::Settings;

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

/// The answer to the request that started the run.
pub fn api_answer(
    settings: &Settings,
    definition: &Definition,
    outcome: &Outcome,
    now: Timestamp,
) -> ApiAnswer {
    let error = error_of(outcome);
    let context = context_of(outcome);
    let problem = error.as_ref().map(canonical_problem).unwrap_or_default();
    let journey = journey(definition);
    let bindings = journey
        .and_then(|it| AnswerBindings::new(it, settings, context, problem.clone(), now).ok());
    let (Some(journey), Some(bindings)) = (journey, bindings) else {
        return ApiAnswer { status: 500, body: answer_body(&problem), is_problem: true };
    };
    let responses = &journey.http.responses;
    let default = match &error {
        Some(error) => responses.failed.unwrap_or(error.status),
        None => responses.succeeded.unwrap_or(200),
    };
    let status = matching_status(journey, error.as_ref(), &bindings).unwrap_or(default);
    match outcome {
        Outcome::Completed { output, .. } => {
            ApiAnswer { status, body: output.clone(), is_problem: false }
        }
        Outcome::Failed { .. } | Outcome::Cancelled { .. } => {
            let custom = journey.envelope.as_ref().and_then(|mapper| bindings.evaluate(mapper));
            let is_problem = custom.is_none();
            let body = answer_body(custom.as_ref().unwrap_or(&bindings.problem));
            ApiAnswer { status, body, is_problem }
        }
    }
}

/// The answer to a request whose input was rejected, in the definition's envelope; none if it has
/// no envelope.
pub fn api_refusal(
    settings: &Settings,
    definition: &Definition,
    refusal: &RefusedStart<'_>,
    now: Timestamp,
) -> Option<ApiAnswer> {
    let journey = journey(definition)?;
    let envelope = journey.envelope.as_ref()?;
    let status = 400;
    let (code, reason) = (refusal.code.to_owned(), "the input was refused".to_owned());
    let problem = canonical_problem(&ApiError { code, reason, status });
    let errors = json::parse(refusal.problem).ok()?;
    let problem = json::put(&problem, &["errors".to_owned()], errors);
    let bindings = AnswerBindings::new(journey, settings, refusal.input, problem, now).ok()?;
    let body = answer_body(&bindings.evaluate(envelope)?);
    Some(ApiAnswer { status, body, is_problem: false })
}

/// The values that expressions of an answer can use.
struct AnswerBindings {
    context: Value,
    platform: Value,
    problem: Value,
    now: Timestamp,
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
        settings: &Settings,
        context: &Json,
        problem: Value,
        now: Timestamp,
    ) -> Result<Self, Fault> {
        let platform = platform(journey, settings, Object::default())?;
        Ok(Self { context: json::parse(context)?, platform, problem, now })
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
        expression.evaluate(&values, &EvaluationInputs { now: self.now, seed: 0 }).result.ok()
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
