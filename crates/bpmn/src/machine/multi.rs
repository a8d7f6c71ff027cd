//! Multi-instance activities: one body, many iterations, each a scope of its own.

use std::collections::BTreeMap;

use meantime_core::{Failure, Json};

use super::json;
use super::state::{Id, Phase, Progress, Role, Step, Then};
use super::turn::Machine;
use crate::model::{Multi, Node, Repeat};
use crate::trouble::Trouble;

/// More iterations than this are a mistake.
const MOST: u64 = 100_000;

impl Machine<'_> {
    /// The collection is read once; then iterations begin, all or one by one.
    pub(super) fn begin_multi(&mut self, id: Id, multi: &Multi) -> Result<(), Failure> {
        let items = match &multi.collection {
            Some(collection) => Some(self.collection(id, collection)?),
            None => None,
        };
        let total = match (&items, &multi.cardinality) {
            (Some(items), _) => items.len() as u64,
            (None, Some(cardinality)) => self.cardinality(id, cardinality)?,
            (None, None) => 0,
        };
        if total > MOST {
            let text = format!("{total} iterations are more than {MOST}");
            return Err(Trouble::TooManyIterations.because(text));
        }
        let total = u32::try_from(total).unwrap_or(u32::MAX);
        if let Some(element) = self.element_mut(id) {
            element.role = Role::Multi(Progress { total, items, ..Progress::default() });
        }
        if total == 0 {
            self.complete(id, Json::null());
        } else {
            self.state.steps.push_back(Step::Spawn(id));
        }
        Ok(())
    }

    fn collection(
        &mut self,
        id: Id,
        collection: &crate::expression::Expression,
    ) -> Result<Vec<Json>, Failure> {
        let value = self.evaluate(collection, id)?;
        json::items(&value).ok_or_else(|| {
            let short: String = value.as_str().chars().take(80).collect();
            let because = self.because();
            Trouble::NotAList.because(format!("the collection `{collection}` is {short}{because}"))
        })
    }

    fn cardinality(
        &mut self,
        id: Id,
        cardinality: &crate::expression::Expression,
    ) -> Result<u64, Failure> {
        let value = self.evaluate(cardinality, id)?;
        json::plain(&value).and_then(|text| text.parse().ok()).ok_or_else(|| {
            Trouble::NotANumber.because(format!("the number of iterations is {value}"))
        })
    }

    /// Begins the next iteration, and sees to it that the others follow.
    pub(super) fn spawn(&mut self, id: Id) {
        let Some(Repeat::Multi(multi)) = self.node_of(id).and_then(|it| it.repeat.as_ref()) else {
            return;
        };
        let Some(element) = self.element_mut(id).filter(|it| it.phase == Phase::Active) else {
            return;
        };
        let node = element.node;
        let Role::Multi(progress) = &mut element.role else { return };
        if progress.begun >= progress.total || progress.over {
            return;
        }
        let index = progress.begun;
        progress.begun += 1;
        let item = progress.items.as_ref().and_then(|items| items.get(index as usize)).cloned();
        let more = progress.begun < progress.total;
        let scope = self.create_quietly(node, id);
        if let Some(element) = self.element_mut(scope) {
            (element.role, element.phase) = (Role::Iteration(index), Phase::Active);
            element.armed = true;
        }
        self.set(scope, "loopCounter", Json::from(u64::from(index) + 1));
        // What an iteration puts out is its own: others that run beside it have theirs.
        let own = multi.output.as_ref().and_then(|(_, source)| source.read_variable());
        if let Some(name) = own {
            self.set(scope, name, Json::null());
        }
        if let Some((name, item)) = multi.item.as_ref().zip(item) {
            self.set(scope, name, item);
        }
        if let Some(node) = node {
            let inner = self.create(Some(node), Some(scope));
            self.state.steps.push_back(Step::Run(inner));
        }
        if more && !multi.sequential {
            self.state.steps.push_back(Step::Spawn(id));
        }
    }

    /// An element that people need not see in the path.
    fn create_quietly(&mut self, node: Option<crate::model::NodeRef>, parent: Id) -> Id {
        let id = self.create(None, Some(parent));
        if let Some(element) = self.element_mut(id) {
            element.node = node;
        }
        id
    }

    /// Everything in an iteration has completed.
    pub(super) fn iteration_done(&mut self, id: Id) {
        if let Err(failure) = self.count_iteration(id) {
            self.park(id, failure);
        }
    }

    fn count_iteration(&mut self, id: Id) -> Result<(), Failure> {
        let Some(body) = self.parent_of(id) else { return Ok(()) };
        let Some(Repeat::Multi(multi)) = self.node_of(body).and_then(|it| it.repeat.as_ref())
        else {
            return Ok(());
        };
        let Some(&Role::Iteration(index)) = self.element(id).map(|it| &it.role) else {
            return Ok(());
        };
        let output = match &multi.output {
            Some((_, source)) => Some(self.evaluate(source, id)?),
            None => None,
        };
        let counted = |progress: &mut Progress, count: bool| {
            if count {
                progress.completed += 1;
            } else {
                progress.completed -= 1;
            }
        };
        // The condition sees this iteration as completed, and its variables.
        self.with_progress(body, |it| counted(it, true));
        let over = match &multi.completion {
            Some(condition) => self.evaluate_condition(condition, id).inspect_err(|_| {
                self.with_progress(body, |it| counted(it, false));
            })?,
            None => false,
        };
        self.keep_iteration(id, body);
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

    /// What an iteration has done that can be compensated now belongs to the body.
    fn keep_iteration(&mut self, id: Id, body: Id) {
        let done = self.element_mut(id).map(|it| std::mem::take(&mut it.done));
        if let Some(element) = self.element_mut(body) {
            element.done.extend(done.unwrap_or_default());
        }
    }

    fn after_iteration(&mut self, body: Id, multi: &Multi) {
        let Some(Role::Multi(progress)) = self.element(body).map(|it| &it.role) else { return };
        if progress.over {
            self.clear(body, Then::Complete);
        } else if progress.completed + progress.terminated >= progress.total {
            self.complete(body, Json::null());
        } else if multi.sequential {
            self.state.steps.push_back(Step::Spawn(body));
        }
    }

    fn with_progress(&mut self, body: Id, change: impl FnOnce(&mut Progress)) {
        if let Some(Role::Multi(progress)) = self.element_mut(body).map(|it| &mut it.role) {
            change(progress);
        }
    }

    /// An iteration was ended from outside.
    pub(super) fn note_terminated(&mut self, id: Id) {
        let Some(element) = self.element(id) else { return };
        if let (Role::Iteration(_), Some(body)) = (&element.role, element.parent) {
            self.with_progress(body, |it| it.terminated += 1);
        }
    }

    pub(super) fn is_multi(&self, id: Id) -> bool {
        matches!(self.element(id).map(|it| &it.role), Some(Role::Multi(_)))
    }

    /// The collection leaves in the order of the items; what was ended early is null.
    pub(super) fn put_out_collection(&mut self, id: Id, node: &Node) {
        let Some(Repeat::Multi(Multi { output: Some((target, _)), .. })) = &node.repeat else {
            return;
        };
        let Some(Role::Multi(progress)) = self.element(id).map(|it| &it.role) else { return };
        let slot = |index| progress.outputs.get(&index).cloned().unwrap_or_default();
        let outputs: Vec<Json> = (0..progress.total).map(slot).collect();
        if let Some(scope) = self.enclosing_scope(id) {
            self.assign_target(scope, target, json::list(&outputs));
        }
    }
}

/// The variables of a completed activity that its handler must see again.
pub(super) fn private_variables(element: &super::state::Element) -> BTreeMap<String, Json> {
    match element.role {
        Role::Iteration(_) => element.variables.clone(),
        _ => BTreeMap::new(),
    }
}
