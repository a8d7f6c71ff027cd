//! Store calls of machines: delayed, executed or failed, and answered late.

use std::sync::Arc;

use meantime_core::{DefinitionId, InstanceId};
use meantime_kernel::machine::{Input, Job, Machine, Output, Stored, is_idle_by_itself};
use meantime_kernel::store::{
    CompactRequest, DefinitionFilter, Error, Fence, Fetched, InstanceRow, Plan, Store, Unit,
    UnitDone, UnitResult,
};

use super::coverage_counts::CountGroup;
use super::describe::{describe_commit, describe_output};
use super::node::{CallStage, StoreCall};
use super::run::Simulation;
use super::setup::FaultFamily;
use crate::checker::ObservedTurn;
use crate::harness::block_on;

type TurnResult = Result<meantime_core::Turn, meantime_core::Fault>;

/// The outcome of one call.
enum CallOutcome {
    /// The call is executed.
    Done,
    /// It fails without effect.
    Refused(Error),
    /// It is executed and its answer is lost.
    AnswerLost,
    /// It is not executed, and the machine cannot know.
    CallLost,
    /// It fails with an error that only a restart can resolve; the flag says whether it was
    /// executed.
    Broken(bool),
}

/// How many turns that may have been put off are remembered.
const MAX_DEFERRED_TURNS: usize = 256;

impl Simulation {
    /// Polls a machine until it has no more outputs.
    pub(super) fn poll_machine(&mut self, node: usize) {
        const MAX_STEPS: u32 = 50_000;
        self.nodes[node].needs_poll = false;
        let mut wanted = 0;
        while let Some(output) = self.nodes[node].machine.as_mut().and_then(Machine::poll) {
            self.trace(|| format!("n{node} wants {}", describe_output(&output)));
            wanted += 1;
            if wanted > MAX_STEPS {
                self.report_violation(
                    "eventually_everything_settles",
                    "it wants more and more".to_owned(),
                );
                return;
            }
            match output {
                Output::Reply(ticket, answer) => self.record_reply(node, ticket, &answer),
                Output::Dispatch(task) => self.record_dispatch(node, *task),
                Output::Fatal(_) => self.nodes[node].has_failed = true,
                output if self.setup.serial => {
                    self.logical_time += 1;
                    let is_commit = matches!(output, Output::Commit(..));
                    let answer = self.perform_call(node, output);
                    if is_commit && self.draw_crash() {
                        // The commit has taken effect, and no caller was answered.
                        self.crash_node(node);
                        return;
                    }
                    if let Some(input) = answer {
                        self.nodes[node].handle_input(input);
                    }
                }
                output => {
                    let ready_at = self.logical_time + self.call_delay();
                    let call = StoreCall { ready_at, stage: CallStage::Sent(output) };
                    self.nodes[node].calls_in_flight.push(call);
                }
            }
        }
    }

    /// Advances one call in flight of a node; false if none is ready.
    pub(super) fn advance_one_call(&mut self, node: usize) -> bool {
        let mut eligible = self.nodes[node].ready_calls(self.logical_time);
        if self.is_frozen(node) {
            // Requests that it has already sent still reach the store; answers wait until it
            // continues.
            let calls_in_flight = &self.nodes[node].calls_in_flight;
            eligible.retain(|place| matches!(calls_in_flight[*place].stage, CallStage::Sent(_)));
        }
        let Some(place) = self.rng.pick_optional(&eligible).copied() else { return false };
        match self.nodes[node].calls_in_flight.remove(place).stage {
            CallStage::Sent(output) => {
                if let Some(input) = self.perform_call(node, output) {
                    let ready_at = self.logical_time + self.call_delay();
                    let call = StoreCall { ready_at, stage: CallStage::Answered(input) };
                    self.nodes[node].calls_in_flight.push(call);
                }
            }
            CallStage::Computing(batch, number, job) => {
                self.trace(|| format!("n{node} is through with job {number} of batch {batch}"));
                let turn = job.run();
                let computed = self.nodes[node].computed.take();
                self.nodes[node].slow_turns.extend(computed);
                self.nodes[node].handle_input(Input::SlowTurn(batch, number, turn));
                self.poll_machine(node);
            }
            CallStage::Answered(input) => {
                self.nodes[node].handle_input(input);
                // Sometimes the machine gets further inputs before it is polled.
                if self.faults_stopped || self.rng.percent(85) {
                    self.poll_machine(node);
                }
            }
        }
        true
    }

