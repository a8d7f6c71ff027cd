//! A kernel machine driven by a test, which controls the store, the clock and crashes.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use meantime_core::{InstanceId, Source, Timestamp};
use meantime_kernel::clock::Now;
use meantime_kernel::command::{Command, Deployment, Error, LeaseToken, Reply, Report, Wait};
use meantime_kernel::machine::{Config, Counters, Input, Job, Machine, Notations, Output, Ticket};
use meantime_kernel::random::SeededEntropy;
use meantime_kernel::schedule::{SCHEDULE_NOTATION, ScheduleNotation, schedule_source};
use meantime_kernel::store::{DefinitionFilter, InstanceRow, Notice, Store, TaskRow};

use super::block_on;
use crate::probe::Probe;

/// The status of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum CallStatus {
    /// It was answered.
    Answered(Result<Reply, Error>),
    /// It took effect, and the process died before it could answer.
    Lost,
    /// There is no reply yet.
    Waiting,
}

/// Which turns leave their batch because they take long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SlowTurns {
    /// No turn does.
    #[default]
    None,
    /// All turns do, and are finished when nothing else is left to do.
    All,
    /// All turns do, and are not finished.
    Held,
    /// Turns that were held before stay held; no further turn leaves its batch.
    Before,
}

/// A kernel without a driver: a test moves its clock and executes its outputs.
pub struct SimKernel {
    /// The store, which outlives every crash.
    pub store: Arc<dyn Store>,
    /// Engine tasks that the current process has dispatched.
    pub dispatched: Vec<TaskRow>,
    machine: Machine,
    config: Config,
    notations: Notations,
    now: Now,
    epoch: u32,
    next_ticket: u64,
    waiting: BTreeMap<Ticket, (Command, Wait)>,
    answers: BTreeMap<Ticket, CallStatus>,
    commits: u64,
    answered_after: BTreeMap<Ticket, u64>,
    crash_after_commit: Option<u64>,
    crashes: u64,
    /// Those of them that [`Self::crash_after`] asked for.
    injected_crashes: u64,
    commit_ms: i64,
    slow_turns: SlowTurns,
    after_commit: Option<(u64, Vec<Command>)>,
    computing: VecDeque<(u64, usize, Job)>,
    /// Notifications from other nodes that share the store.
    received_notices: Arc<Mutex<Vec<Notice>>>,
}

impl SimKernel {
    /// A kernel on a store, at an instant.
    pub fn new(
        store: Arc<dyn Store>,
        notations: Notations,
        config: Config,
        start: Timestamp,
    ) -> Self {
        let notations = notations.with(SCHEDULE_NOTATION, Arc::new(ScheduleNotation));
        let config = Config { shared_store: store.is_shared(), ..config };
        let entropy = Box::new(SeededEntropy::new(1));
        let machine = Machine::new(config.clone(), notations.clone(), entropy);
        let mut sim = Self {
            store,
            dispatched: Vec::new(),
            machine,
            config,
            notations,
            now: Now::at(start),
            epoch: 0,
            next_ticket: 1,
            waiting: BTreeMap::new(),
            answers: BTreeMap::new(),
            commits: 0,
            answered_after: BTreeMap::new(),
            crash_after_commit: None,
            crashes: 0,
            injected_crashes: 0,
            commit_ms: 0,
            slow_turns: SlowTurns::None,
            after_commit: None,
            computing: VecDeque::new(),
            received_notices: Arc::default(),
        };
        sim.listen();
        sim.recover();
        sim.run();
        // Every kernel deploys the schedule definition when it starts.
        sim.deploy(SCHEDULE_NOTATION, schedule_source());
        sim.commits = 0;
        sim
    }

    /// A kernel with probes, at the start of 2026.
    pub fn with_probes(store: Arc<dyn Store>, probes: &str) -> Self {
        let notations = Notations::default().with("probe", Arc::new(Probe));
        let now = Timestamp::parse("2026-01-01T00:00:00Z").unwrap_or_default();
        let mut sim = Self::new(store, notations, Config::default(), now);
        let (name, text) = ("probes".to_owned(), probes.into());
        sim.deploy("probe", Source { name, text, files: Vec::new() });
        sim
    }

