//! One simulation: the kernel on the in-memory store, moved from instant to instant.
//!
//! The clock never moves while something can still happen at the current instant. Then it moves to
//! the next timer or the next answer of a stub, whichever is earlier; answers come after the timers
//! of the same instant.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use meantime_core::{
    Channel, Definition, DefinitionId, EffectKey, InstanceId, Json, Keep, Message, Notation,
    Retention, SCHEDULE_DEFINITION, Severity, Source, SplitMix64, TaskId, TaskKind, Timestamp,
    WaitingKind,
};
use meantime_kernel::clock::VirtualClock;
use meantime_kernel::command::{ClaimCommand, Command, LeaseToken, Reply, StartCommand, Wait};
use meantime_kernel::driver::{Builder, DeployError, Kernel};
use meantime_kernel::history::Record;
use meantime_kernel::machine::Notations;
use meantime_kernel::open::Key;
use meantime_kernel::random::SeededEntropy;
use meantime_kernel::store::{
    DefinitionFilter, InstanceFilter, InstanceRow, MemoryStore, Page, Partition, Phase, Store,
    TaskRow, TaskState, TimerFilter,
};
use serde::Serialize;

use crate::stub::{Stub, Stubs};
use crate::stub_match::{call_target, report_of, stub_of};
use crate::trace::{Known, TraceEvent};

/// The most things that happen in one simulation.
const MAX_STEPS: usize = 1_000_000;

/// Rows of history that are read at a time.
const PAGE_ROWS: usize = 1_000;

/// The most timers that fire at one instant.
const MAX_FIRINGS: u64 = 100_000;

/// How long the stubs lease tasks, in real time. A simulation ends long before.
const LEASE_MS: u64 = 3_600_000;

/// The type of an engine task that this crate cannot perform without a stub.
const UNSUPPORTED_TASK: &str = "simulation_unsupported";

/// What to simulate.
#[derive(Clone)]
pub struct SimulationSpec {
    /// The notations.
    pub notations: Notations,
    /// The definitions, each with its notation.
    pub sources: Vec<(String, Source)>,
    /// The definition to start; the only one of the sources if none is named.
    pub definition: Option<String>,
    /// The input. Without one, [`crate::simulate`] leaves definitions with a schedule to it.
    pub input: Option<Json>,
    /// The business key.
    pub key: Option<String>,
    /// When it starts.
    pub from: Timestamp,
    /// What others do.
    pub stubs: Stubs,
    /// The seed of all random choices.
    pub seed: u64,
    /// Which alternative of each stub with `oneOf` answers, in the order of their use; the first
    /// one where this list ends.
    pub choices: Vec<usize>,
}

/// A choice between alternatives that was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Choice {
    /// The stub.
    pub stub: String,
    /// The chosen alternative.
    pub outcome: String,
    /// Its number.
    #[serde(skip)]
    pub index: usize,
    /// How many there were.
    #[serde(skip)]
    pub of: usize,
}

/// Why a simulation cannot run.
#[derive(Debug, thiserror::Error)]
pub enum SimulationError {
    /// A definition has errors.
    #[error("{file} has errors")]
    Diagnostics {
        /// The file.
        file: String,
        /// What is wrong.
        diagnostics: Vec<meantime_core::Diagnostic>,
    },
    /// The sources have several definitions, and none was named.
    #[error("there are several definitions: name one of {}", .0.join(", "))]
    Ambiguous(Vec<String>),
    /// Too much happened.
    #[error("more than {MAX_STEPS} things happened until {0}: choose an earlier end")]
    TooLong(Timestamp),
    /// The engine refused something.
    #[error(transparent)]
    Kernel(#[from] meantime_kernel::command::Error),
    /// The in-memory store failed.
    #[error(transparent)]
    Store(#[from] meantime_kernel::store::Error),
}

/// Why a run stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum SimulationEnd {
    /// Nothing will happen any more by itself.
    Quiet,
    /// The end of the simulated time was reached.
    Horizon,
}

/// Something that a stub will do.
#[derive(Debug)]
enum Pending {
    /// A task is reported.
    Report { task: TaskId, token: Option<LeaseToken>, report: meantime_kernel::command::Report },
    /// A signal, message or submission arrives.
    Send(Box<Command>),
    /// A task can be claimed again.
    Look(InstanceId),
}

/// A task or wait that was looked at, so that its stub is used once.
type Seen = (InstanceId, u8, String);

/// A task that somebody was asked to do.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    /// `task`, `http` or `person`.
    pub(crate) kind: &'static str,
    pub(crate) name: String,
    pub(crate) element: String,
    pub(crate) instance: String,
    pub(crate) input: Json,
}

