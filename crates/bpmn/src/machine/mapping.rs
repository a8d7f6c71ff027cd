//! Data into an element and out of it.

use std::collections::BTreeMap;

use meantime_core::{Failure, Json};

use super::json;
use super::state::Id;
use super::turn::Machine;
use super::variables::Visible;
use crate::expression::{Environment, Evaluated, Expression};
use crate::model::Mapping;
use crate::trouble::Trouble;

impl Machine<'_> {
    /// Evaluates in the scope of an element.
    pub(super) fn evaluate(&mut self, expression: &Expression, from: Id) -> Result<Json, Failure> {
        let environment = Environment { now: Some(self.cx.now), ops: self.cx.limits.ops_runaway };
        let visible = Visible { machine: self, from };
        let Evaluated { value, ops, reason } = expression.evaluate(&visible, &environment);
        self.ops += ops;
        self.reason = reason;
        value
    }

    /// Why the last value was null, to be put behind a message.
    pub(super) fn because(&mut self) -> String {
        self.reason.take().map_or_else(String::new, |reason| format!(": {reason}"))
    }

    /// A name: of a task type, a message, a definition.
    pub(super) fn evaluate_name(
        &mut self,
        expression: &Expression,
        from: Id,
        what: &str,
    ) -> Result<String, Failure> {
        let value = self.evaluate(expression, from)?;
        json::plain(&value).filter(|name| !name.is_empty()).ok_or_else(|| {
            let because = self.because();
            Trouble::NotAName.because(format!("{what} is {value}, which is not a name{because}"))
        })
    }

    /// True or false; anything else, null included, fails.
    pub(super) fn evaluate_condition(
        &mut self,
        expression: &Expression,
        from: Id,
    ) -> Result<bool, Failure> {
        let value = self.evaluate(expression, from)?;
        match value.as_str() {
            "true" => Ok(true),
            "false" => Ok(false),
            other => {
                let short: String = other.chars().take(80).collect();
                let because = self.because();
                let text = format!(
                    "the condition `{expression}` gives {short}, not true or false{because}"
                );
                Err(Trouble::NotACondition.because(text))
            }
        }
    }

    /// Makes the local variables of an element.
    pub(super) fn apply_inputs(&mut self, id: Id, mapping: &Mapping) -> Result<(), Failure> {
        for input in &mapping.inputs {
            let value = self.evaluate(&input.source, id)?;
            self.set_target(id, &input.target, value);
        }
        Ok(())
    }

    /// Hands a result to the enclosing scope: all of it, or what the mappings say.
    pub(super) fn apply_outputs(
        &mut self,
        id: Id,
        mapping: &Mapping,
        result: BTreeMap<String, Json>,
    ) -> Result<(), Failure> {
        let Some(scope) = self.enclosing_scope(id) else { return Ok(()) };
        if mapping.outputs.is_empty() {
            self.merge(scope, result);
            return Ok(());
        }
        self.merge(id, result);
        // All are evaluated before any is set: a failing one leaves nothing half done.
        let mut values = Vec::new();
        for output in &mapping.outputs {
            values.push((&output.target, self.evaluate(&output.source, id)?));
        }
        for (target, value) in values {
            self.set_target(scope, target, value);
        }
        Ok(())
    }
}