    /// Compiles and deploys a source that is known to be good.
    pub fn deploy(&mut self, notation: &str, source: Source) -> CallStatus {
        let compiled = self.notations.compile(notation, &source, &self.config.limits);
        let definitions = compiled.into_iter().flat_map(|it| it.definitions).map(Arc::new);
        let (notation, definitions) = (notation.to_owned(), definitions.collect());
        self.call(Command::Deploy(Deployment { notation, source, definitions }), Wait::Quiet).1
    }

    /// Crashes once, right after the given commit.
    #[must_use]
    pub fn crash_after(mut self, commit: Option<u64>) -> Self {
        self.crash_after_commit = commit;
        self
    }

    /// Lets every commit take some time.
    #[must_use]
    pub fn with_commit_latency(mut self, ms: i64) -> Self {
        self.commit_ms = ms;
        self
    }

    /// Whether turns take so long that their batch does not wait for them.
    #[must_use]
    pub fn with_slow_turns(mut self, slow_turns: SlowTurns) -> Self {
        self.slow_turns = slow_turns;
        self
    }

    /// Changes this setting. Held turns are finished as soon as the setting holds none.
    pub fn set_slow_turns(&mut self, slow_turns: SlowTurns) {
        self.slow_turns = slow_turns;
    }

    /// Commits so far.
    pub fn commits(&self) -> u64 {
        self.commits
    }

    /// The number of commits at the time when a command was answered.
    pub fn answered_after(&self, ticket: Ticket) -> Option<u64> {
        self.answered_after.get(&ticket).copied()
    }

    /// The current engine and real time.
    pub fn now(&self) -> Now {
        self.now
    }

    /// The counters of the current process.
    pub fn counters(&self) -> Counters {
        self.machine.counters()
    }

    /// Gives a command and runs the machine until it is idle.
    pub fn call(&mut self, command: Command, wait: Wait) -> (Ticket, CallStatus) {
        let ticket = Ticket(self.next_ticket);
        self.next_ticket += 1;
        self.send(ticket, command, wait);
        self.run();
        (ticket, self.call_status(ticket))
    }

    /// Gives several commands at the same instant, then runs the machine.
    pub fn call_all(&mut self, commands: Vec<Command>) -> Vec<CallStatus> {
        let first = self.next_ticket;
        for command in commands {
            self.send(Ticket(self.next_ticket), command, Wait::Quiet);
            self.next_ticket += 1;
        }
        self.run();
        (first..self.next_ticket).map(|number| self.call_status(Ticket(number))).collect()
    }

    /// Gives commands right after the next commit, before anything that follows it, and returns
    /// their tickets.
    pub fn send_after_commit(&mut self, commands: Vec<Command>) -> Vec<Ticket> {
        let first = self.next_ticket;
        self.next_ticket += commands.len() as u64;
        self.after_commit = Some((first, commands));
        (first..self.next_ticket).map(Ticket).collect()
    }

    /// Reports the result of an engine task that was dispatched.
    pub fn report_engine_task(&mut self, task: &TaskRow, report: Report) {
        let token = LeaseToken { epoch: self.epoch, claims: task.claims };
        self.machine.handle(self.now, Input::Report(task.id, token, report));
        self.run();
    }

    /// The earliest instants at which the machine has work, in engine time and in real time.
    pub fn next_wakeup(&self) -> (Option<Timestamp>, Option<Timestamp>) {
        self.machine.next_wakeup()
    }

    /// The current status of a command.
    pub fn call_status(&self, ticket: Ticket) -> CallStatus {
        self.answers.get(&ticket).cloned().unwrap_or(CallStatus::Waiting)
    }

    /// Moves both clocks to an instant, stopping at every due time in between.
    pub fn advance_to(&mut self, target: Timestamp) {
        loop {
            let (engine, real) = self.machine.next_wakeup();
            // Real time moves by the same distance as engine time, so a real-time wake-up is
            // converted.
            let ahead = self.now.engine.saturating_since(self.now.real);
            let real = real.map(|at| at.saturating_add_millis(ahead));
            let next = [engine, real].into_iter().flatten().min();
            let to = next.filter(|at| *at <= target).unwrap_or(target).max(self.now.engine);
            let step = to.saturating_since(self.now.engine);
            self.now.engine = to;
            self.now.real = self.now.real.saturating_add_millis(step);
            self.machine.handle(self.now, Input::Tick);
            self.run();
            if to >= target && next.is_none_or(|at| at > target || step == 0) {
                return;
            }
        }
    }