/// A definition that runs.
pub(crate) struct Loaded {
    pub(crate) name: String,
    pub(crate) notation: Arc<dyn Notation>,
    pub(crate) definition: Arc<Definition>,
}

/// A simulation that can be moved step by step.
pub struct Simulation {
    kernel: Kernel,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) spec: SimulationSpec,
    definitions: BTreeMap<DefinitionId, Loaded>,
    epoch: u32,
    /// The newest row of history that was read.
    read: u64,
    pending: BTreeMap<(Timestamp, u64), Pending>,
    numbers: u64,
    seen: BTreeSet<Seen>,
    /// How often each stub was used.
    uses: BTreeMap<String, usize>,
    pub(crate) unanswered: BTreeSet<String>,
    randomness: SplitMix64,
    pub(crate) choices: Vec<Choice>,
    pub(crate) labels: Labels,
    pub(crate) trace: Vec<TraceEvent>,
    pub(crate) calls: Vec<Call>,
    steps: usize,
}

/// Names for instances and effects.
#[derive(Default)]
pub(crate) struct Labels {
    /// In the order of their start.
    pub(crate) instances: Vec<InstanceId>,
    pub(crate) names: BTreeMap<InstanceId, String>,
    counts: BTreeMap<String, usize>,
    /// Element and name of timers, tasks and children.
    effects: BTreeMap<EffectKey, (String, String)>,
}

impl Known for Labels {
    fn effect(&self, key: EffectKey) -> Option<(String, String)> {
        self.effects.get(&key).cloned()
    }
}

impl Labels {
    pub(crate) fn of(&self, instance: InstanceId) -> String {
        self.names.get(&instance).cloned().unwrap_or_else(|| instance.to_string())
    }

    fn add(&mut self, instance: InstanceId, definition: &str) {
        if self.names.contains_key(&instance) {
            return;
        }
        let count = self.counts.entry(definition.to_owned()).or_default();
        *count += 1;
        let many = *count > 1;
        let name = if many { format!("{definition}#{count}") } else { definition.to_owned() };
        self.names.insert(instance, name);
        self.instances.push(instance);
    }

    fn learn_effects(&mut self, record: &Record) {
        let (key, element, name) = match record {
            Record::TimerArmed { key, element, .. } => (key, element.clone(), String::new()),
            Record::TaskScheduled { key, name } => (key, String::new(), name.clone()),
            Record::ChildStarted { key, definition } => (key, String::new(), definition.clone()),
            _ => return,
        };
        let known = self.effects.entry(*key).or_default();
        if known.0.is_empty() {
            known.0 = element;
        }
        if known.1.is_empty() {
            known.1 = name;
        }
    }
}

