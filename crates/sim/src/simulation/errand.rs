//! Errands of machines: calls of the store, with everything that can go wrong on the way.

use std::sync::Arc;

use meantime_core::InstanceId;
use meantime_kernel::machine::{EFFECTS_PER_BATCH, Input, Job, Machine, Output, rests_by_itself};
use meantime_kernel::store::{
    DefinitionFilter, Error, Fence, Fetched, InstanceRow, Plan, Store, Unit, UnitDone, UnitResult,
};

use super::node::{Errand, What};
use super::run::Run;
use super::setup::Fault;
use super::story::{brief, brief_plan};
use super::tally::Group;
use crate::checker::TurnSeen;
use crate::harness::block_on;

type Turned = Result<meantime_core::Turn, meantime_core::Fault>;

/// What happens to one call.
enum Fate {
    /// It is made.
    Done,
    /// It fails, and nothing was done.
    Refused(Error),
    /// It is made, and the answer is lost.
    AnswerLost,
    /// It is not made, and nobody knows.
    CallLost,
    /// It fails in a way that only a restart can judge; whether it was made.
    Broken(bool),
}

impl Run {
    /// Asks a machine for everything it wants done.
    pub(super) fn poll(&mut self, node: usize) {
        const MANY: u32 = 50_000;
        self.nodes[node].is_restless = false;
        let mut wanted = 0;
        while let Some(output) = self.nodes[node].machine.as_mut().and_then(Machine::poll) {
            self.trace(|| format!("n{node} wants {}", brief(&output)));
            wanted += 1;
            if wanted > MANY {
                self.fail("eventually_everything_settles", "it wants more and more".to_owned());
                return;
            }
            match output {
                Output::Reply(ticket, answer) => self.answered(node, ticket, &answer),
                Output::Dispatch(task) => self.dispatched(node, *task),
                Output::Fatal(_) => self.nodes[node].gave_up = true,
                output if self.setup.serial => {
                    self.moment += 1;
                    let is_commit = matches!(output, Output::Commit(..));
                    let answer = self.perform(node, output);
                    if is_commit && self.may_crash() {
                        // It has taken effect, and nobody was told.
                        self.crash(node);
                        return;
                    }
                    if let Some(input) = answer {
                        self.nodes[node].tell(input);
                    }
                }
                output => {
                    let ready_at = self.moment + self.delay();
                    let errand = Errand { ready_at, what: What::Ask(output) };
                    self.nodes[node].errands.push(errand);
                }
            }
        }
    }

    /// Lets one errand of a node go on. Says whether there was one.
    pub(super) fn go_on(&mut self, node: usize) -> bool {
        let mut eligible = self.nodes[node].eligible(self.moment);
        if self.stands_still(node) {
            // What it has sent goes on without it.
            let errands = &self.nodes[node].errands;
            eligible.retain(|place| matches!(errands[*place].what, What::Ask(_)));
        }
        let Some(place) = self.chance.pick_any(&eligible).copied() else { return false };
        match self.nodes[node].errands.remove(place).what {
            What::Ask(output) => {
                if let Some(input) = self.perform(node, output) {
                    let ready_at = self.moment + self.delay();
                    let errand = Errand { ready_at, what: What::Told(input) };
                    self.nodes[node].errands.push(errand);
                }
            }
            What::Compute(batch, number, job) => {
                self.trace(|| format!("n{node} is through with job {number} of batch {batch}"));
                let turn = job.run();
                let computed = self.nodes[node].computed.take();
                self.nodes[node].slow_turns.extend(computed);
                self.nodes[node].tell(Input::SlowTurn(batch, number, turn));
                self.poll(node);
            }
            What::Told(input) => {
                self.nodes[node].tell(input);
                // Now and then more is told before the machine is asked.
                if self.is_quiet || self.chance.percent(85) {
                    self.poll(node);
                }
            }
        }
        true
    }

    /// How many moments an errand takes.
    fn delay(&mut self) -> u64 {
        if self.is_quiet {
            return 0;
        }
        if self.setup.has(Fault::Slow) && self.chance.permyriad(self.setup.fault_rate) {
            self.tally.count(Group::Fault, Fault::Slow.name());
            return 20 + self.chance.below(200) as u64;
        }
        self.chance.below(4) as u64
    }

