//! Variables and their scopes.

use std::collections::BTreeMap;

use meantime_core::Json;

use super::json;
use super::state::{ElementInstanceId, ElementRole, ROOT};
use super::turn::Machine;
use crate::expression::VariableScope;
use crate::model::VariablePath;

/// The variables that an element sees.
pub(super) struct VisibleVariables<'m, 'a> {
    pub(super) machine: &'m Machine<'a>,
    pub(super) from: ElementInstanceId,
}

impl VariableScope for VisibleVariables<'_, '_> {
    fn get(&self, name: &str) -> Option<Json> {
        self.machine.get(self.from, name)
    }

    fn all(&self) -> BTreeMap<String, Json> {
        self.machine.visible(self.from)
    }

    fn key(&self) -> Option<&str> {
        self.machine.cx.key
    }
}

/// Variables of a payload that no element contains yet: an input, or the result of a child.
pub(super) struct PayloadVariables<'a> {
    pub(super) values: &'a BTreeMap<String, Json>,
}

impl VariableScope for PayloadVariables<'_> {
    fn get(&self, name: &str) -> Option<Json> {
        self.values.get(name).cloned()
    }

    fn all(&self) -> BTreeMap<String, Json> {
        self.values.clone()
    }

    fn key(&self) -> Option<&str> {
        None
    }
}

impl Machine<'_> {
    /// A variable as an element sees it: from the innermost scope that has it.
    pub(super) fn get(&self, from: ElementInstanceId, name: &str) -> Option<Json> {
        let mut at = Some(from);
        while let Some(id) = at {
            let element = self.element(id)?;
            if let Some(value) = element.variables.get(name) {
                return Some(value.clone());
            }
            if let Some(value) = self.multi_instance_counter(id, name) {
                return Some(value);
            }
            at = element.parent;
        }
        None
    }

    /// All variables that an element sees; inner scopes hide outer ones.
    pub(super) fn visible(&self, from: ElementInstanceId) -> BTreeMap<String, Json> {
        let mut all = BTreeMap::new();
        let mut at = Some(from);
        while let Some(element) = at.and_then(|id| self.element(id)) {
            for (name, value) in &element.variables {
                all.entry(name.clone()).or_insert_with(|| value.clone());
            }
            at = element.parent;
        }
        all
    }

    /// The counters of a multi-instance activity, under the names of BPMN and of Camunda.
    fn multi_instance_counter(&self, id: ElementInstanceId, name: &str) -> Option<Json> {
        let ElementRole::MultiInstance(progress) = &self.element(id)?.role else { return None };
        let ended = progress.completed + progress.terminated;
        let count = match name {
            "numberOfInstances" | "nrOfInstances" => progress.total,
            "numberOfActiveInstances" | "nrOfActiveInstances" => progress.begun - ended,
            "numberOfCompletedInstances" | "nrOfCompletedInstances" => progress.completed,
            "numberOfTerminatedInstances" => progress.terminated,
            _ => return None,
        };
        Json::of(&count).ok()
    }

    /// The nearest enclosing scope of an element, to which its results are written.
    pub(super) fn enclosing_scope(&self, id: ElementInstanceId) -> Option<ElementInstanceId> {
        let mut at = self.parent_of(id);
        while let Some(scope) = at {
            let element = self.element(scope)?;
            if element.is_scope() {
                return Some(scope);
            }
            at = element.parent;
        }
        None
    }

    pub(super) fn set(&mut self, scope: ElementInstanceId, name: &str, value: Json) {
        if let Some(element) = self.element_mut(scope) {
            element.variables.insert(name.to_owned(), value);
            self.changed = true;
        }
    }

    pub(super) fn merge(&mut self, scope: ElementInstanceId, values: BTreeMap<String, Json>) {
        for (name, value) in values {
            self.set(scope, &name, value);
        }
    }

    /// Sets a variable, or a property of an existing one.
    pub(super) fn set_target(
        &mut self,
        scope: ElementInstanceId,
        target: &VariablePath,
        value: Json,
    ) {
        let base = self.element(scope).and_then(|it| it.variables.get(&target.variable));
        let value = json::set_path(base, &target.path, value);
        self.set(scope, &target.variable, value);
    }

    /// Writes a variable to the nearest scope that has it, beginning with the element itself. A
    /// variable that no scope has becomes one of the process.
    pub(super) fn assign(&mut self, from: ElementInstanceId, name: &str, value: Json) {
        let mut at = Some(from);
        while let Some((id, element)) = at.and_then(|id| Some((id, self.element(id)?))) {
            let counts = id == from || element.is_scope();
            if counts && element.variables.contains_key(name) {
                break;
            }
            at = element.parent;
        }
        self.set(at.unwrap_or(ROOT), name, value);
    }

    /// Writes each value to the scope that declares its variable, so that it is visible at once.
    pub(super) fn propagate(&mut self, from: ElementInstanceId, values: BTreeMap<String, Json>) {
        for (name, value) in values {
            self.assign(from, &name, value);
        }
    }

    /// Sets a variable in the scope that has it, or a property of it.
    pub(super) fn assign_target(
        &mut self,
        from: ElementInstanceId,
        target: &VariablePath,
        value: Json,
    ) {
        let base = self.get(from, &target.variable);
        let value = json::set_path(base.as_ref(), &target.path, value);
        self.assign(from, &target.variable, value);
    }
}