impl Simulation {
    /// Starts an engine and deploys the definitions. Nothing is started yet. Needs a tokio runtime.
    pub async fn new(spec: SimulationSpec) -> Result<Self, SimulationError> {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let epoch = store.recover(Partition::ALL).await?.epoch;
        let clock = Arc::new(VirtualClock::new(spec.from));
        // Everything stays until the end: reports are made from it.
        let keep = Keep::Forever;
        let retention =
            Retention { completed: keep, failed: keep, cancelled: keep, ..Retention::default() };
        // Without a runner of engine tasks their stubs answer.
        let builder = Builder::new(store.clone(), spec.notations.clone());
        let builder = builder.virtual_clock(clock).retention(retention);
        let kernel = builder.entropy(Box::new(SeededEntropy::new(spec.seed))).start().await?;
        let randomness = SplitMix64::new(spec.seed ^ 0x5EED);
        let simulation = Self {
            kernel,
            store,
            spec,
            definitions: BTreeMap::new(),
            epoch,
            read: 0,
            pending: BTreeMap::new(),
            numbers: 0,
            seen: BTreeSet::new(),
            uses: BTreeMap::new(),
            unanswered: BTreeSet::new(),
            randomness,
            choices: Vec::new(),
            labels: Labels::default(),
            trace: Vec::new(),
            calls: Vec::new(),
            steps: 0,
        };
        for (notation, source) in &simulation.spec.sources {
            let deployed = simulation.kernel.deploy(notation, source.clone()).await;
            deployed.map_err(|error| match error {
                DeployError::Kernel(error) => SimulationError::Kernel(error),
                DeployError::Diagnostics(diagnostics) => {
                    let errors = |it: &meantime_core::Diagnostic| it.severity == Severity::Error;
                    let diagnostics = diagnostics.into_iter().filter(errors).collect();
                    SimulationError::Diagnostics { file: source.name.clone(), diagnostics }
                }
            })?;
        }
        Ok(simulation)
    }

    /// The current instant.
    pub fn now(&self) -> Timestamp {
        self.kernel.now().engine
    }

    /// What happened so far.
    pub fn trace(&self) -> &[TraceEvent] {
        &self.trace
    }

    pub(crate) fn calls(&self) -> &[Call] {
        &self.calls
    }

    /// The name of the definition to start.
    async fn definition_name(&self) -> Result<String, SimulationError> {
        if let Some(name) = &self.spec.definition {
            return Ok(name.clone());
        }
        let rows = self.store.definitions(DefinitionFilter::default());
        let own = |notation: &String| self.spec.sources.iter().any(|(it, _)| it == notation);
        let rows = rows.await?.into_iter().filter(|row| own(&row.notation));
        let mut names: Vec<String> = rows.map(|row| row.name).collect();
        names.sort();
        names.dedup();
        match names.as_slice() {
            [name] => Ok(name.clone()),
            _ => Err(SimulationError::Ambiguous(names)),
        }
    }

    /// Whether the start of an instance was asked for.
    pub(crate) fn spec_starts(&self) -> bool {
        self.spec.input.is_some()
    }

    /// Whether a definition starts its instances itself, by a schedule.
    pub async fn has_schedule(&self) -> Result<bool, SimulationError> {
        let filter = DefinitionFilter {
            name: Some(SCHEDULE_DEFINITION.to_owned()),
            ..DefinitionFilter::default()
        };
        let built_in = self.store.definitions(filter).await?;
        let definitions = built_in.iter().map(|row| row.id).collect();
        let filter = InstanceFilter { definitions, ..InstanceFilter::default() };
        Ok(!self.store.instances(filter, Page::first(1)).await?.is_empty())
    }

    /// Starts an instance; returns it.
    pub async fn start(&mut self) -> Result<InstanceId, SimulationError> {
        let definition = self.definition_name().await?;
        let input = self.spec.input.clone().unwrap_or_default();
        let key = self.spec.key.clone();
        let start = StartCommand { definition, input, key, ..StartCommand::default() };
        let reply = self.kernel.call_and_wait(Command::Start(start), Wait::Quiet, None).await?;
        let Reply::Started { instance, .. } = reply else {
            return Err(meantime_kernel::command::Error::Invalid("no start".to_owned()).into());
        };
        self.finish_instant().await?;
        Ok(instance)
    }

    /// Executes a command at the current instant.
    pub(crate) async fn call(&mut self, command: Command) -> Result<Reply, SimulationError> {
        let reply = self.kernel.call(command).await?;
        self.finish_instant().await?;
        Ok(reply)
    }