    /// How many logical steps a call takes.
    fn call_delay(&mut self) -> u64 {
        if self.faults_stopped {
            return 0;
        }
        if self.setup.has_fault(FaultFamily::Slow) && self.rng.permyriad(self.setup.fault_rate) {
            self.counts.count(CountGroup::Fault, FaultFamily::Slow.name());
            return 20 + self.rng.below(200) as u64;
        }
        self.rng.below(4) as u64
    }

    /// Executes a store call and returns the input for the machine.
    fn perform_call(&mut self, node: usize, output: Output) -> Option<Input> {
        let store = self.nodes[node].store.clone();
        Some(match output {
            Output::Fetch(batch, request) => match self.decide_outcome(node, "fetch", false) {
                CallOutcome::Refused(error) => Input::Fetched(batch, Err(error)),
                _ => Input::Fetched(batch, block_on(store.fetch(request))),
            },
            Output::Advance(batch, jobs) => {
                Input::Advanced(batch, self.compute_turns(node, batch, jobs))
            }
            Output::Drop(batch, number) => {
                self.drop_job(node, batch, number);
                return None;
            }
            Output::Commit(batch, fetched, plan) => {
                Input::Committed(batch, self.commit_with_faults(node, batch, fetched, plan))
            }
            Output::Verify { .. } | Output::LoadDefinition(_) | Output::Recover(_)
                if self.is_refused(node, &output) =>
            {
                self.requeue(node, output);
                return None;
            }
            Output::Verify { batch, commit, results } => {
                let took_effect = block_on(store.is_committed(commit)).unwrap_or(false);
                self.nodes[node].lost_commit.take_if(|lost| *lost <= commit);
                Input::Verified(batch, took_effect, results)
            }
            Output::LoadTimers(query) => match self.decide_outcome(node, "timers", false) {
                CallOutcome::Refused(error) => Input::Timers(Err(error)),
                _ => Input::Timers(block_on(store.due_timers(query))),
            },
            Output::LoadDefinition(id) => {
                Input::Definition(id, Box::new(self.load_definition(node, id)))
            }
            Output::LoadDefinitions => {
                let rows = block_on(store.definitions(DefinitionFilter::default()));
                Input::Definitions(rows.unwrap_or_default())
            }
            Output::Recover(partition) => {
                Input::Adopted(block_on(store.recover(partition)).expect("the store can be read"))
            }
            Output::Notify(notices) => {
                // Notifications are best effort.
                let _ = block_on(store.notify(notices));
                return None;
            }
            Output::LoadTree(id) => Input::Tree(id, self.load_tree(id)),
            Output::Compact(request) => {
                self.compact(node, request);
                return None;
            }
            Output::Reply(..)
            | Output::Dispatch(_)
            | Output::Damaged(..)
            | Output::TimedOut(_)
            | Output::Fatal(_) => {
                return None;
            }
        })
    }

    /// Whether the store fails a call that the driver repeats until it succeeds.
    fn is_refused(&mut self, node: usize, output: &Output) -> bool {
        let kind = match output {
            Output::Verify { .. } => "verify",
            Output::LoadDefinition(_) => "definition",
            _ => "recover",
        };
        matches!(self.decide_outcome(node, kind, false), CallOutcome::Refused(_))
    }

    /// A job that is being computed is not needed any more.
    fn drop_job(&mut self, node: usize, batch: u64, number: usize) {
        let is_it = |call: &StoreCall| match &call.stage {
            CallStage::Computing(it, job, _) => (*it, *job) == (batch, number),
            _ => false,
        };
        self.nodes[node].calls_in_flight.retain(|call| !is_it(call));
    }