    /// Moves only real time: leases expire, timers do not fire.
    pub fn advance_real(&mut self, ms: i64) {
        self.now.real = self.now.real.saturating_add_millis(ms);
        self.machine.handle(self.now, Input::Tick);
        self.run();
    }

    /// Sets the system clock, forwards or back (T13).
    pub fn set_clock(&mut self, instant: Timestamp) {
        self.now = Now::at(instant);
        self.machine.handle(self.now, Input::Tick);
        self.run();
    }

    /// Sets the clock without a tick: the machine sees it with its next input.
    pub fn set_clock_silently(&mut self, instant: Timestamp) {
        self.now = Now::at(instant);
    }

    /// How many crashes there were that [`Self::crash_after`] asked for.
    pub fn injected_crashes(&self) -> u64 {
        self.injected_crashes
    }

    /// Crashes; another process takes over the store at a later instant.
    pub fn stop_until(&mut self, instant: Timestamp) {
        self.now = Now::at(instant);
        self.crash();
        self.run();
    }

    /// Crashes; another process takes over the store.
    pub fn crash(&mut self) {
        self.crashes += 1;
        let lost: Vec<Ticket> = self.waiting.keys().copied().collect();
        let unsent: Vec<Ticket> =
            lost.iter().copied().filter(|ticket| self.machine.has_pending(*ticket)).collect();
        let entropy = Box::new(SeededEntropy::new(1 + self.crashes));
        self.machine = Machine::new(self.config.clone(), self.notations.clone(), entropy);
        self.dispatched.clear();
        self.computing.clear();
        self.recover();
        for ticket in lost {
            // A command that had not reached a commit is sent again, as a client would do.
            match self.waiting.get(&ticket).cloned().filter(|_| unsent.contains(&ticket)) {
                Some((command, wait)) => self.send(ticket, command, wait),
                None => {
                    self.waiting.remove(&ticket);
                    self.answers.insert(ticket, CallStatus::Lost);
                }
            }
        }
    }

    /// Runs until the machine waits for time or for input.
    pub fn run(&mut self) {
        loop {
            while let Some(output) = self.machine.poll() {
                self.perform(output);
            }
            let come_through = matches!(self.slow_turns, SlowTurns::None | SlowTurns::All);
            if come_through && !self.computing.is_empty() {
                // All at the same instant, so that turns that would have shared a batch still do.
                for (batch, number, job) in std::mem::take(&mut self.computing) {
                    let input = Input::SlowTurn(batch, number, job.run());
                    self.machine.handle(self.now, input);
                }
                continue;
            }
            let received_notices = std::mem::take(&mut *self.received_notices());
            if received_notices.is_empty() {
                return;
            }
            self.machine.handle(self.now, Input::Notices(received_notices));
        }
    }

    /// Renews the node lease, as a node that shares its store does every few seconds.
    pub fn renew_lease(&mut self) {
        // On an error the machine gets no new membership and stops when its lease expires.
        if let Ok(membership) = block_on(self.store.renew_lease(self.now.real)) {
            let until = membership.lasts_ms.map(|ms| self.now.real.saturating_add_millis(ms));
            self.machine.handle(self.now, Input::Membership(membership, until));
        }
        self.run();
    }

    /// Discards notifications from other nodes.
    pub fn drop_notices(&mut self) {
        self.received_notices().clear();
    }

    fn listen(&self) {
        let received_notices = self.received_notices.clone();
        self.store.listen(Arc::new(move |notices| {
            received_notices.lock().unwrap_or_else(PoisonError::into_inner).extend(notices);
        }));
    }

    fn received_notices(&self) -> std::sync::MutexGuard<'_, Vec<Notice>> {
        self.received_notices.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn send(&mut self, ticket: Ticket, command: Command, wait: Wait) {
        self.waiting.insert(ticket, (command.clone(), wait));
        self.machine.handle(self.now, Input::Command(ticket, Box::new(command), wait));
    }