    /// Runs until nothing happens by itself any more, or until an instant.
    pub async fn run_until(&mut self, until: Timestamp) -> Result<SimulationEnd, SimulationError> {
        loop {
            self.settle().await?;
            self.steps += 1;
            if self.steps > MAX_STEPS {
                return Err(SimulationError::TooLong(self.now()));
            }
            let now = self.now();
            if let Some(entry) = self.pending.first_entry()
                && entry.key().0 <= now
            {
                let pending = entry.remove();
                self.perform(pending).await?;
                continue;
            }
            let answer = self.pending.keys().next().map(|(at, _)| *at);
            let timer = self.next_timer().await?;
            match [answer, timer].into_iter().flatten().min() {
                Some(next) if next <= until => self.advance(next).await?,
                Some(_) => {
                    self.advance(until).await?;
                    return Ok(SimulationEnd::Horizon);
                }
                None => return Ok(SimulationEnd::Quiet),
            }
        }
    }

    /// Lets everything happen that takes no time, answers of stubs included.
    async fn finish_instant(&mut self) -> Result<(), SimulationError> {
        let now = self.now();
        self.run_until(now).await.map(drop)
    }

    /// Like [`Self::run_until`], and the clock stands at the instant at the end.
    pub async fn advance_to(&mut self, until: Timestamp) -> Result<(), SimulationError> {
        if self.run_until(until).await? == SimulationEnd::Quiet {
            self.advance(until).await?;
        }
        self.settle().await
    }

    /// When the next timer is due.
    async fn next_timer(&self) -> Result<Option<Timestamp>, SimulationError> {
        let timers = self.store.timers(TimerFilter::default(), Page::first(1)).await?;
        // Frozen ones are last.
        Ok(timers.first().filter(|timer| !timer.frozen).map(|timer| timer.due_at))
    }

    async fn advance(&mut self, to: Timestamp) -> Result<(), SimulationError> {
        let to = to.max(self.now());
        self.kernel.advance(to, MAX_FIRINGS).await?;
        Ok(())
    }

    /// Waits until nothing happens at the current instant, and lets the stubs see what did.
    async fn settle(&mut self) -> Result<(), SimulationError> {
        loop {
            self.advance(self.now()).await?;
            let touched = self.read_history().await?;
            if touched.is_empty() {
                return Ok(());
            }
            let mut claimable = Vec::new();
            for instance in touched {
                claimable.extend(self.look_at(instance).await?);
            }
            self.claim(claimable).await?;
        }
    }

    /// Adds new history to the trace; returns the instances that it is about.
    async fn read_history(&mut self) -> Result<BTreeSet<InstanceId>, SimulationError> {
        let mut touched = BTreeSet::new();
        loop {
            let rows = self.store.history_since(self.read, PAGE_ROWS).await?;
            for row in &rows {
                self.read = row.seq;
                if !self.labels.names.contains_key(&row.instance) {
                    let Some(found) = self.store.instance(row.instance).await? else { continue };
                    let name = self.load(found.definition).await?.name.clone();
                    // A schedule shows by the runs that it starts.
                    if name == SCHEDULE_DEFINITION {
                        continue;
                    }
                    self.labels.add(row.instance, &name);
                }
                touched.insert(row.instance);
                for record in &row.records {
                    self.labels.learn_effects(record);
                    let Some(event) = TraceEvent::of(record, &self.labels) else { continue };
                    let instance = self.labels.of(row.instance);
                    self.trace.push(TraceEvent { at: row.at, instance, ..event });
                }
            }
            if rows.len() < PAGE_ROWS {
                return Ok(touched);
            }
        }
    }

    pub(crate) async fn load(&mut self, id: DefinitionId) -> Result<&Loaded, SimulationError> {
        if !self.definitions.contains_key(&id) {
            let row = self.store.definition(id).await?;
            let runs = self.kernel.definition(id).await?;
            let (Some(row), Some((notation, definition))) = (row, runs) else {
                let text = "a definition cannot be loaded".to_owned();
                return Err(meantime_kernel::command::Error::Invalid(text).into());
            };
            self.definitions.insert(id, Loaded { name: row.name, notation, definition });
        }
        Ok(&self.definitions[&id])
    }