    /// Compaction is best effort: no caller waits for it.
    fn compact(&mut self, node: usize, request: CompactRequest) {
        if !matches!(self.decide_outcome(node, "compact", false), CallOutcome::Refused(_)) {
            let _ = block_on(self.nodes[node].store.compact(request));
            self.counts.count(CountGroup::Operation, "compact");
        }
    }

    fn load_definition(&self, node: usize, id: DefinitionId) -> Option<Stored> {
        let row = block_on(self.nodes[node].store.definition(id)).ok().flatten()?;
        self.nodes[node].notations.load(&row, &self.setup.config.limits)
    }

    /// Computes turns; slow ones leave their batch and are reported later.
    fn compute_turns(
        &mut self,
        node: usize,
        batch: u64,
        jobs: Vec<Job>,
    ) -> Vec<Option<TurnResult>> {
        let turns = self.run_jobs(node, batch, jobs);
        let computed = self.nodes[node].computed.take();
        // A turn with effects may be put off when its batch has too many of them, and then comes
        // with a later batch. Only the latest are worth remembering.
        let slow_turns = &mut self.nodes[node].slow_turns;
        slow_turns.extend(computed.iter().filter(|it| !it.effects.is_empty()).cloned());
        let old = slow_turns.len().saturating_sub(MAX_DEFERRED_TURNS);
        slow_turns.drain(..old);
        self.nodes[node].turns.insert(batch, computed);
        turns
    }

    fn run_jobs(&mut self, node: usize, batch: u64, jobs: Vec<Job>) -> Vec<Option<TurnResult>> {
        let mut turns = Vec::new();
        for (number, job) in jobs.into_iter().enumerate() {
            let may = !self.faults_stopped
                && !self.setup.serial
                && self.setup.has_fault(FaultFamily::SlowTurn);
            if may && self.rng.permyriad(self.setup.fault_rate) {
                self.counts.count(CountGroup::Fault, FaultFamily::SlowTurn.name());
                let ready_at = self.logical_time + 20 + self.rng.below(200) as u64;
                let stage = CallStage::Computing(batch, number, Box::new(job));
                self.nodes[node].calls_in_flight.push(StoreCall { ready_at, stage });
                turns.push(None);
            } else {
                turns.push(Some(job.run()));
            }
        }
        turns
    }

    fn requeue(&mut self, node: usize, output: Output) {
        let ready_at = self.logical_time + 1 + self.call_delay();
        self.nodes[node]
            .calls_in_flight
            .push(StoreCall { ready_at, stage: CallStage::Sent(output) });
    }

    /// Draws the outcome of a call.
    fn decide_outcome(&mut self, node: usize, kind: &'static str, is_commit: bool) -> CallOutcome {
        if self.faults_stopped {
            return CallOutcome::Done;
        }
        if self.is_partitioned(node) {
            return CallOutcome::Refused(Error::Unavailable("cut off".to_owned()));
        }
        if is_commit && self.logical_time < self.store_full_until {
            return CallOutcome::Refused(Error::Full);
        }
        if self.logical_time < self.partial_failure_until && self.failing_calls.contains(&kind) {
            self.counts.count(CountGroup::Fault, FaultFamily::PartialFailure.name());
            return CallOutcome::Refused(Error::Unavailable("torn".to_owned()));
        }
        if !self.rng.permyriad(self.setup.fault_rate) {
            return CallOutcome::Done;
        }
        let mut can: Vec<FaultFamily> = vec![FaultFamily::ErrorBefore];
        if is_commit {
            can.extend([
                FaultFamily::ErrorAfter,
                FaultFamily::LostCommit,
                FaultFamily::Failed,
                FaultFamily::Full,
            ]);
        }
        let fault = self.rng.pick(&can);
        if !self.setup.has_fault(fault) {
            return CallOutcome::Done;
        }
        self.counts.count(CountGroup::Fault, fault.name());
        self.trace(|| format!("  fault: {} at {kind}", fault.name()));
        match fault {
            FaultFamily::ErrorAfter => CallOutcome::AnswerLost,
            FaultFamily::LostCommit => CallOutcome::CallLost,
            FaultFamily::Failed => CallOutcome::Broken(self.rng.percent(50)),
            FaultFamily::Full => {
                self.store_full_until = self.logical_time + self.rng.below(40) as u64;
                CallOutcome::Refused(Error::Full)
            }
            _ => CallOutcome::Refused(Error::Unavailable("simulated".to_owned())),
        }
    }

