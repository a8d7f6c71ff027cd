//! Expressions: compiled once with the definition, evaluated any number of times. The only module
//! that depends on the expression language.

use meantime_core::{Position, Severity, Timestamp};
use meantime_dataweave::{EvalContext, EvalLimits, Script};
use meantime_value::Value;
use meantime_value::json::as_document;

use crate::code::Code;
use crate::report::Report;
use crate::yaml::{SourceLocation, Span, Text};

/// The names that an expression may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Binding {
    Context,
    Platform,
    Payload,
    Error,
    Branches,
    Outcomes,
    Output,
    Outcome,
}

impl Binding {
    /// The name in expressions.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Context => "context",
            Self::Platform => "platform",
            Self::Payload => "payload",
            Self::Error => "error",
            Self::Branches => "branches",
            Self::Outcomes => "outcomes",
            Self::Output => "output",
            Self::Outcome => "outcome",
        }
    }
}

/// A compiled expression.
#[derive(Debug)]
pub(crate) struct Expression {
    /// Boxed, because many types hold either an expression or something small.
    script: Box<Script>,
    bindings: Vec<Binding>,
    location: SourceLocation,
}

/// Time and seed of an evaluation: the same inputs give the same result.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EvaluationInputs {
    pub(crate) now: Timestamp,
    pub(crate) seed: u64,
}

/// The result of an evaluation and its cost.
#[derive(Debug)]
pub(crate) struct Evaluation {
    pub(crate) result: Result<Value, EvaluationError>,
    pub(crate) ops: u64,
}

/// Why there is no value.
#[derive(Debug)]
pub(crate) struct EvaluationError {
    pub(crate) message: String,
    /// The position in the source of the journey.
    pub(crate) at: Position,
}

/// Operations of one evaluation, and of all that answer a request together.
pub(crate) const MAX_EVALUATION_OPS: u64 = 1_000_000;

/// The limits of one evaluation; exceeding them is an error of the definition.
const EVALUATION_LIMITS: EvalLimits = EvalLimits {
    ops: MAX_EVALUATION_OPS,
    bytes: 64 << 20,
    text_bytes: 4 << 20,
    calls: 256,
    output_bytes: 1 << 20,
};

impl Expression {
    /// Compiles a text that may use these names; problems are reported at their positions.
    pub(crate) fn compile(text: &Text, bindings: &[Binding], report: &mut Report) -> Option<Self> {
        let span = Span { start: text.location.start, end: text.location.start };
        if !report.count_expression_bytes(text.value.len(), span) {
            return None;
        }
        let names: Vec<&str> = bindings.iter().map(|binding| binding.name()).collect();
        let compilation = Script::compile(&text.value, &names);
        for mut diagnostic in compilation.diagnostics {
            diagnostic.start = text.location.of(diagnostic.start);
            diagnostic.end = diagnostic.end.map(|end| text.location.of(end));
            if diagnostic.severity == Severity::Error {
                // Reported as rule 5, with the message of the language.
                let rule = Code::Expression;
                diagnostic.message = format!("{} ({})", diagnostic.message, diagnostic.code);
                rule.code().clone_into(&mut diagnostic.code);
                diagnostic.help = diagnostic.help.or_else(|| rule.advice().map(str::to_owned));
            }
            report.push(diagnostic);
        }
        let bindings = bindings.to_vec();
        let script = compilation.script.map(Script::with_headers_in_any_case);
        script.map(|script| Self { script: Box::new(script), bindings, location: text.location })
    }

    /// Its position in the source.
    pub(crate) fn start(&self) -> Position {
        self.location.start
    }

    /// Evaluates with values for the names; a missing one is null. The result is JSON. An error
    /// counts as much as an evaluation may cost, so that a state that fails again and again ends.
    pub(crate) fn evaluate(
        &self,
        values: &[(Binding, Value)],
        moment: &EvaluationInputs,
    ) -> Evaluation {
        let evaluation = self.evaluate_within(MAX_EVALUATION_OPS, values, moment);
        let ops = if evaluation.result.is_ok() { evaluation.ops } else { MAX_EVALUATION_OPS };
        Evaluation { ops, ..evaluation }
    }

    /// Like [`Self::evaluate`] with a smaller budget; an error counts what it has cost.
    pub(crate) fn evaluate_within(
        &self,
        ops: u64,
        values: &[(Binding, Value)],
        moment: &EvaluationInputs,
    ) -> Evaluation {
        let value_of = |binding: &Binding| {
            let found = values.iter().find(|(name, _)| name == binding);
            found.map(|(_, value)| value.clone()).unwrap_or_default()
        };
        let inputs = self.bindings.iter().map(value_of).collect();
        let limits = EvalLimits { ops, ..EVALUATION_LIMITS };
        let context = EvalContext { now: moment.now, seed: moment.seed, limits };
        match self.script.evaluate(inputs, &context) {
            Ok(evaluation) => {
                let at = self.location.of(Position { line: 1, column: 1 });
                let result =
                    written(&evaluation.value).map_err(|message| EvaluationError { message, at });
                Evaluation { result, ops: evaluation.ops }
            }
            Err(error) => {
                let at = self.location.of(error.position);
                let refusal = EvaluationError { message: error.message, at };
                Evaluation { result: Err(refusal), ops: error.ops }
            }
        }
    }
}

/// The value as it would be after writing and reading JSON: keys are unique, dates are texts.
fn written(value: &Value) -> Result<Value, String> {
    as_document(value, EVALUATION_LIMITS.output_bytes).map_err(|error| error.to_string())
}