    /// Makes a call of the store and gives back what the machine is to be told.
    fn perform(&mut self, node: usize, output: Output) -> Option<Input> {
        let store = self.nodes[node].store.clone();
        Some(match output {
            Output::Fetch(batch, request) => match self.fate(node, "take", false) {
                Fate::Refused(error) => Input::Fetched(batch, Err(error)),
                _ => Input::Fetched(batch, block_on(store.fetch(request))),
            },
            Output::Advance(batch, jobs) => {
                let turns = self.compute(node, batch, jobs);
                let computed = self.nodes[node].computed.take();
                // Of many effects some are put off: their turns come with a later batch.
                let effects = computed.iter().map(|it| it.effects.len()).sum::<usize>();
                if effects > EFFECTS_PER_BATCH {
                    self.nodes[node].slow_turns.extend(computed.iter().cloned());
                }
                self.nodes[node].turns.insert(batch, computed);
                Input::Advanced(batch, turns)
            }
            Output::Drop(batch, number) => {
                let is_it = |errand: &Errand| match &errand.what {
                    What::Compute(it, job, _) => (*it, *job) == (batch, number),
                    _ => false,
                };
                self.nodes[node].errands.retain(|errand| !is_it(errand));
                return None;
            }
            Output::Commit(batch, taken, plan) => {
                Input::Committed(batch, self.commit(node, batch, taken, plan))
            }
            Output::Verify { batch, commit, results } => {
                if let Fate::Refused(_) = self.fate(node, "verify", false) {
                    self.later(node, Output::Verify { batch, commit, results });
                    return None;
                }
                let took_effect = block_on(store.is_committed(commit)).unwrap_or(false);
                self.nodes[node].lost_commit.take_if(|lost| *lost <= commit);
                Input::Verified(batch, took_effect, results)
            }
            Output::LoadTimers(query) => match self.fate(node, "timers", false) {
                Fate::Refused(error) => Input::Timers(Err(error)),
                _ => Input::Timers(block_on(store.due_timers(query))),
            },
            Output::LoadDefinition(id) => {
                if let Fate::Refused(_) = self.fate(node, "definition", false) {
                    self.later(node, Output::LoadDefinition(id));
                    return None;
                }
                let row = block_on(store.definition(id)).ok().flatten();
                let limits = &self.setup.config.limits;
                let notations = &self.nodes[node].notations;
                let loaded = row.as_ref().and_then(|row| notations.load(row, limits));
                Input::Definition(id, Box::new(loaded))
            }
            Output::LoadDefinitions => {
                let rows = block_on(store.definitions(DefinitionFilter::default()));
                Input::Definitions(rows.unwrap_or_default())
            }
            Output::Recover(partition) => {
                if let Fate::Refused(_) = self.fate(node, "recover", false) {
                    self.later(node, Output::Recover(partition));
                    return None;
                }
                Input::Adopted(block_on(store.recover(partition)).expect("the store can be read"))
            }
            Output::Notify(notices) => {
                // Nobody waits for it.
                let _ = block_on(store.notify(notices));
                return None;
            }
            Output::LoadTree(id) => Input::Tree(id, self.tree(id)),
            Output::Compact(request) => {
                if !matches!(self.fate(node, "compact", false), Fate::Refused(_)) {
                    // Nobody waits for it and nothing depends on it.
                    let _ = block_on(store.compact(request));
                    self.tally.count(Group::Operation, "compact");
                }
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

    /// Computes turns; some of them take long, and their batch does not wait.
    fn compute(&mut self, node: usize, batch: u64, jobs: Vec<Job>) -> Vec<Option<Turned>> {
        let mut turns = Vec::new();
        for (number, job) in jobs.into_iter().enumerate() {
            let may = !self.is_quiet && !self.setup.serial && self.setup.has(Fault::SlowTurn);
            if may && self.chance.permyriad(self.setup.fault_rate) {
                self.tally.count(Group::Fault, Fault::SlowTurn.name());
                let ready_at = self.moment + 20 + self.chance.below(200) as u64;
                let what = What::Compute(batch, number, Box::new(job));
                self.nodes[node].errands.push(Errand { ready_at, what });
                turns.push(None);
            } else {
                turns.push(Some(job.run()));
            }
        }
        turns
    }

    fn later(&mut self, node: usize, output: Output) {
        let ready_at = self.moment + 1 + self.delay();
        self.nodes[node].errands.push(Errand { ready_at, what: What::Ask(output) });
    }

    /// Decides what happens to a call.
    fn fate(&mut self, node: usize, kind: &'static str, is_commit: bool) -> Fate {
        if self.is_quiet {
            return Fate::Done;
        }
        if self.is_cut_off(node) {
            return Fate::Refused(Error::Unavailable("cut off".to_owned()));
        }
        if is_commit && self.moment < self.full_until {
            return Fate::Refused(Error::Full);
        }
        if self.moment < self.torn_until && self.torn.contains(&kind) {
            self.tally.count(Group::Fault, Fault::Torn.name());
            return Fate::Refused(Error::Unavailable("torn".to_owned()));
        }
        if !self.chance.permyriad(self.setup.fault_rate) {
            return Fate::Done;
        }
        let mut can: Vec<Fault> = vec![Fault::ErrorBefore];
        if is_commit {
            can.extend([Fault::ErrorAfter, Fault::LostCommit, Fault::Failed, Fault::Full]);
        }
        let fault = self.chance.pick(&can);
        if !self.setup.has(fault) {
            return Fate::Done;
        }
        self.tally.count(Group::Fault, fault.name());
        self.trace(|| format!("  fault: {} at {kind}", fault.name()));
        match fault {
            Fault::ErrorAfter => Fate::AnswerLost,
            Fault::LostCommit => Fate::CallLost,
            Fault::Failed => Fate::Broken(self.chance.percent(50)),
            Fault::Full => {
                self.full_until = self.moment + self.chance.below(40) as u64;
                Fate::Refused(Error::Full)
            }
            _ => Fate::Refused(Error::Unavailable("simulated".to_owned())),
        }
    }

    /// Whether a call that is only made or not made fails.
    pub(super) fn fails(&mut self, node: usize, kind: &'static str) -> bool {
        matches!(self.fate(node, kind, false), Fate::Refused(_))
    }

    fn commit(
        &mut self,
        node: usize,
        batch: u64,
        taken: Fetched,
        plan: Plan,
    ) -> Result<Vec<UnitResult>, Error> {
        let message = "simulated".to_owned();
        if self.nodes[node].lost_commit.is_some() {
            // A store that lost a commit writes nothing more until somebody has asked for it.
            return Err(Error::Unavailable(message));
        }
        let store = self.nodes[node].store.clone();
        let computed = self.nodes[node].computed_by(batch);
        match self.fate(node, "commit", true) {
            Fate::Done => self.write(&store, taken, plan, computed),
            Fate::Refused(error) => Err(error),
            Fate::AnswerLost => {
                let results = self.write(&store, taken, plan, computed)?;
                Err(Error::Ambiguous { results, message })
            }
            Fate::CallLost => {
                self.nodes[node].lost_commit = Some(plan.batch);
                let results = vec![UnitResult::Done(UnitDone::default()); plan.units.len()];
                Err(Error::Ambiguous { results, message })
            }
            Fate::Broken(is_made) => {
                if is_made {
                    self.write(&store, taken, plan, computed)?;
                }
                Err(Error::Failed(message))
            }
        }
    }

    /// The commit itself, with a fence or two that does not hold.
    pub(super) fn write(
        &mut self,
        store: &Arc<dyn Store>,
        taken: Fetched,
        mut plan: Plan,
        computed: Vec<TurnSeen>,
    ) -> Result<Vec<UnitResult>, Error> {
        let missed = self.miss_fences(&mut plan);
        let mut results = block_on(store.commit(taken, plan.clone()))?;
        for place in missed {
            results[place] = UnitResult::Conflict;
        }
        self.trace(|| format!("  committed {}", brief_plan(&plan, &results)));
        self.journal.committed(plan, &results, computed, &mut self.tally, &mut self.found);
        Ok(results)
    }

    fn miss_fences(&mut self, plan: &mut Plan) -> Vec<usize> {
        let mut missed = Vec::new();
        if self.is_quiet || !self.setup.has(Fault::Conflict) {
            return missed;
        }
        for (place, unit) in plan.units.iter_mut().enumerate() {
            let has_fence = !matches!(unit.fence, Fence::Free);
            if has_fence && self.chance.permyriad(self.setup.fault_rate) {
                self.tally.count(Group::Fault, Fault::Conflict.name());
                *unit = Unit::default();
                missed.push(place);
            }
        }
        missed
    }

    /// An instance and its live descendants, up to the first that does not rest by itself.
    fn tree(&self, root: InstanceId) -> Vec<InstanceRow> {
        let mut rows = Vec::new();
        let mut next = vec![root];
        while let Some(id) = next.pop() {
            if let Some(row) = block_on(self.store.instance(id)).ok().flatten() {
                let rests = rests_by_itself(&row);
                rows.push(row);
                if !rests {
                    break;
                }
            }
            let children = block_on(self.store.children(id)).unwrap_or_default();
            next.extend(children.into_iter().map(|child| child.id));
        }
        rows
    }
}