    /// Asks the stubs about everything that an instance newly waits for. Returns tasks of workers
    /// that can be claimed now.
    async fn look_at(&mut self, id: InstanceId) -> Result<Vec<TaskRow>, SimulationError> {
        let Some(row) = self.store.instance(id).await? else { return Ok(Vec::new()) };
        let mut claimable = Vec::new();
        let keys: Vec<Key> = row.open.tasks.keys().copied().collect();
        for key in keys {
            let Some(task) = self.store.task(TaskId(key.of(id))).await? else { continue };
            claimable.extend(self.look_at_task(id, task));
        }
        if !row.phase.is_ended() {
            self.look_at_waits(&row).await?;
        }
        Ok(claimable)
    }

    /// Returns the task if a worker can claim it now.
    fn look_at_task(&mut self, instance: InstanceId, task: TaskRow) -> Option<TaskRow> {
        let now = self.now();
        if task.state != TaskState::Ready {
            return None;
        }
        let attempt = format!("{} {} {}", task.id, task.claims, task.available_at.as_millis());
        if task.available_at > now {
            if self.seen.insert((instance, 0, attempt)) {
                self.plan(task.available_at, Pending::Look(instance));
            }
            return None;
        }
        if !self.seen.insert((instance, 1, attempt)) {
            return None;
        }
        let label = self.labels.effects.entry(task.id.0).or_default();
        if label.0.is_empty() {
            label.0.clone_from(&task.spec.element);
        }
        self.note_call(&task);
        let Some((name, stub)) = stub_of(&self.spec.stubs, &task) else {
            return self.without_stub(&task);
        };
        let (name, stub) = (name, stub.clone());
        if task.spec.kind == TaskKind::Worker {
            // What it answers is chosen when it is claimed.
            return (!stub.never).then_some(task);
        }
        let token = match task.spec.kind {
            TaskKind::User => None,
            TaskKind::Worker | TaskKind::Engine => {
                Some(LeaseToken { epoch: self.epoch, claims: task.claims })
            }
        };
        self.answer(&name, &stub, &task, token);
        None
    }

    /// Says that nobody answers a task. Engine tasks other than calls have no outside that could:
    /// they fail.
    fn without_stub(&mut self, task: &TaskRow) -> Option<TaskRow> {
        let (name, element) = (&task.spec.name, &task.spec.element);
        let text = match (task.spec.kind, call_target(task)) {
            (TaskKind::User, _) => format!("people: {element}"),
            (_, Some(target)) => format!("http: {} {}", target.method, target.url),
            (_, None) => format!("tasks: {name}"),
        };
        self.unanswered.insert(text);
        if task.spec.kind == TaskKind::Engine && call_target(task).is_none() {
            let message = format!("a simulation cannot perform {name}; give it a stub in `tasks`");
            let failure = meantime_core::Failure::new(UNSUPPORTED_TASK, message);
            let (retryable, retry_after_ms, thrown) = (false, None, None);
            let report = meantime_kernel::command::Report::Failed {
                failure,
                retryable,
                retry_after_ms,
                thrown,
            };
            let token = Some(LeaseToken { epoch: self.epoch, claims: task.claims });
            self.plan(self.now(), Pending::Report { task: task.id, token, report });
        }
        None
    }

    fn note_call(&mut self, task: &TaskRow) {
        let target = call_target(task);
        let kind = match (task.spec.kind, &target) {
            (TaskKind::User, _) => "person",
            (_, Some(_)) => "http",
            (_, None) => "task",
        };
        let name = target.map_or_else(
            || task.spec.name.clone(),
            |target| format!("{} {}", target.method, target.url),
        );
        let (element, input) = (task.spec.element.clone(), task.spec.input.clone());
        let instance = self.labels.of(task.id.0.instance);
        self.calls.push(Call { kind, name, element, instance, input });
    }

