//! Sub-processes: scopes with their own starts and event sub-processes, which complete when empty.

use meantime_core::{Failure, Json};

use super::json;
use super::state::{ElementInstanceId, ElementPhase, ElementRole};
use super::turn::Machine;
use crate::incident_code::IncidentCode;
use crate::model::{AdHoc, NodeKind, NodeRef, ScopeBody, SubProcess, SubProcessKind};

impl Machine<'_> {
    /// An embedded sub-process or a transaction starts; an ad-hoc one offers its activities.
    pub(super) fn begin_sub_process(
        &mut self,
        id: ElementInstanceId,
        sub: &SubProcess,
    ) -> Result<(), Failure> {
        self.arm_event_sub_processes(id, &sub.body)?;
        match &sub.kind {
            SubProcessKind::AdHoc(ad_hoc) => self.begin_ad_hoc(id, ad_hoc, &sub.body),
            _ if sub.body.starts.is_empty() && sub.body.implicit_starts.is_empty() => {
                self.complete(id, Json::null());
                Ok(())
            }
            _ => {
                self.start_body(id, &sub.body, None);
                Ok(())
            }
        }
    }

    /// Puts the first tokens into a scope.
    pub(super) fn start_body(
        &mut self,
        scope: ElementInstanceId,
        body: &ScopeBody,
        start: Option<NodeRef>,
    ) {
        let plain = |at: &&NodeRef| self.process.node(**at).is_plain_start();
        let plain = body.starts.iter().find(plain).or(body.starts.first());
        match start.or(plain.copied()) {
            Some(at) => self.send_token(at, scope, None, Some(Json::null())),
            None => {
                for at in &body.implicit_starts {
                    self.send_token(*at, scope, None, None);
                }
            }
        }
    }

    /// Arms the event sub-processes of a scope (B7).
    pub(super) fn arm_event_sub_processes(
        &mut self,
        scope: ElementInstanceId,
        body: &ScopeBody,
    ) -> Result<(), Failure> {
        let starts: Vec<NodeRef> = body
            .event_sub_processes
            .iter()
            .flat_map(|sub| &self.process.body_of(Some(*sub)).starts)
            .copied()
            .collect();
        // `arm` arms all of them or none, so one armed start means that a retry has nothing left to
        // arm.
        let armed = self
            .element(scope)
            .is_some_and(|it| it.waits.iter().any(|wait| starts.contains(&wait.on)));
        if armed { Ok(()) } else { self.arm(scope, &starts) }
    }

    /// An event sub-process was triggered: interrupts the scope if it is interrupting.
    pub(super) fn trigger_event_sub_process(
        &mut self,
        scope: ElementInstanceId,
        start: NodeRef,
        payload: Json,
    ) {
        let node = self.process.node(start);
        let (Some(sub), NodeKind::Start(event)) = (node.parent, &node.kind) else { return };
        if !event.interrupting {
            self.begin_event_sub_process(scope, sub, payload);
            return;
        }
        if let Some(element) = self.element_mut(scope) {
            element.interrupted = true;
        }
        self.disarm_event_sub_processes(scope);
        self.end_scope_content(scope, super::state::Continuation::EventSubProcess { sub, payload });
    }

    /// Disarms the other event sub-processes of the scope; its boundary events stay armed.
    fn disarm_event_sub_processes(&mut self, scope: ElementInstanceId) {
        let Some(element) = self.element_mut(scope) else { return };
        let waits = std::mem::take(&mut element.waits);
        let process = self.process;
        let (starts, others) = waits
            .into_iter()
            .partition(|wait| matches!(process.node(wait.on).kind, NodeKind::Start(_)));
        if let Some(element) = self.element_mut(scope) {
            element.waits = others;
        }
        for wait in Vec::from_iter::<Vec<_>>(starts) {
            self.cancel_wait(&wait);
        }
    }

    /// Starts an event sub-process inside a scope.
    pub(super) fn begin_event_sub_process(
        &mut self,
        scope: ElementInstanceId,
        sub: NodeRef,
        payload: Json,
    ) {
        let id = self.create(Some(sub), Some(scope));
        if let Some(element) = self.element_mut(id) {
            (element.role, element.phase) = (ElementRole::Scope, ElementPhase::Active);
            // It has no boundary events, and its own event sub-processes are armed below.
            element.armed = true;
        }
        let body = self.process.body_of(Some(sub));
        if let Err(failure) = self.arm_event_sub_processes(id, body) {
            self.raise_incident(id, failure);
            return;
        }
        if let Some(start) = body.starts.first() {
            self.send_token(*start, id, None, Some(payload));
        }
    }

    fn begin_ad_hoc(
        &mut self,
        id: ElementInstanceId,
        ad_hoc: &AdHoc,
        body: &ScopeBody,
    ) -> Result<(), Failure> {
        let mut offered = body.implicit_starts.clone();
        if let Some(active) = &ad_hoc.active {
            let value = self.evaluate(active, id)?;
            offered = self.named_activities(&value, body)?;
        }
        offered.reverse();
        let first = if ad_hoc.sequential { offered.pop() } else { None };
        let all = if ad_hoc.sequential { Vec::new() } else { std::mem::take(&mut offered) };
        if let Some(element) = self.element_mut(id) {
            element.role = ElementRole::AdHoc(offered);
        }
        for at in all.into_iter().rev().chain(first) {
            self.send_token(at, id, None, None);
        }
        self.complete_scope_if_empty(id);
        Ok(())
    }

    fn named_activities(&self, value: &Json, body: &ScopeBody) -> Result<Vec<NodeRef>, Failure> {
        let ids = json::items(value).ok_or_else(|| {
            IncidentCode::NotAList
                .failure(format!("the activities to begin are {value}, not a list"))
        })?;
        let mut found = Vec::new();
        for id in &ids {
            let named = json::text(id).unwrap_or_default();
            let at = self.process.node_ids.get(named.as_str()).copied();
            match at.filter(|at| body.implicit_starts.contains(at)) {
                Some(at) => found.push(at),
                None => {
                    let text = format!("there is no activity {id} to begin");
                    return Err(IncidentCode::UnknownActivity.failure(text));
                }
            }
        }
        Ok(found)
    }

    /// Nothing is active in an ad-hoc sub-process: starts the next activity or completes.
    pub(super) fn ad_hoc_scope_empty(&mut self, id: ElementInstanceId) {
        let next = match self.element_mut(id).map(|it| &mut it.role) {
            Some(ElementRole::AdHoc(rest)) => rest.pop(),
            _ => None,
        };
        match next {
            Some(at) => self.send_token(at, id, None, None),
            None => self.complete(id, Json::null()),
        }
    }

    /// Evaluates the completion condition after each activity of an ad-hoc sub-process.
    pub(super) fn ad_hoc_progress(&mut self, scope: ElementInstanceId) -> Result<(), Failure> {
        let is_ad_hoc =
            matches!(self.element(scope).map(|it| &it.role), Some(ElementRole::AdHoc(_)));
        let node = self.node_of(scope).filter(|_| is_ad_hoc);
        let Some(NodeKind::SubProcess(SubProcess { kind: SubProcessKind::AdHoc(ad_hoc), .. })) =
            node.map(|it| &it.kind)
        else {
            return Ok(());
        };
        let Some(condition) = &ad_hoc.completion else { return Ok(()) };
        if !self.evaluate_condition(condition, scope)? {
            return Ok(());
        }
        if let Some(element) = self.element_mut(scope) {
            element.role = ElementRole::AdHoc(Vec::new());
        }
        if ad_hoc.cancel_remaining {
            self.end_scope_content(scope, super::state::Continuation::Complete);
        }
        Ok(())
    }
}
