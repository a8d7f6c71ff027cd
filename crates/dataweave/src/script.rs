//! The API: compile a script once, evaluate it any number of times.

use jiff::tz::TimeZone;
use meantime_core::{Diagnostic, LineMap, Position, Timestamp};
use meantime_value::json::{self, Layout, WriteError};
use meantime_value::{Text, Value};

use super::compile::{Compiled, compile};
use super::eval::{Budget, Eval, EvalInputs, Fault, FaultCode};
use super::program::Code;

/// The size of a source, in bytes.
const MAX_SOURCE_BYTES: usize = 256 * 1024;

/// A compiled script.
#[derive(Debug)]
pub struct Script {
    code: Code,
}

/// A script if it has no errors, and all diagnostics.
#[derive(Debug)]
pub struct Compilation {
    /// The script.
    pub script: Option<Script>,
    /// Errors and warnings, in the order of the source.
    pub diagnostics: Vec<Diagnostic>,
}

/// The limits of one evaluation. The defaults are generous for mappers of workflows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EvalLimits {
    /// Operations. Default 10,000,000.
    pub ops: u64,
    /// Bytes of all texts, arrays and objects that are created. Default 256 MiB.
    pub bytes: u64,
    /// Bytes of one text. Default 16 MiB.
    pub text_bytes: usize,
    /// Nesting depth of calls. Default 256.
    pub calls: u32,
    /// Bytes of the result as JSON. Default 1 MiB.
    pub output_bytes: usize,
}

impl Default for EvalLimits {
    fn default() -> Self {
        Self {
            ops: 10_000_000,
            bytes: 256 << 20,
            text_bytes: 16 << 20,
            calls: 256,
            output_bytes: 1 << 20,
        }
    }
}

/// The inputs of an evaluation: the same inputs give the same result.
#[derive(Debug, Clone, Copy)]
pub struct EvalContext {
    /// The value of `now()`, in UTC.
    pub now: Timestamp,
    /// The seed of `random()` and `uuid()`.
    pub seed: u64,
    /// The limits.
    pub limits: EvalLimits,
}

/// The result of an evaluation.
#[derive(Debug)]
pub struct Evaluation {
    /// The result, with formats applied.
    pub value: Value,
    /// The values passed to `log`, in order.
    pub log: Vec<(Text, Value)>,
    /// Operations used.
    pub ops: u64,
}

/// Why there is no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message} (line {}, column {})", .position.line, .position.column)]
pub struct EvalError {
    code: &'static str,
    /// What happened.
    pub message: String,
    /// The position in the source.
    pub position: Position,
    /// How to correct it.
    pub help: Option<&'static str>,
    /// Operations used until then.
    pub ops: u64,
}

impl EvalError {
    /// The stable code.
    pub fn code(&self) -> &'static str {
        self.code
    }
}

impl Script {
    /// Compiles a script with these inputs. With an input `context`, undeclared names are its
    /// fields.
    pub fn compile(source: &str, inputs: &[&str]) -> Compilation {
        if source.len() > MAX_SOURCE_BYTES {
            let problem = super::diagnostic::Problem::error(
                super::diagnostic::Code::TooComplex,
                super::syntax::Span::default(),
                format!("the script is longer than {MAX_SOURCE_BYTES} bytes"),
            );
            let diagnostic = problem.into_diagnostic("", &LineMap::new(""));
            return Compilation { script: None, diagnostics: vec![diagnostic] };
        }
        let Compiled { code, problems } = compile(source, inputs);
        let lines = LineMap::new(source);
        let diagnostics =
            problems.into_iter().map(|problem| problem.into_diagnostic(source, &lines)).collect();
        Compilation { script: code.map(|code| Script { code }), diagnostics }
    }

    /// Finds names below a field `headers` in any case, as HTTP does; an exact match is preferred.
    #[must_use]
    pub fn with_headers_in_any_case(mut self) -> Self {
        self.code.headers_in_any_case = true;
        self
    }

    /// The names of the inputs, in the order in which their values are given.
    pub fn inputs(&self) -> impl Iterator<Item = &str> {
        self.code.inputs.iter().map(|name| &**name)
    }

    /// Evaluates the script. Missing inputs at the end are null.
    pub fn evaluate(
        &self,
        mut inputs: Vec<Value>,
        context: &EvalContext,
    ) -> Result<Evaluation, EvalError> {
        inputs.resize(self.code.inputs.len(), Value::Null);
        let limits = &context.limits;
        let budget = Budget {
            ops: limits.ops,
            bytes: limits.bytes,
            calls: limits.calls,
            text: limits.text_bytes,
        };
        let now = jiff::Timestamp::from_millisecond(context.now.as_millis()).unwrap_or_default();
        let utc = TimeZone::fixed(jiff::tz::Offset::UTC);
        let moment = EvalInputs { now: now.to_zoned(utc), seed: context.seed };
        let mut eval = Eval::new(&self.code, &moment, budget);
        let result = eval.run(inputs).and_then(|value| eval.finished(&value));
        let ops = limits.ops - eval.ops_left();
        let value = result.map_err(|fault| self.error(&fault, ops))?;
        Ok(Evaluation { value, log: eval.into_log(), ops })
    }

    /// Evaluates the script and writes the result as JSON with unique keys.
    pub fn evaluate_to_json(
        &self,
        inputs: Vec<Value>,
        context: &EvalContext,
    ) -> Result<String, EvalError> {
        let evaluation = self.evaluate(inputs, context)?;
        let limit = context.limits.output_bytes;
        json::write(&evaluation.value, Layout::Compact, limit).map_err(|error| {
            let code = match error {
                WriteError::Limit(_) => FaultCode::Limit,
                WriteError::Unsupported(_) => FaultCode::Type,
            };
            self.error(&Fault::new(code, error.to_string()), evaluation.ops)
        })
    }

    fn error(&self, fault: &Fault, ops: u64) -> EvalError {
        let start = fault.span.unwrap_or_default().start;
        EvalError {
            code: fault.code.code(),
            message: fault.message.clone(),
            position: self.code.lines.position(&self.code.source, start as usize),
            help: fault.help,
            ops,
        }
    }
}
