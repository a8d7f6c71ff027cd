//! Call activities: another definition runs as a child of the instance.

use std::collections::BTreeMap;

use meantime_core::{Answer, ChildOutcome, ChildSpec, Effect, Failure, Json, ParentClose, Verdict};

use super::json;
use super::state::{ElementInstanceId, WaitKind};
use super::turn::Machine;
use super::variables::PayloadVariables;
use crate::incident_code::IncidentCode;
use crate::model::{Call, InputPropagation, Node, NodeKind};

impl Machine<'_> {
    pub(super) fn begin_call(&mut self, id: ElementInstanceId, call: &Call) -> Result<(), Failure> {
        if self.element(id).is_some_and(super::state::ElementInstance::has_child) {
            // A retry after an error that the child raised and no event caught: the child still
            // exists, so no second one is started.
            return Ok(());
        }
        let definition = self.evaluate_name(&call.definition, id, "the called definition")?;
        let mut spec = ChildSpec::new(&definition, self.element_path(id), Json::null());
        if let Some(version) = &call.version {
            let number = self.number(id, version, "the version")?;
            spec.version = Some(u32::try_from(number).map_err(|_| {
                IncidentCode::NotANumber.failure(format!("there is no version {number}"))
            })?);
        }
        if let Some(label) = &call.label {
            spec.label = Some(self.evaluate_name(label, id, "the version tag")?);
        }
        if let Some(key) = &call.key {
            let value = self.evaluate(key, id)?;
            spec.key = json::scalar_text(&value);
        }
        spec.input = self.call_input(id, call)?;
        spec.catches = self.codes_caught_around(id);
        spec.parent_close = ParentClose::Cancel;
        let key = self.push(Effect::StartChild(spec));
        self.add_own_wait(id, key, WaitKind::Child, definition);
        Ok(())
    }

    /// All visible variables, or only those of input mappings; plus those of `camunda:in`.
    fn call_input(&mut self, id: ElementInstanceId, call: &Call) -> Result<Json, Failure> {
        let mapped = self.node_of(id).is_some_and(|node| !node.mapping.inputs.is_empty());
        let all = match call.all_in {
            InputPropagation::All => true,
            InputPropagation::AllWithoutMappings => !mapped,
            InputPropagation::MappedOnly => false,
        };
        let mut input = if all {
            self.visible(id)
        } else {
            self.element(id).map(|it| it.variables.clone()).unwrap_or_default()
        };
        for extra in &call.inputs {
            let value = self.evaluate(&extra.source, id)?;
            let base = input.get(&extra.target.variable);
            let value = json::set_path(base, &extra.target.path, value);
            input.insert(extra.target.variable.clone(), value);
        }
        Ok(json::object(&input))
    }

    /// The child has ended.
    pub(super) fn child_done(&mut self, id: ElementInstanceId, outcome: &ChildOutcome) -> Verdict {
        if self.element(id).is_some_and(super::state::ElementInstance::is_ending) {
            // The element is being ended and its child was cancelled, so the child's result is not
            // used.
            self.try_finish_ending(id);
            return Verdict::taken();
        }
        match outcome {
            ChildOutcome::Completed(output) => match self.call_output(id, output) {
                Ok(output) => self.complete(id, output),
                Err(failure) => {
                    self.restart_on_retry(id);
                    self.raise_incident(id, failure);
                }
            },
            ChildOutcome::Failed { failure, .. } => {
                self.restart_on_retry(id);
                self.throw_error(id, failure, failure.data.clone().unwrap_or_default());
            }
            ChildOutcome::Cancelled => {
                self.restart_on_retry(id);
                self.raise_incident(
                    id,
                    IncidentCode::ChildCancelled.failure("the called instance was cancelled"),
                );
            }
        }
        Verdict::taken()
    }

    /// The child could not be started.
    pub(super) fn child_refused(&mut self, id: ElementInstanceId, answer: &Answer) -> Verdict {
        let Answer::Conflict { code } = answer else { return Verdict::taken() };
        if self.element(id).is_some_and(super::state::ElementInstance::is_ending) {
            self.try_finish_ending(id);
            return Verdict::taken();
        }
        self.restart_on_retry(id);
        self.raise_incident(id, Failure::new(code, format!("the call could not be made: {code}")));
        Verdict::taken()
    }

    /// All variables of the child's result, or those that `camunda:out` names.
    fn call_output(&mut self, id: ElementInstanceId, output: &Json) -> Result<Json, Failure> {
        let Some(Node { kind: NodeKind::Call(call), .. }) = self.node_of(id) else {
            return Ok(output.clone());
        };
        let child = json::payload_variables(output);
        let mapped = self.node_of(id).is_some_and(|node| !node.mapping.outputs.is_empty());
        let mut result = if call.all_out || mapped { child.clone() } else { BTreeMap::new() };
        let scope = PayloadVariables { values: &child };
        for out in &call.outputs {
            let environment = self.environment();
            let evaluated = out.source.evaluate(&scope, &environment);
            self.ops += evaluated.ops;
            let base = result.get(&out.target.variable);
            let value = json::set_path(base, &out.target.path, evaluated.value?);
            result.insert(out.target.variable.clone(), value);
        }
        Ok(json::object(&result))
    }
}
