//! Input and output mappings.

use std::collections::BTreeMap;

use meantime_core::{Cx, Failure, Json, instance_seed};

use super::json;
use super::state::ElementInstanceId;
use super::turn::Machine;
use super::variables::VisibleVariables;
use crate::expression::{Environment, Evaluation, Expression};
use crate::incident_code::IncidentCode;
use crate::model::{Mapping, Output};

impl<'a> Machine<'a> {
    /// Evaluates an expression with the variables that an element sees.
    pub(super) fn evaluate(
        &mut self,
        expression: &Expression,
        from: ElementInstanceId,
    ) -> Result<Json, Failure> {
        let environment = self.environment();
        let visible = VisibleVariables { machine: self, from };
        let Evaluation { value, ops, reason } = expression.evaluate(&visible, &environment);
        self.ops += ops;
        self.reason = reason;
        value
    }

    /// What an expression may read and use now.
    pub(super) fn environment(&self) -> Environment<'a> {
        let Cx { now, limits, instance, turn_no, .. } = *self.cx;
        // The operations used so far make the seed of every evaluation in the turn different.
        let seed = instance_seed(instance, &[turn_no, self.ops]);
        Environment { now: Some(now), ops: limits.ops_runaway, seed, limits }
    }

    /// Why the last value was null, to be appended to a message.
    pub(super) fn null_reason(&mut self) -> String {
        self.reason.take().map_or_else(String::new, |reason| format!(": {reason}"))
    }

    /// A name: of a task type, a message, a definition.
    pub(super) fn evaluate_name(
        &mut self,
        expression: &Expression,
        from: ElementInstanceId,
        what: &str,
    ) -> Result<String, Failure> {
        let value = self.evaluate(expression, from)?;
        json::scalar_text(&value).filter(|name| !name.is_empty()).ok_or_else(|| {
            let because = self.null_reason();
            IncidentCode::NotAName
                .failure(format!("{what} is {value}, which is not a name{because}"))
        })
    }

    /// True or false; any other value, null included, is a failure.
    pub(super) fn evaluate_condition(
        &mut self,
        expression: &Expression,
        from: ElementInstanceId,
    ) -> Result<bool, Failure> {
        let value = self.evaluate(expression, from)?;
        match value.as_str() {
            "true" => Ok(true),
            "false" => Ok(false),
            other => {
                let short: String = other.chars().take(80).collect();
                let because = self.null_reason();
                let text = format!(
                    "the condition `{expression}` gives {short}, not true or false{because}"
                );
                Err(IncidentCode::NotACondition.failure(text))
            }
        }
    }

    /// Sets the local variables of an element.
    pub(super) fn apply_inputs(
        &mut self,
        id: ElementInstanceId,
        mapping: &Mapping,
    ) -> Result<(), Failure> {
        for input in &mapping.inputs {
            let value = self.evaluate(&input.source, id)?;
            self.set_target(id, &input.target, value);
        }
        Ok(())
    }

    /// Writes a result to the enclosing scopes: all of it, or the variables of the mappings, each
    /// to the scope that declares the variable.
    pub(super) fn apply_outputs(
        &mut self,
        id: ElementInstanceId,
        mapping: &Mapping,
        result: BTreeMap<String, Json>,
    ) -> Result<(), Failure> {
        if mapping.outputs.is_empty() {
            self.propagate(id, result);
            return Ok(());
        }
        let Some(scope) = self.enclosing_scope(id) else { return Ok(()) };
        let before = self.element(id).map(|it| it.variables.clone()).unwrap_or_default();
        self.merge(id, result);
        // All outputs are evaluated before any is written, so that a failure writes nothing.
        match self.mapped(id, scope, mapping) {
            Ok(values) => self.propagate(scope, values),
            Err(failure) => {
                if let Some(element) = self.element_mut(id) {
                    element.variables = before;
                }
                return Err(failure);
            }
        }
        Ok(())
    }

    /// The outputs of an element. Each sees the ones before it.
    fn mapped(
        &mut self,
        id: ElementInstanceId,
        scope: ElementInstanceId,
        mapping: &Mapping,
    ) -> Result<BTreeMap<String, Json>, Failure> {
        let mut values = BTreeMap::new();
        for Output { source, target } in &mapping.outputs {
            let value = self.evaluate(source, id)?;
            let base = values.get(&target.variable).cloned();
            let base = base.or_else(|| self.get(scope, &target.variable));
            let value = json::set_path(base.as_ref(), &target.path, value);
            self.set(id, &target.variable, value.clone());
            values.insert(target.variable.clone(), value);
        }
        Ok(values)
    }
}