    /// Claims tasks for the stubs of their types. All of these types have stubs, so nothing else
    /// can be claimed by it.
    async fn claim(&mut self, tasks: Vec<TaskRow>) -> Result<(), SimulationError> {
        if tasks.is_empty() {
            return Ok(());
        }
        let set = |read: fn(&TaskRow) -> &String| {
            let all: BTreeSet<String> = tasks.iter().map(|task| read(task).clone()).collect();
            all.into_iter().collect::<Vec<_>>()
        };
        let claim = ClaimCommand {
            worker: "simulation".to_owned(),
            types: set(|task| &task.spec.name),
            queues: set(|task| &task.spec.queue),
            max: tasks.len(),
            lease_ms: LEASE_MS,
            wait_ms: 0,
        };
        let reply = self.kernel.call(Command::Claim(claim)).await?;
        let Reply::Tasks(claimed) = reply else { return Ok(()) };
        for claimed in claimed {
            let Some(task) = self.store.task(claimed.id).await? else { continue };
            let Some((name, stub)) = stub_of(&self.spec.stubs, &task) else { continue };
            let (name, stub) = (name, stub.clone());
            self.answer(&name, &stub, &task, Some(claimed.token));
        }
        Ok(())
    }

    /// Plans the answer of a stub to a task.
    fn answer(&mut self, name: &str, stub: &Stub, task: &TaskRow, token: Option<LeaseToken>) {
        let stub = self.alternative(name, stub);
        if stub.never {
            return;
        }
        let at = stub.answers_at(self.now(), &mut self.randomness);
        let failure = stub.fails_now(&mut self.randomness).cloned();
        let report = report_of(&stub, task, failure.as_ref());
        self.plan(at, Pending::Report { task: task.id, token, report });
    }

    /// The alternative of a stub that is used this time.
    fn alternative(&mut self, name: &str, stub: &Stub) -> Stub {
        let count = self.uses.entry(name.to_owned()).or_default();
        let before = *count;
        *count += 1;
        if let Some(last) = stub.in_turn.len().checked_sub(1) {
            return stub.in_turn[before.min(last)].clone();
        }
        if stub.one_of.is_empty() {
            return stub.clone();
        }
        let of = stub.one_of.len();
        let index = self.spec.choices.get(self.choices.len()).copied().unwrap_or(0).min(of - 1);
        let chosen = stub.one_of[index].clone();
        let outcome = chosen.name.clone().unwrap_or_else(|| (index + 1).to_string());
        self.choices.push(Choice { stub: name.to_owned(), outcome, index, of });
        chosen
    }

    async fn look_at_waits(&mut self, row: &InstanceRow) -> Result<(), SimulationError> {
        if !has_view(row) {
            return Ok(());
        }
        let loaded = self.load(row.definition).await?;
        let view = loaded.notation.inspect(&loaded.definition, &row.state);
        for wait in view.waiting {
            let (section, stubs) = match wait.kind {
                WaitingKind::Signal => ("signals", &self.spec.stubs.signals),
                WaitingKind::Message => ("messages", &self.spec.stubs.messages),
                WaitingKind::Step => ("steps", &self.spec.stubs.steps),
                _ => continue,
            };
            let since = wait.since.as_millis();
            let seen = format!("{section} {} {} {:?} {since}", wait.name, wait.element, wait.key);
            if !self.seen.insert((row.id, 2, seen)) {
                continue;
            }
            let stub = stubs.get(&wait.name).or_else(|| stubs.get(&wait.element)).cloned();
            let Some(stub) = stub else {
                self.unanswered.insert(format!("{section}: {}", wait.name));
                continue;
            };
            let stub = self.alternative(&format!("{section}.{}", wait.name), &stub);
            if stub.never {
                continue;
            }
            let at = stub.answers_at(self.now(), &mut self.randomness);
            let channel = wait.key.and_then(|key| row.open.subscriptions.get(&Key::from(key)));
            let channel = channel.map(|subscription| subscription.channel.clone());
            let command = arrival(row.id, &wait.name, wait.kind, channel, &stub);
            self.plan(at, Pending::Send(Box::new(command)));
        }
        Ok(())
    }

    fn plan(&mut self, at: Timestamp, pending: Pending) {
        self.numbers += 1;
        self.pending.insert((at.max(self.now()), self.numbers), pending);
    }