    fn recover(&mut self) {
        let membership = block_on(self.store.renew_lease(self.now.real)).expect("there is a lease");
        let recovered =
            block_on(self.store.recover(membership.partition())).expect("the store recovers");
        let until = membership.lasts_ms.map(|ms| self.now.real.saturating_add_millis(ms));
        self.machine.handle(self.now, Input::Membership(membership, until));
        let definitions = block_on(self.store.definitions(DefinitionFilter::default()));
        let definitions = definitions.expect("the store has its definitions");
        self.epoch = recovered.epoch;
        self.machine.handle(self.now, Input::Recovered(recovered, definitions));
    }

    fn perform(&mut self, output: Output) {
        let store = self.store.clone();
        let input = match output {
            Output::Fetch(batch, request) => Input::Fetched(batch, block_on(store.fetch(request))),
            Output::Advance(batch, jobs)
                if matches!(self.slow_turns, SlowTurns::All | SlowTurns::Held) =>
            {
                let turns = jobs.iter().map(|_| None).collect();
                let jobs = jobs.into_iter().enumerate();
                self.computing.extend(jobs.map(|(number, job)| (batch, number, job)));
                Input::Advanced(batch, turns)
            }
            Output::Advance(batch, jobs) => {
                Input::Advanced(batch, jobs.iter().map(|job| Some(job.run())).collect())
            }
            Output::Drop(batch, number) => {
                self.computing.retain(|(it, job, _)| (*it, *job) != (batch, number));
                return;
            }
            Output::Commit(batch, fetched, plan) => {
                let results = block_on(store.commit(fetched, plan));
                self.committed(Input::Committed(batch, results));
                return;
            }
            Output::Verify { batch, commit, results } => {
                let took_effect = block_on(store.is_committed(commit)).unwrap_or(false);
                Input::Verified(batch, took_effect, results)
            }
            Output::LoadTimers(query) => Input::Timers(block_on(store.due_timers(query))),
            Output::LoadDefinitions => {
                let rows = block_on(store.definitions(DefinitionFilter::default()));
                Input::Definitions(rows.unwrap_or_default())
            }
            Output::Recover(partition) => {
                Input::Adopted(block_on(store.recover(partition)).expect("the store recovers"))
            }
            Output::Notify(notices) => {
                // Notifications are best effort.
                let _ = block_on(store.notify(notices));
                return;
            }
            Output::LoadDefinition(id) => {
                let row = block_on(store.definition(id)).ok().flatten();
                let limits = &self.config.limits;
                let loaded = row.as_ref().and_then(|row| self.notations.load(row, limits));
                Input::Definition(id, Box::new(loaded))
            }
            Output::LoadTree(id) => Input::Tree(id, self.load_tree(id)),
            Output::Reply(ticket, answer) => {
                self.waiting.remove(&ticket);
                self.answered_after.insert(ticket, self.commits);
                self.answers.insert(ticket, CallStatus::Answered(answer));
                return;
            }
            Output::Compact(request) => {
                // Compaction is best effort.
                let _ = block_on(store.compact(request));
                return;
            }
            Output::Dispatch(task) => {
                self.dispatched.push(*task);
                return;
            }
            Output::Damaged(..) | Output::TimedOut(_) => return,
            Output::Fatal(message) => panic!("the machine gave up: {message}"),
        };
        self.machine.handle(self.now, input);
    }

    fn committed(&mut self, answer: Input) {
        self.commits += 1;
        self.now.engine = self.now.engine.saturating_add_millis(self.commit_ms);
        self.now.real = self.now.real.saturating_add_millis(self.commit_ms);
        self.machine.handle(self.now, answer);
        if let Some((first, commands)) = self.after_commit.take() {
            for (ticket, command) in (first..).map(Ticket).zip(commands) {
                self.send(ticket, command, Wait::Quiet);
            }
        }
        // The machine has handled the answer of the commit, and the process crashes before its
        // outputs, such as replies, are performed.
        if self.crash_after_commit == Some(self.commits) {
            self.injected_crashes += 1;
            self.crash();
        }
    }

    fn load_tree(&self, root: InstanceId) -> Vec<InstanceRow> {
        let mut rows = Vec::new();
        let mut next = vec![root];
        while let Some(id) = next.pop() {
            rows.extend(block_on(self.store.instance(id)).ok().flatten());
            let children = block_on(self.store.children(id)).unwrap_or_default();
            next.extend(children.into_iter().map(|child| child.id));
        }
        rows
    }
}
