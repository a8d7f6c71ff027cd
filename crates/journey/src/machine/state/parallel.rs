//! `parallel`: runs branches in parallel on one shared context until the join is satisfied (JP1 to
//! JP6, JR2).

use meantime_core::{Failure, Fault, Termination};
use meantime_value::{Object, Value};

use super::call::error_of;
use crate::definition::{Binding, JoinErrorPolicy, JoinStrategy, Parallel, State, StateBody};
use crate::json;
use crate::machine::overlay::Overlay;
use crate::machine::run::{Run, state_mismatch};
use crate::machine::saved::{BranchResult, BranchState, FrameData, FrameId, ScopeName, WaitState};
use crate::machine::transition::{ScopeEnd, Transition};

/// An error with its kind.
type Error = (Failure, Termination);

impl Run<'_> {
    pub(in crate::machine) fn enter_parallel(
        &mut self,
        id: FrameId,
        parallel: &Parallel,
    ) -> Transition {
        let branches = parallel.branches.iter().map(|branch| {
            let scope = ScopeName::Branch(branch.name.clone());
            let data = FrameData::Overlay(Overlay::default());
            let frame = self.add_frame(Some(id), scope, &branch.scope.start.id, data);
            BranchState { name: branch.name.clone(), frame: Some(frame), end: None }
        });
        Transition::Wait(WaitState::Parallel(branches.collect()))
    }

    /// One branch has ended: completes the parallel if the join is satisfied.
    pub(in crate::machine) fn branch_ended(
        &mut self,
        id: FrameId,
        name: &str,
        branch: FrameId,
        end: ScopeEnd,
    ) -> Result<(), Fault> {
        let state = self.state_of(id)?;
        let StateBody::Parallel(parallel) = &state.body else {
            return Err(state_mismatch("a branch belongs to a state that has none"));
        };
        let context = match parallel.join.result {
            Some(_) => Some(json::document(&self.context(branch)?)?),
            None => None,
        };
        // The states after the join run with the request of the branch that ended last.
        let request = self.frame(branch)?.request.clone();
        self.frame_mut(id)?.request = request;
        self.cancel_frame(branch);
        let (output, error) = match end {
            ScopeEnd::Succeeded { output } => (Some(output), None),
            ScopeEnd::Failed { failure, termination } => (None, Some((failure, termination))),
        };
        let WaitState::Parallel(branches) = &mut self.frame_mut(id)?.wait_state else {
            return Err(state_mismatch("a branch belongs to a frame that runs none"));
        };
        if let Some(it) = branches.iter_mut().find(|it| it.name == name) {
            (it.frame, it.end) = (None, Some(BranchResult { error: error.clone(), context }));
        }
        let policy = parallel.join.error_policy;
        let all_ended = branches.iter().all(|it| it.end.is_some());
        match parallel.join.strategy {
            JoinStrategy::First => {
                // The first branch to end decides: its failure is that of the parallel unless
                // errors are ignored (JP5).
                let error = error.filter(|_| policy != JoinErrorPolicy::IgnoreErrors);
                self.join(id, state, parallel, error, output)
            }
            JoinStrategy::AllOf if error.is_some() && policy == JoinErrorPolicy::FailFast => {
                self.join(id, state, parallel, error, output)
            }
            JoinStrategy::AllOf if all_ended => {
                let failed = self.first_error(id)?;
                let ends_scope = state.next.is_none() && policy != JoinErrorPolicy::IgnoreErrors;
                let error = failed.filter(|_| ends_scope);
                self.join(id, state, parallel, error, None)
            }
            JoinStrategy::AllOf => Ok(()),
        }
    }

    /// Ends a parallel: cancels the remaining branches, computes the result, continues the frame.
    fn join(
        &mut self,
        id: FrameId,
        state: &State,
        parallel: &Parallel,
        error: Option<Error>,
        output: Option<Value>,
    ) -> Result<(), Fault> {
        let WaitState::Parallel(branches) = self.frame(id)?.wait_state.clone() else {
            return Err(state_mismatch("a frame joins branches that it does not run"));
        };
        for loser in branches.iter().filter_map(|it| it.frame) {
            self.cancel_frame(loser);
        }
        if let Some((failure, termination)) = error {
            return self
                .apply_transition(id, Transition::End(ScopeEnd::Failed { failure, termination }));
        }
        let mut result = None;
        if let Some((mapper, var)) = &parallel.join.result {
            match self.evaluate(id, mapper, branch_bindings(&branches)?)? {
                Ok(value) => {
                    self.write_var(id, var, value.clone())?;
                    result = Some(value);
                }
                Err(error) => return self.apply_transition(id, error.into()),
            }
        }
        if state.next.is_some() {
            let flow = Self::next_transition(state)?;
            return self.apply_transition(id, flow);
        }
        // Without `next` it ends its scope (JP4), with the output of the branch that decided, else
        // the join's result, else the context.
        let output = match output.or(result) {
            Some(output) => output,
            None => self.context(id)?,
        };
        self.apply_transition(id, Transition::End(ScopeEnd::Succeeded { output }))
    }

    fn first_error(&self, id: FrameId) -> Result<Option<Error>, Fault> {
        let WaitState::Parallel(branches) = &self.frame(id)?.wait_state else {
            return Err(state_mismatch("a frame joins branches that it does not run"));
        };
        let mut errors = branches.iter().filter_map(|it| it.end.as_ref()?.error.clone());
        Ok(errors.next())
    }
}

/// `branches` and `outcomes`: the branches that have ended.
fn branch_bindings(branches: &[BranchState]) -> Result<Vec<(Binding, Value)>, Fault> {
    let (mut contexts, mut outcomes) = (Object::default(), Object::default());
    for branch in branches {
        let Some(end) = &branch.end else { continue };
        let context = end.context.as_ref().map(json::parse).transpose()?.unwrap_or_default();
        contexts.insert(&branch.name, context);
        let (phase, error) = match &end.error {
            Some((failure, _)) => ("FAILED", error_of(failure)),
            None => ("SUCCEEDED", Value::Null),
        };
        outcomes.insert(&branch.name, json::object_of([("phase", phase.into()), ("error", error)]));
    }
    Ok(vec![(Binding::Branches, contexts.into()), (Binding::Outcomes, outcomes.into())])
}
