//! Multi-instance activities: one body, several iterations, each with its own scope.

use std::collections::BTreeMap;

use meantime_core::{Failure, Json};

use super::json;
use super::state::{
    Continuation, ElementInstanceId, ElementPhase, ElementRole, MultiInstanceProgress, QueuedStep,
};
use super::turn::Machine;
use crate::incident_code::IncidentCode;
use crate::model::{LoopCharacteristics, MultiInstance, Node};

/// A limit against mistakes in the collection or cardinality.
const MAX_ITERATIONS: u64 = 100_000;

impl Machine<'_> {
    /// Evaluates the collection once and starts the iterations, all at once or one by one.
    pub(super) fn begin_multi(
        &mut self,
        id: ElementInstanceId,
        multi: &MultiInstance,
    ) -> Result<(), Failure> {
        let items = match &multi.collection {
            Some(collection) => Some(self.collection(id, collection)?),
            None => None,
        };
        let total = match (&items, &multi.cardinality) {
            (Some(items), _) => items.len() as u64,
            (None, Some(cardinality)) => self.cardinality(id, cardinality)?,
            (None, None) => 0,
        };
        if total > MAX_ITERATIONS {
            let text = format!("{total} iterations are more than {MAX_ITERATIONS}");
            return Err(IncidentCode::TooManyIterations.failure(text));
        }
        let total = u32::try_from(total).unwrap_or(u32::MAX);
        if let Some(element) = self.element_mut(id) {
            element.role = ElementRole::MultiInstance(MultiInstanceProgress {
                total,
                items,
                ..MultiInstanceProgress::default()
            });
        }
        if total == 0 {
            self.complete(id, Json::null());
        } else {
            self.state.steps.push_back(QueuedStep::Spawn(id));
        }
        Ok(())
    }

    fn collection(
        &mut self,
        id: ElementInstanceId,
        collection: &crate::expression::Expression,
    ) -> Result<Vec<Json>, Failure> {
        let value = self.evaluate(collection, id)?;
        json::items(&value).ok_or_else(|| {
            let short: String = value.as_str().chars().take(80).collect();
            let because = self.null_reason();
            IncidentCode::NotAList
                .failure(format!("the collection `{collection}` is {short}{because}"))
        })
    }

    fn cardinality(
        &mut self,
        id: ElementInstanceId,
        cardinality: &crate::expression::Expression,
    ) -> Result<u64, Failure> {
        let value = self.evaluate(cardinality, id)?;
        json::scalar_text(&value).and_then(|text| text.parse().ok()).ok_or_else(|| {
            IncidentCode::NotANumber.failure(format!("the number of iterations is {value}"))
        })
    }

    /// Starts the next iteration; if they run in parallel, queues the one after it.
    pub(super) fn spawn(&mut self, id: ElementInstanceId) {
        let Some(LoopCharacteristics::MultiInstance(multi)) =
            self.node_of(id).and_then(|it| it.repeat.as_ref())
        else {
            return;
        };
        let Some(element) = self.element_mut(id).filter(|it| it.phase == ElementPhase::Active)
        else {
            return;
        };
        let node = element.node;
        let ElementRole::MultiInstance(progress) = &mut element.role else { return };
        if progress.begun >= progress.total || progress.over {
            return;
        }
        let index = progress.begun;
        progress.begun += 1;
        let item = progress.items.as_ref().and_then(|items| items.get(index as usize)).cloned();
        let more = progress.begun < progress.total;
        let scope = self.create_hidden(node, id);
        if let Some(element) = self.element_mut(scope) {
            (element.role, element.phase) = (ElementRole::Iteration(index), ElementPhase::Active);
            element.armed = true;
        }
        self.set(scope, "loopCounter", Json::from(u64::from(index) + 1));
        // The output variable is local to the iteration, so that parallel iterations do not
        // overwrite each other's.
        let own = multi.output.as_ref().and_then(|(_, source)| source.read_variable());
        if let Some(name) = own {
            self.set(scope, name, Json::null());
        }
        if let Some((name, item)) = multi.item.as_ref().zip(item) {
            self.set(scope, name, item);
        }
        if let Some(node) = node {
            let inner = self.create(Some(node), Some(scope));
            self.state.steps.push_back(QueuedStep::Run(inner));
        }
        if more && !multi.sequential {
            self.state.steps.push_back(QueuedStep::Spawn(id));
        }
    }

    /// An element that does not appear in the path of history.
    fn create_hidden(
        &mut self,
        node: Option<crate::model::NodeRef>,
        parent: ElementInstanceId,
    ) -> ElementInstanceId {
        let id = self.create(None, Some(parent));
        if let Some(element) = self.element_mut(id) {
            element.node = node;
        }
        id
    }

    /// Everything in an iteration has completed.
    pub(super) fn iteration_done(&mut self, id: ElementInstanceId) {
        if let Err(failure) = self.count_iteration(id) {
            self.raise_incident(id, failure);
        }
    }

    fn count_iteration(&mut self, id: ElementInstanceId) -> Result<(), Failure> {
        let Some(body) = self.parent_of(id) else { return Ok(()) };
        let Some(LoopCharacteristics::MultiInstance(multi)) =
            self.node_of(body).and_then(|it| it.repeat.as_ref())
        else {
            return Ok(());
        };
        let Some(&ElementRole::Iteration(index)) = self.element(id).map(|it| &it.role) else {
            return Ok(());
        };
        let output = match &multi.output {
            Some((_, source)) => Some(self.evaluate(source, id)?),
            None => None,
        };
        let counted = |progress: &mut MultiInstanceProgress, count: bool| {
            if count {
                progress.completed += 1;
            } else {
                progress.completed -= 1;
            }
        };
        // The completion condition sees this iteration as completed, and its variables.
        self.with_progress(body, |it| counted(it, true));
        let over = match &multi.completion {
            Some(condition) => self.evaluate_condition(condition, id).inspect_err(|_| {
                self.with_progress(body, |it| counted(it, false));
            })?,
            None => false,
        };
        self.keep_compensable_of_iteration(id, body);
        self.with_progress(body, |it| {
            it.over |= over;
            if let Some(output) = output {
                it.outputs.insert(index, output);
            }
        });
        self.remove(id);
        self.after_iteration(body, multi);
        Ok(())
    }

    /// Moves the compensable activities of an iteration to the multi-instance activity.
    fn keep_compensable_of_iteration(&mut self, id: ElementInstanceId, body: ElementInstanceId) {
        let done = self.element_mut(id).map(|it| std::mem::take(&mut it.done));
        if let Some(element) = self.element_mut(body) {
            element.done.extend(done.unwrap_or_default());
        }
    }

    fn after_iteration(&mut self, body: ElementInstanceId, multi: &MultiInstance) {
        let Some(ElementRole::MultiInstance(progress)) = self.element(body).map(|it| &it.role)
        else {
            return;
        };
        if progress.over {
            self.end_scope_content(body, Continuation::Complete);
        } else if progress.completed + progress.terminated >= progress.total {
            self.complete(body, Json::null());
        } else if multi.sequential {
            self.state.steps.push_back(QueuedStep::Spawn(body));
        }
    }

    fn with_progress(
        &mut self,
        body: ElementInstanceId,
        change: impl FnOnce(&mut MultiInstanceProgress),
    ) {
        if let Some(ElementRole::MultiInstance(progress)) =
            self.element_mut(body).map(|it| &mut it.role)
        {
            change(progress);
        }
    }

    /// An iteration was ended from outside.
    pub(super) fn note_terminated(&mut self, id: ElementInstanceId) {
        let Some(element) = self.element(id) else { return };
        if let (ElementRole::Iteration(_), Some(body)) = (&element.role, element.parent) {
            self.with_progress(body, |it| it.terminated += 1);
        }
    }

    pub(super) fn is_multi(&self, id: ElementInstanceId) -> bool {
        matches!(self.element(id).map(|it| &it.role), Some(ElementRole::MultiInstance(_)))
    }

    /// Writes the output collection in the order of the items; an iteration that was ended early
    /// gives null.
    pub(super) fn write_output_collection(&mut self, id: ElementInstanceId, node: &Node) {
        let Some(LoopCharacteristics::MultiInstance(MultiInstance {
            output: Some((target, _)),
            ..
        })) = &node.repeat
        else {
            return;
        };
        let Some(ElementRole::MultiInstance(progress)) = self.element(id).map(|it| &it.role) else {
            return;
        };
        let output = |index| progress.outputs.get(&index).cloned().unwrap_or_default();
        let outputs: Vec<Json> = (0..progress.total).map(output).collect();
        if let Some(scope) = self.enclosing_scope(id) {
            self.assign_target(scope, target, json::list(&outputs));
        }
    }
}

/// The variables that the compensation handler of a completed activity must see again.
pub(super) fn private_variables(element: &super::state::ElementInstance) -> BTreeMap<String, Json> {
    match element.role {
        ElementRole::Iteration(_) => element.variables.clone(),
        _ => BTreeMap::new(),
    }
}
