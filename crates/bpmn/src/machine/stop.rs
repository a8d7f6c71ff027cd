//! Ends elements from outside: by interruption, termination or cancellation.
//!
//! Waits are cancelled at once. Child instances must end first (B6): until they have, the element
//! stays, accepts no other event, and its continuation waits.

use meantime_core::Effect;

use super::state::{
    ArmedWait, Continuation, ElementInstanceId, ElementPhase, ElementRole, QueuedStep, WaitKind,
};
use super::turn::Machine;

impl Machine<'_> {
    /// Ends an element and everything inside it; then the continuation runs in the enclosing scope.
    pub(super) fn interrupt(&mut self, id: ElementInstanceId, then: Option<Continuation>) {
        // Marked at once, stopped step by step: no event of this turn may reach an element whose
        // stop is still queued.
        self.mark_ending(id);
        if let Some(element) = self.element_mut(id) {
            element.then = then;
        }
        self.state.steps.push_front(QueuedStep::Stop(id));
    }

    /// Ends everything inside a scope, tokens at joins included; the scope itself stays.
    pub(super) fn end_scope_content(&mut self, scope: ElementInstanceId, then: Continuation) {
        self.forget_tokens(scope);
        let children = self.children_of(scope);
        if let Some(element) = self.element_mut(scope) {
            element.then = Some(then);
        }
        // Reversed, because each goes to the front of the queue: they stop in order of activation.
        for child in children.iter().rev() {
            self.mark_ending(*child);
            self.state.steps.push_front(QueuedStep::Stop(*child));
        }
        if children.is_empty() {
            self.complete_scope_if_empty(scope);
        }
    }

    /// Marks an element and everything inside as ending, so that later events for them are stale.
    fn mark_ending(&mut self, id: ElementInstanceId) {
        self.forget_tokens(id);
        if let Some(element) = self.element_mut(id) {
            element.phase = ElementPhase::Ending;
            element.then = None;
        }
        for child in self.children_of(id) {
            self.mark_ending(child);
        }
    }

    /// Removes tokens on their way into a scope and those that wait in it.
    fn forget_tokens(&mut self, scope: ElementInstanceId) {
        let before = self.state.steps.len();
        self.state
            .steps
            .retain(|step| !matches!(step, QueuedStep::Enter { scope: to, .. } if *to == scope));
        let gone = u32::try_from(before - self.state.steps.len()).unwrap_or(u32::MAX);
        if let Some(element) = self.element_mut(scope) {
            element.busy = element.busy.saturating_sub(gone);
            element.joins.clear();
        }
    }

    /// Ends one element: cancels its waits, then ends what is inside.
    pub(super) fn stop_element(&mut self, id: ElementInstanceId) {
        let Some(element) = self.element_mut(id) else { return };
        let (children, waits): (Vec<ArmedWait>, Vec<ArmedWait>) =
            std::mem::take(&mut element.waits)
                .into_iter()
                .partition(|wait| wait.kind == WaitKind::Child);
        let incident = element.incident.take();
        // A child instance is cancelled, but the element stays until the child has ended: the
        // continuation must not overtake it.
        element.waits.clone_from(&children);
        for wait in &waits {
            self.cancel_wait(wait);
        }
        for wait in &children {
            let key = wait.key.of(self.cx.instance);
            self.push(Effect::CancelChild { key });
        }
        if let Some(key) = incident {
            let key = key.of(self.cx.instance);
            self.push(Effect::CancelIncident { key });
        }
        for child in self.children_of(id).into_iter().rev() {
            self.state.steps.push_front(QueuedStep::Stop(child));
        }
        self.try_finish_ending(id);
    }

    /// Removes an ending element when nothing is left inside it.
    pub(super) fn try_finish_ending(&mut self, id: ElementInstanceId) {
        let Some(element) = self.element(id) else { return };
        if element.busy > 0 || element.has_child() {
            return;
        }
        let is_iteration = matches!(element.role, ElementRole::Iteration(_));
        if let Some(node) = element.node.filter(|_| !is_iteration) {
            self.path.stopped(id, node);
        }
        self.note_terminated(id);
        let Some(element) = self.remove(id) else { return };
        let Some(parent) = element.parent else { return };
        if let Some(Continuation::Boundary { node, payload }) = element.then {
            self.send_token(node, parent, None, Some(payload));
        }
        self.complete_scope_if_empty(parent);
    }

    /// Everything inside a scope has ended: runs its continuation.
    pub(super) fn continue_after_clearing(&mut self, id: ElementInstanceId) {
        let then = self.element_mut(id).and_then(|element| element.then.take());
        match then {
            Some(Continuation::EventSubProcess { sub, payload }) => {
                self.begin_event_sub_process(id, sub, payload);
            }
            Some(Continuation::CancelTransaction) => self.compensate_transaction(id),
            Some(Continuation::Complete) if id == super::state::ROOT => {
                self.complete_scope_if_empty(id);
            }
            Some(Continuation::Complete) => self.complete(id, meantime_core::Json::null()),
            Some(Continuation::Boundary { .. } | Continuation::Start { .. }) | None => {}
        }
    }

    /// Cancels everything an element waits for.
    pub(super) fn cancel_waits(&mut self, id: ElementInstanceId) {
        let waits = self.element_mut(id).map(|it| std::mem::take(&mut it.waits));
        for wait in waits.unwrap_or_default() {
            self.cancel_wait(&wait);
        }
    }

    pub(super) fn cancel_wait(&mut self, wait: &ArmedWait) {
        let key = wait.key.of(self.cx.instance);
        let effect = match wait.kind {
            WaitKind::Task | WaitKind::UserTask => Effect::CancelTask { key },
            WaitKind::Timer { .. } => Effect::CancelTimer { key },
            WaitKind::Message { .. } | WaitKind::Signal => Effect::Unsubscribe { key },
            WaitKind::Child => Effect::CancelChild { key },
            WaitKind::Condition { .. } | WaitKind::BrokenCondition => return,
        };
        self.push(effect);
    }
}
