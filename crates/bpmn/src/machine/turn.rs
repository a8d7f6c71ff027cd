//! One turn: events, then steps until nothing changes.

use meantime_core::{
    Cx, Effect, Event, Execution, Fault, Json, Outcome, State, Status, Turn, Verdict,
};

use super::codec::{load, save};
use super::path::Path;
use super::state::{
    ElementInstance, ElementInstanceId, LocalEffectKey, ProcessState, QueuedStep, ROOT,
};
use crate::model::{FlowRef, Node, NodeRef, Process};

/// The most effects that one step creates. The turn yields when it has room for fewer.
const MAX_EFFECTS_PER_STEP: usize = 4;

/// One turn of one instance.
pub(crate) struct Machine<'a> {
    pub(super) process: &'a Process,
    /// The declared deadline.
    pub(super) execution: Option<&'a Execution>,
    pub(super) cx: &'a Cx<'a>,
    pub(super) state: ProcessState,
    pub(super) effects: Vec<Effect>,
    pub(super) outcome: Option<Outcome>,
    pub(super) ops: u64,
    /// Why the last expression was null.
    pub(super) reason: Option<String>,
    /// Whether a variable has changed since conditions were last evaluated.
    pub(super) changed: bool,
    pub(super) path: Path,
}

impl<'a> Machine<'a> {
    pub(crate) fn new(
        process: &'a Process,
        execution: Option<&'a Execution>,
        cx: &'a Cx<'a>,
    ) -> Self {
        Self {
            process,
            execution,
            cx,
            state: ProcessState::new(cx.instance),
            effects: Vec::new(),
            outcome: None,
            ops: 0,
            reason: None,
            changed: true,
            path: Path::default(),
        }
    }

    pub(crate) fn resume(
        process: &'a Process,
        execution: Option<&'a Execution>,
        state: &State,
        cx: &'a Cx<'a>,
    ) -> Result<Self, Fault> {
        let state = load(process, state)?;
        Ok(Self { state, changed: false, ..Self::new(process, execution, cx) })
    }

    /// Handles the events in order, each with all steps that follow from it.
    pub(crate) fn advance(mut self, events: &[Event]) -> Result<Turn, Fault> {
        let mut verdicts = Vec::with_capacity(events.len());
        for event in events {
            self.ops += 1;
            let verdict = match self.outcome {
                Some(_) => Verdict::NotTaken,
                None => self.handle_event(event),
            };
            verdicts.push(verdict);
            self.run();
        }
        self.finish(verdicts)
    }

    pub(super) fn finish(mut self, verdicts: Vec<Verdict>) -> Result<Turn, Fault> {
        if let Some(data) = self.path.record(self.process) {
            self.effects.push(Effect::Record { kind: "path".to_owned(), data });
        }
        let status = match self.outcome.take() {
            Some(outcome) => Status::Ended(outcome),
            None if self.state.steps.is_empty() => Status::Running,
            None => Status::Yield,
        };
        let state = save(self.process, &self.state)?;
        Ok(Turn { state, effects: self.effects, status, verdicts, ops: self.ops })
    }

    /// Does steps until none is left or the slice is used up.
    pub(super) fn run(&mut self) {
        let slice = self.cx.limits.ops_per_slice;
        let effects = self.cx.limits.slice_effects().saturating_sub(MAX_EFFECTS_PER_STEP);
        while self.outcome.is_none() {
            let used_up = self.ops >= slice || self.effects.len() >= effects.max(1);
            if self.state.steps.is_empty() {
                // Only now: an inclusive join must know that no moving token can still arrive.
                if !self.advance_joins_and_conditions() {
                    break;
                }
                continue;
            }
            if used_up {
                break;
            }
            let Some(step) = self.state.steps.pop_front() else { continue };
            self.ops += 1;
            self.run_step(step);
            if self.changed {
                self.evaluate_conditions();
            }
        }
    }

    fn run_step(&mut self, step: QueuedStep) {
        match step {
            QueuedStep::Enter { node, scope, flow, payload } => {
                self.enter(node, scope, flow, payload);
            }
            QueuedStep::Run(id) => self.resume_element(id),
            QueuedStep::Spawn(id) => self.spawn(id),
            QueuedStep::Stop(id) => self.stop_element(id),
        }
    }

    /// With no step left: tries joins and evaluates conditions. Whether anything continued.
    fn advance_joins_and_conditions(&mut self) -> bool {
        if self.try_joins() {
            return true;
        }
        while self.changed && self.state.steps.is_empty() && self.outcome.is_none() {
            self.evaluate_conditions();
        }
        !self.state.steps.is_empty()
    }

    // Access to the state.

    pub(super) fn element(&self, id: ElementInstanceId) -> Option<&ElementInstance> {
        self.state.elements.get(&id)
    }

    pub(super) fn element_mut(&mut self, id: ElementInstanceId) -> Option<&mut ElementInstance> {
        self.state.elements.get_mut(&id)
    }

    /// The node of an element; none for the process and for elements that are gone.
    pub(super) fn node_of(&self, id: ElementInstanceId) -> Option<&'a Node> {
        Some(self.process.node(self.element(id)?.node?))
    }

    pub(super) fn parent_of(&self, id: ElementInstanceId) -> Option<ElementInstanceId> {
        self.element(id)?.parent
    }

    /// Children of an element, in order of activation.
    pub(super) fn children_of(&self, id: ElementInstanceId) -> Vec<ElementInstanceId> {
        // Children are created after their parent, which counts them: the search can stop at the
        // last one.
        let count = self.element(id).map_or(0, |element| element.busy as usize);
        let is_child = |(_, it): &(&ElementInstanceId, &ElementInstance)| it.parent == Some(id);
        let later = self.state.elements.range(ElementInstanceId(id.0.saturating_add(1))..);
        later.filter(is_child).take(count).map(|(id, _)| *id).collect()
    }

    /// Creates an element.
    pub(super) fn create(
        &mut self,
        node: Option<NodeRef>,
        parent: Option<ElementInstanceId>,
    ) -> ElementInstanceId {
        let id = ElementInstanceId(self.state.next);
        self.state.next += 1;
        self.state.elements.insert(id, ElementInstance::new(node, parent, self.cx.now));
        if let Some(parent) = parent.and_then(|parent| self.element_mut(parent)) {
            parent.busy += 1;
        }
        if let Some(node) = node {
            self.path.entered(id, node);
        }
        id
    }

    /// Removes an element from the tree. Its waits must be cancelled before.
    pub(super) fn remove(&mut self, id: ElementInstanceId) -> Option<ElementInstance> {
        let element = self.state.elements.remove(&id)?;
        if let Some(parent) = element.parent.and_then(|parent| self.element_mut(parent)) {
            parent.busy = parent.busy.saturating_sub(1);
        }
        Some(element)
    }

    /// Queues a token for a node.
    pub(super) fn send_token(
        &mut self,
        node: NodeRef,
        scope: ElementInstanceId,
        flow: Option<FlowRef>,
        payload: Option<Json>,
    ) {
        if let Some(element) = self.element_mut(scope) {
            element.busy += 1;
            self.state.steps.push_back(QueuedStep::Enter { node, scope, flow, payload });
        }
    }

    /// Adds an effect and returns its key.
    pub(super) fn push(&mut self, effect: Effect) -> LocalEffectKey {
        self.cx.push(&mut self.effects, effect).into()
    }

    /// The variables of the process itself, as one document.
    pub(super) fn root_variables(&self) -> Json {
        let variables = self.element(ROOT).map(|root| &root.variables);
        super::json::object(variables.into_iter().flatten())
    }
}