    async fn perform(&mut self, pending: Pending) -> Result<(), SimulationError> {
        let command = match pending {
            Pending::Look(instance) => {
                let claimable = self.look_at(instance).await?;
                return self.claim(claimable).await;
            }
            Pending::Report { task, token, report } => Command::Report { task, token, report },
            Pending::Send(command) => *command,
        };
        // What was asked for may be over: the race is lost, a timeout has passed. As in life, the
        // answer then comes to nothing.
        match self.kernel.call(command).await {
            Ok(_) => Ok(()),
            Err(error) if error.code().starts_with("store") => Err(error.into()),
            Err(error) => {
                let text = format!("an answer came to nothing: {error}");
                let (at, code) = (self.now(), Some(error.code().to_owned()));
                self.trace.push(TraceEvent { at, code, ..TraceEvent::plain("answerLost", text) });
                Ok(())
            }
        }
    }

    /// The task that an instance waits for, by its type or element.
    pub(crate) async fn open_task(&self, name: &str) -> Result<Option<TaskRow>, SimulationError> {
        for instance in &self.labels.instances {
            let Some(row) = self.store.instance(*instance).await? else { continue };
            for key in row.open.tasks.keys() {
                let Some(task) = self.store.task(TaskId(key.of(*instance))).await? else {
                    continue;
                };
                let target = call_target(&task);
                let call = target.map(|target| format!("{} {}", target.method, target.url));
                let matches = task.spec.name == name
                    || task.spec.element == name
                    || call.is_some_and(|call| crate::stub_match::matches_pattern(name, &call));
                let is_open = matches!(task.state, TaskState::Ready | TaskState::Leased);
                if matches && is_open {
                    return Ok(Some(task));
                }
            }
        }
        Ok(None)
    }

    /// The lease of a task of the engine, or a new one of a worker; people have none.
    pub(crate) async fn lease(
        &mut self,
        task: &TaskRow,
    ) -> Result<Option<LeaseToken>, SimulationError> {
        match task.spec.kind {
            TaskKind::User => Ok(None),
            TaskKind::Engine => Ok(Some(LeaseToken { epoch: self.epoch, claims: task.claims })),
            TaskKind::Worker if task.state == TaskState::Leased => {
                Ok(Some(LeaseToken { epoch: self.epoch, claims: task.claims }))
            }
            TaskKind::Worker => {
                let claim = ClaimCommand {
                    worker: "test".to_owned(),
                    types: vec![task.spec.name.clone()],
                    queues: vec![task.spec.queue.clone()],
                    max: 1,
                    lease_ms: LEASE_MS,
                    wait_ms: 0,
                };
                match self.kernel.call(Command::Claim(claim)).await? {
                    Reply::Tasks(claimed) => Ok(claimed.first().map(|task| task.token)),
                    _ => Ok(None),
                }
            }
        }
    }

    /// Instances in the order of their start, as the trace names them.
    pub(crate) fn instance_named(&self, label: Option<&str>) -> Option<InstanceId> {
        match label {
            None => self.labels.instances.first().copied(),
            Some(label) => self.labels.names.iter().find(|(_, it)| *it == label).map(|(id, _)| *id),
        }
    }

    /// Stops the engine.
    pub async fn stop(self) {
        self.kernel.stop().await;
    }
}

/// Before the first turn the state holds the start, and an ended instance has no view.
pub(crate) fn has_view(row: &InstanceRow) -> bool {
    matches!(row.phase, Phase::Running | Phase::Yielding | Phase::Closing)
}

/// The command by which a signal, message or submission arrives.
fn arrival(
    instance: InstanceId,
    name: &str,
    kind: WaitingKind,
    channel: Option<Channel>,
    stub: &Stub,
) -> Command {
    let name = name.to_owned();
    let payload = stub.payload.clone().or_else(|| stub.body.clone()).unwrap_or_default();
    match (kind, channel) {
        (WaitingKind::Step, _) => {
            Command::Submit { instance, step: name, payload, request_bindings: None }
        }
        (_, Some(Channel::Message { name, key })) => {
            Command::Publish(Message { name, key, payload, ttl_ms: None, id: None })
        }
        (_, Some(Channel::Broadcast { name })) => Command::Broadcast { name, payload },
        (WaitingKind::Message, _) => {
            let key = String::new();
            Command::Publish(Message { name, key, payload, ttl_ms: None, id: None })
        }
        _ => Command::Signal { instance, name, payload },
    }
}
