//! Evaluates expressions for a frame, and turns failures into state errors.

use std::fmt::Write as _;

use meantime_core::{Fault, instance_seed};
use meantime_value::{Object, Value};

use super::data::PAYLOAD_FIELD;
use super::run::Run;
use super::saved::{FrameId, RunRole};
use super::transition::StateError;
use crate::definition::{Binding, EvaluationInputs, Expression, Journey, Template};
use crate::json;
use crate::settings::Settings;

/// Values in addition to those that every expression sees.
pub(super) type ExtraBindings = Vec<(Binding, Value)>;

/// How a value is encoded when it is inserted into a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encode {
    /// Not at all.
    Plain,
    /// All but unreserved characters become `%XX`.
    Percent,
    /// The same, except for a value at the beginning of the URL, and for a configuration value
    /// before the path.
    Url,
}

impl Encode {
    fn function(self) -> fn(&str, &[String], String) -> String {
        match self {
            Self::Plain => |_, _, value| value,
            Self::Percent => |_, _, value| percent_encode(&value),
            Self::Url => |before, path, value| {
                let rest = before.split_once("://").map_or("", |(_, rest)| rest);
                let in_authority = before.contains("://") && !rest.contains(['/', '?', '#']);
                let is_ours = path.first().is_some_and(|first| first == "platform");
                let is_whole = before.is_empty() || (in_authority && is_ours);
                if is_whole { value } else { percent_encode(&value) }
            },
        }
    }
}

/// Encodes all but unreserved characters as `%XX`.
pub(super) fn percent_encode(text: &str) -> String {
    text.bytes().fold(String::with_capacity(text.len()), |mut encoded, byte| {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            encoded.push(char::from(byte));
        } else {
            // Writing to a String cannot fail.
            let _ = write!(encoded, "%{byte:02X}");
        }
        encoded
    })
}

/// The result of an evaluation, or why the state fails.
pub(super) type StateEvaluation<T> = Result<Result<T, StateError>, Fault>;

impl Run<'_> {
    /// Evaluates an expression for a frame.
    pub(super) fn evaluate(
        &mut self,
        id: FrameId,
        expression: &Expression,
        extra: ExtraBindings,
    ) -> StateEvaluation<Value> {
        let context = self.context(id)?;
        let payload = json::get(&context, &[PAYLOAD_FIELD.to_owned()]).cloned().unwrap_or_default();
        let outcome = match &self.saved.role {
            RunRole::Compensation(outcome) => json::parse(outcome)?,
            _ => Value::Null,
        };
        let mut values = vec![
            (Binding::Context, context),
            (Binding::Platform, self.platform()?),
            (Binding::Payload, payload),
            (Binding::Outcome, outcome),
        ];
        values.retain(|(binding, _)| !extra.iter().any(|(other, _)| other == binding));
        values.extend(extra);
        let evaluated = expression.evaluate(&values, &self.evaluation_inputs());
        self.ops = self.ops.saturating_add(evaluated.ops);
        Ok(evaluated.result.map_err(|it| StateError::internal(it.message).at(Some(it.at))))
    }

    /// Evaluates a predicate, which must be true or false (rule 8).
    pub(super) fn holds(
        &mut self,
        id: FrameId,
        predicate: &Expression,
        extra: ExtraBindings,
    ) -> StateEvaluation<bool> {
        Ok(match self.evaluate(id, predicate, extra)? {
            Ok(Value::Bool(value)) => Ok(value),
            Ok(other) => {
                let found = json::shown(&other);
                let text = format!("a predicate gave {found}, not true or false");
                Err(StateError::internal(text).at(Some(predicate.start())))
            }
            Err(error) => Err(error),
        })
    }

    /// Fills the placeholders of a text.
    pub(super) fn fill(
        &mut self,
        id: FrameId,
        template: &Template,
        encode: Encode,
    ) -> StateEvaluation<String> {
        if let Some(text) = template.literal() {
            return Ok(Ok(text.to_owned()));
        }
        let context = self.context(id)?;
        let platform = self.platform()?;
        let filled = template.fill(encode.function(), &|path| {
            let (first, rest) = path.split_first()?;
            let root = if first == "context" { &context } else { &platform };
            json::get_header(root, rest).cloned()
        });
        Ok(filled.map_err(|error| StateError::internal(error.message())))
    }

    /// `platform`, including this run; constant within a turn.
    fn platform(&self) -> Result<Value, Fault> {
        if let Some(made) = self.platform.get() {
            return Ok(made.clone());
        }
        let made = self.build_platform()?;
        Ok(self.platform.get_or_init(|| made).clone())
    }

    fn build_platform(&self) -> Result<Value, Fault> {
        let mut run = Object::default();
        run.insert("id", self.cx.instance.to_string());
        run.insert("startedAt", self.cx.started_at.to_string());
        if let Some(traceparent) = &self.saved.traceparent {
            run.insert("traceparent", traceparent.as_str());
        }
        platform(self.journey, self.settings, run)
    }

    /// The time of the turn, and a seed that is the same whenever the turn is computed again.
    fn evaluation_inputs(&self) -> EvaluationInputs {
        let seed = instance_seed(self.cx.instance, &[self.cx.turn_no, self.saved.activations]);
        EvaluationInputs { now: self.cx.now, seed }
    }
}

/// `platform`: values of the deployment, the definition and the run. Configuration values that the
/// definition does not declare are never included.
pub(crate) fn platform(
    journey: &Journey,
    settings: &Settings,
    run: Object,
) -> Result<Value, Fault> {
    let definition = json::object_of([
        ("name", journey.name.as_str().into()),
        ("kind", journey.kind.name().into()),
        ("version", journey.version.as_str().into()),
    ]);
    let mut config = Object::default();
    for name in journey.config.keys() {
        if let Some(value) = settings.config.get(name) {
            config.insert(name, json::parse(value)?);
        }
    }
    Ok(json::object_of([
        ("environment", settings.environment.as_str().into()),
        ("journey", definition),
        ("run", run.into()),
        ("config", config.into()),
    ]))
}