    /// Whether a call without partial outcomes fails.
    pub(super) fn call_fails(&mut self, node: usize, kind: &'static str) -> bool {
        matches!(self.decide_outcome(node, kind, false), CallOutcome::Refused(_))
    }

    fn commit_with_faults(
        &mut self,
        node: usize,
        batch: u64,
        fetched: Fetched,
        plan: Plan,
    ) -> Result<Vec<UnitResult>, Error> {
        let message = "simulated".to_owned();
        if self.nodes[node].lost_commit.is_some() {
            // A store with a commit of unknown outcome writes nothing more until the machine has
            // verified it.
            return Err(Error::Unavailable(message));
        }
        let store = self.nodes[node].store.clone();
        let computed = self.nodes[node].turns_of_batch(batch);
        match self.decide_outcome(node, "commit", true) {
            CallOutcome::Done => self.write_plan(&store, fetched, plan, computed),
            CallOutcome::Refused(error) => Err(error),
            CallOutcome::AnswerLost => {
                let results = self.write_plan(&store, fetched, plan, computed)?;
                Err(Error::Ambiguous { results, message })
            }
            CallOutcome::CallLost => {
                self.nodes[node].lost_commit = Some(plan.batch);
                let results = vec![UnitResult::Done(UnitDone::default()); plan.units.len()];
                Err(Error::Ambiguous { results, message })
            }
            CallOutcome::Broken(is_made) => {
                if is_made {
                    self.write_plan(&store, fetched, plan, computed)?;
                }
                Err(Error::Failed(message))
            }
        }
    }

    /// Commits a plan; some fences are made to conflict.
    pub(super) fn write_plan(
        &mut self,
        store: &Arc<dyn Store>,
        fetched: Fetched,
        mut plan: Plan,
        computed: Vec<ObservedTurn>,
    ) -> Result<Vec<UnitResult>, Error> {
        let missed = self.inject_conflicts(&mut plan);
        let mut results = block_on(store.commit(fetched, plan.clone()))?;
        for place in missed {
            results[place] = UnitResult::Conflict;
        }
        self.trace(|| format!("  committed {}", describe_commit(&plan, &results)));
        self.commit_log.record_commit(
            plan,
            &results,
            computed,
            &mut self.counts,
            &mut self.violations,
        );
        Ok(results)
    }

    fn inject_conflicts(&mut self, plan: &mut Plan) -> Vec<usize> {
        let mut missed = Vec::new();
        if self.faults_stopped || !self.setup.has_fault(FaultFamily::Conflict) {
            return missed;
        }
        for (place, unit) in plan.units.iter_mut().enumerate() {
            let has_fence = !matches!(unit.fence, Fence::Free);
            if has_fence && self.rng.permyriad(self.setup.fault_rate) {
                self.counts.count(CountGroup::Fault, FaultFamily::Conflict.name());
                *unit = Unit::default();
                missed.push(place);
            }
        }
        missed
    }

    /// An instance and its live descendants, up to the first that is not idle by itself.
    fn load_tree(&self, root: InstanceId) -> Vec<InstanceRow> {
        let mut rows = Vec::new();
        let mut next = vec![root];
        while let Some(id) = next.pop() {
            if let Some(row) = block_on(self.store.instance(id)).ok().flatten() {
                let is_idle = is_idle_by_itself(&row);
                rows.push(row);
                if !is_idle {
                    break;
                }
            }
            let children = block_on(self.store.children(id)).unwrap_or_default();
            next.extend(children.into_iter().map(|child| child.id));
        }
        rows
    }
}
