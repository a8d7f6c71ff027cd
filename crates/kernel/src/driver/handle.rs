//! The handle that callers, workers and the server hold.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use meantime_core::{
    Definition, DefinitionId, Diagnostic, InstanceId, Limits, Notation, Retention, Severity,
    Source, Timestamp,
};
use tokio::runtime::Handle;
use tokio::sync::{broadcast, mpsc, oneshot, watch};

use super::advance::{Advance, Advanced};
use super::heartbeat::{self, Joined};
use super::maintenance::MaintenanceStats;
use super::run::{ClockStep, LoopMessage, Parts, Request, Run, Tickets};
use crate::admission::{Admitted, Gate};
use crate::clock::{AdjustedClock, Clock, Now, SystemClock, VirtualClock};
use crate::command::{Command, Deployment, Error, Reply, Report, StartCommand, TimerEdit, Wait};
use crate::history::AuditInfo;
use crate::machine::{Config, Counters, Levels, Machine, Notations, Ticket, TimedOut};
use crate::random::{Entropy, SystemEntropy};
use crate::schedule::{SCHEDULE_NOTATION, ScheduleNotation, schedule_source};
use crate::store::{self, DefinitionFilter, Page, Store, TaskRow, TimerFilter, TimerRow};

/// How many ends by deadline a subscriber may fall behind before it misses some.
const TIMED_OUT_BEHIND: usize = 1_024;

/// Runs engine tasks, such as outbound HTTP calls.
pub trait EngineTasks: Send + Sync {
    /// Performs one attempt.
    fn run(&self, task: TaskRow) -> Pin<Box<dyn Future<Output = Report> + Send + '_>>;
}

/// The health of the store of a kernel.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum StoreHealth {
    /// Reachable, as far as is known.
    #[default]
    Healthy,
    /// Unreachable, for this reason. It is retried until it is reachable.
    Unreachable(String),
    /// Not usable any more: the kernel has stopped.
    Failed(Error),
}

/// A running kernel. Cheap to clone.
#[derive(Clone)]
pub struct Kernel {
    messages: mpsc::UnboundedSender<LoopMessage>,
    store: Arc<dyn Store>,
    notations: Notations,
    limits: Arc<Limits>,
    clock: Arc<AdjustedClock>,
    virtual_clock: Option<Arc<VirtualClock>>,
    paused: Arc<AtomicBool>,
    maintenance_stats: watch::Receiver<MaintenanceStats>,
    health: watch::Receiver<StoreHealth>,
    damaged: watch::Receiver<BTreeMap<InstanceId, String>>,
    clock_step: watch::Receiver<ClockStep>,
    timed_out: broadcast::Sender<TimedOut>,
    history: watch::Receiver<u64>,
    tickets: Tickets,
    gate: Arc<Gate>,
}

/// Configures a kernel.
pub struct Builder {
    pub(super) store: Arc<dyn Store>,
    pub(super) notations: Notations,
    pub(super) config: Config,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) virtual_clock: Option<Arc<VirtualClock>>,
    pub(super) entropy: Box<dyn Entropy>,
    pub(super) engine_tasks: Option<Arc<dyn EngineTasks>>,
    pub(super) retention: Retention,
    clock_may_be_behind: bool,
}

impl Builder {
    /// A kernel on a store, with the wall clock and default limits.
    pub fn new(store: Arc<dyn Store>, notations: Notations) -> Self {
        let notations = notations.with(SCHEDULE_NOTATION, Arc::new(ScheduleNotation));
        Self {
            store,
            notations,
            config: Config::default(),
            clock: Arc::new(SystemClock),
            virtual_clock: None,
            entropy: Box::new(SystemEntropy::default()),
            engine_tasks: None,
            retention: Retention::default(),
            clock_may_be_behind: false,
        }
    }

    /// Sets the configuration.
    #[must_use]
    pub fn config(mut self, config: Config) -> Self {
        self.config = config;
        self
    }

    /// Sets the clock.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Sets a clock that only [`Kernel::advance`] moves.
    #[must_use]
    pub fn virtual_clock(mut self, clock: Arc<VirtualClock>) -> Self {
        self.clock = clock.clone();
        self.virtual_clock = Some(clock);
        self
    }

    /// Sets the source of random numbers, for runs that can be repeated.
    #[must_use]
    pub fn entropy(mut self, entropy: Box<dyn Entropy>) -> Self {
        self.entropy = entropy;
        self
    }

    /// Sets what runs engine tasks.
    #[must_use]
    pub fn engine_tasks(mut self, engine_tasks: Arc<dyn EngineTasks>) -> Self {
        self.engine_tasks = Some(engine_tasks);
        self
    }

    /// Sets the retention policy.
    #[must_use]
    pub fn retention(mut self, retention: Retention) -> Self {
        self.retention = retention;
        self
    }

    /// Starts even if the clock is far behind the latest time in the store. Engine time then stands
    /// still until the clock has caught up (T13).
    #[must_use]
    pub fn accept_clock_behind(mut self) -> Self {
        self.clock_may_be_behind = true;
        self
    }

    /// Joins the nodes that share the store, and reads its unfinished work.
    async fn recover(
        &self,
        clock: &AdjustedClock,
    ) -> Result<(Joined, store::Recovered), store::Error> {
        let joined = heartbeat::send_heartbeat(&*self.store, clock).await?;
        let recovered = self.store.recover(joined.membership.partition()).await?;
        if !self.clock_may_be_behind {
            check_clock(clock, &recovered)?;
        }
        if let Some(clock) = &self.virtual_clock {
            // Engine time never goes back, also across restarts (T13).
            clock.advance_to(recovered.clock);
        }
        Ok((joined, recovered))
    }

    /// Recovers from the store and starts. Needs a tokio runtime.
    pub async fn start(self) -> Result<Kernel, store::Error> {
        let clock = Arc::new(AdjustedClock::new(self.clock.clone()));
        let (joined, recovered) = self.recover(&clock).await?;
        let definitions = self.store.definitions(DefinitionFilter::default()).await?;
        let (messages, receiver) = mpsc::unbounded_channel();
        let (report, maintenance_stats) = watch::channel(MaintenanceStats::default());
        let paused = Arc::new(AtomicBool::new(recovered.paused));
        let (newest, history) = watch::channel(recovered.seq);
        let (health_sender, health) = watch::channel(StoreHealth::Healthy);
        let (damaged_sender, damaged) = watch::channel(BTreeMap::new());
        let (step_sender, clock_step) = watch::channel(ClockStep::default());
        let timed_out = broadcast::Sender::new(TIMED_OUT_BEHIND);
        let tickets = Tickets::default();
        let gate = Gate::new(Duration::from_millis(self.config.limits.start_delay_ms));
        let kernel = Kernel {
            messages,
            store: self.store.clone(),
            notations: self.notations.clone(),
            limits: Arc::new(self.config.limits.clone()),
            clock: clock.clone(),
            virtual_clock: self.virtual_clock.clone(),
            paused: paused.clone(),
            maintenance_stats,
            health,
            damaged,
            clock_step,
            timed_out: timed_out.clone(),
            history,
            tickets: tickets.clone(),
            gate: gate.clone(),
        };
        let config = Config { shared_store: self.store.is_shared(), ..self.config.clone() };
        let machine = Machine::new(config, self.notations.clone(), self.entropy);
        let parts = Parts {
            machine,
            store: self.store,
            notations: self.notations,
            limits: kernel.limits.clone(),
            clock,
            engine_tasks: self.engine_tasks,
            retention: Arc::new(self.retention),
            report,
            paused,
            health: health_sender,
            damaged: damaged_sender,
            clock_step: step_sender,
            timed_out,
            history: newest,
            tickets,
            gate,
            virtual_clock: self.virtual_clock,
            runtime: Handle::current(),
        };
        let run = Run::new(parts, receiver);
        let started = run.start(joined, recovered, definitions);
        started.map_err(|error| store::Error::Unavailable(error.to_string()))?;
        // A paused kernel writes nothing. The built-in definition is deployed when it is resumed.
        if !kernel.is_paused() {
            let deployed = kernel.deploy_built_in().await;
            deployed.map_err(|error| store::Error::Unavailable(error.to_string()))?;
        }
        Ok(kernel)
    }
}

impl Kernel {
    /// Executes a command and waits for its answer.
    pub async fn call(&self, command: Command) -> Result<Reply, Error> {
        self.call_and_wait(command, Wait::Quiet, None).await
    }

    /// Executes a command. It is answered when the instance has reached the requested state, or
    /// when the time limit has passed and the command was taken. A caller that drops the future is
    /// forgotten: a claim then takes nothing, every other command continues.
    pub async fn call_and_wait(
        &self,
        command: Command,
        wait: Wait,
        limit: Option<Duration>,
    ) -> Result<Reply, Error> {
        let for_ever = std::future::pending::<()>();
        match limit {
            Some(limit) => {
                let patience = async { drop(tokio::time::timeout(limit, for_ever).await) };
                self.call_until(command, wait, patience).await
            }
            None => self.call_until(command, wait, for_ever).await,
        }
    }

    /// Like [`Self::call_and_wait`], with a future that ends the wait.
    pub async fn call_until(
        &self,
        command: Command,
        wait: Wait,
        patience: impl Future<Output = ()>,
    ) -> Result<Reply, Error> {
        self.send(None, command, wait, patience).await
    }

    /// Whether a start from outside would be admitted now; checked before anything is spent on it.
    pub fn has_room(&self) -> Result<(), Error> {
        self.gate.has_room().map_err(|_| Error::Overloaded)
    }

    /// Like [`Self::call_until`], for a start from outside. It is rejected while the engine is
    /// behind, which is measured by how long starts wait for their turn, not by their number.
    pub async fn start_until(
        &self,
        start: StartCommand,
        wait: Wait,
        patience: impl Future<Output = ()>,
    ) -> Result<Reply, Error> {
        let admitted = self.gate.admit().map_err(|_| Error::Overloaded)?;
        self.send(Some(admitted), Command::Start(start), wait, patience).await
    }

    /// Executes commands that belong together: they reach the engine at once, so that one commit
    /// can hold all of them. The answers have the order of the commands.
    pub async fn call_all(&self, commands: Vec<Command>) -> Vec<Result<Reply, Error>> {
        let mut requests = Vec::with_capacity(commands.len());
        let mut answers = Vec::with_capacity(commands.len());
        for command in commands {
            let (answer, answered) = oneshot::channel();
            let ticket = self.tickets.next();
            let (command, admitted) = (Box::new(command), None);
            requests.push(Request { ticket, command, wait: Wait::Quiet, answer, admitted });
            answers.push((Caller { messages: &self.messages, ticket, waits: true }, answered));
        }
        // If the loop has ended, so have the senders of the answers.
        let _ = self.messages.send(LoopMessage::Commands(requests));
        let mut replies = Vec::with_capacity(answers.len());
        for (mut caller, answered) in answers {
            let answer = answered.await;
            // Its command needs nothing more. If this future is dropped, the callers that are left
            // are forgotten.
            caller.waits = false;
            drop(caller);
            replies.push(match answer {
                Ok((_, reply)) => reply,
                Err(_) => Err(self.stopped()),
            });
        }
        replies
    }

    async fn send(
        &self,
        admitted: Option<Admitted>,
        command: Command,
        wait: Wait,
        patience: impl Future<Output = ()>,
    ) -> Result<Reply, Error> {
        let resumes = matches!(command, Command::Resume { .. });
        let is_start = admitted.is_some();
        let (answer, mut answered) = oneshot::channel();
        let ticket = self.tickets.next();
        let command = Box::new(command);
        let request = Request { ticket, command, wait, answer, admitted };
        self.messages.send(LoopMessage::Command(request)).map_err(|_| self.stopped())?;
        let mut caller = Caller { messages: &self.messages, ticket, waits: true };
        let in_time = tokio::select! {
            biased;
            answer = &mut answered => Some(answer),
            () = patience => None,
        };
        let answer = match in_time {
            Some(answer) => answer,
            None => {
                caller.abandon();
                answered.await
            }
        };
        caller.waits = false;
        let Ok((given, answer)) = answer else { return Err(self.stopped()) };
        if is_start {
            self.gate.heard(&given);
        }
        let reply = answer?;
        if resumes {
            self.deploy_built_in().await?;
        }
        Ok(reply)
    }

    /// Deploys the built-in definition of schedules. Identical content is the same version, so
    /// after the first time this changes nothing.
    fn deploy_built_in(&self) -> Pin<Box<dyn Future<Output = Result<(), Error>> + Send + '_>> {
        Box::pin(async move {
            match self.deploy(SCHEDULE_NOTATION, schedule_source()).await {
                Ok(_) => Ok(()),
                Err(DeployError::Kernel(error)) => Err(error),
                Err(error) => Err(Error::Invalid(error.to_string())),
            }
        })
    }

    /// Compiles a source and deploys its definitions, all or nothing. Diagnostics are returned as
    /// data.
    pub async fn deploy(
        &self,
        notation: &str,
        source: Source,
    ) -> Result<(Reply, Vec<Diagnostic>), DeployError> {
        let (definitions, diagnostics) = self.validate(notation, source.clone()).await?;
        if diagnostics.iter().any(|it| it.severity == Severity::Error) {
            return Err(DeployError::Diagnostics(diagnostics));
        }
        let definitions = definitions.into_iter().map(Arc::new).collect();
        let deployment = Deployment { notation: notation.to_owned(), source, definitions };
        let reply = self.call(Command::Deploy(deployment)).await?;
        Ok((reply, diagnostics))
    }

    /// Compiles a source and returns all diagnostics. Deploys nothing.
    pub async fn validate(
        &self,
        notation: &str,
        source: Source,
    ) -> Result<(Vec<Definition>, Vec<Diagnostic>), Error> {
        let files: usize = source.files.iter().map(|file| file.text.len()).sum();
        let (size, limit) = (source.text.len() + files, self.limits.source_bytes);
        if size > limit {
            return Err(Error::TooLarge { what: "source", size, limit });
        }
        let reader = self.notations.get(notation).cloned();
        let reader =
            reader.ok_or_else(|| Error::Invalid(format!("there is no notation {notation:?}")))?;
        let (limits, now) = (self.limits.clone(), self.clock.now().engine);
        // Compiling a long source takes long and must not block other tasks.
        let validated = tokio::task::spawn_blocking(move || {
            let compiled = reader.compile(&source, &limits);
            let lint = |definition| reader.lint(definition, now);
            let mut diagnostics = compiled.diagnostics;
            diagnostics.extend(compiled.definitions.iter().flat_map(lint));
            (compiled.definitions, diagnostics)
        });
        validated.await.map_err(|_| Error::Invalid("the compiler panicked".to_owned()))
    }

    /// Applies an edit to every timer that a selector matches (O1); returns how many there were.
    pub async fn edit_timers(
        &self,
        filter: TimerFilter,
        edit: TimerEdit,
        audit: AuditInfo,
    ) -> Result<usize, Error> {
        const PAGE: usize = 1_000;
        let mut timers = Vec::new();
        let mut page = Page::first(PAGE);
        loop {
            let rows = self.store.timers(filter.clone(), page).await;
            let rows = rows.map_err(|error| Error::from(&error))?;
            timers.extend(rows.iter().map(|row| row.id));
            page.after = rows.last().map(TimerRow::key);
            if rows.len() < PAGE {
                break;
            }
        }
        // All at once, so that they share commits.
        let mut edits = tokio::task::JoinSet::new();
        for timer in timers {
            let (kernel, audit) = (self.clone(), audit.clone());
            edits
                .spawn(async move { kernel.call(Command::EditTimer { timer, edit, audit }).await });
        }
        let mut edited = 0;
        for answer in edits.join_all().await {
            match answer {
                Ok(_) => edited += 1,
                // It has fired or was cancelled meanwhile.
                Err(Error::UnknownTimer(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(edited)
    }

    /// The store, for reads.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// The notations, for `inspect`.
    pub fn notations(&self) -> &Notations {
        &self.notations
    }

    /// The latest version of a name that is not undeployed.
    pub async fn latest(&self, name: &str) -> Result<Option<DefinitionId>, Error> {
        let (answer, answered) = oneshot::channel();
        let question = LoopMessage::Latest(name.to_owned(), answer);
        self.messages.send(question).map_err(|_| self.stopped())?;
        let known = answered.await.map_err(|_| self.stopped())?;
        if known.is_some() || !self.store.is_shared() {
            return Ok(known);
        }
        // Another node may have just deployed it.
        let name = Some(name.to_owned());
        let filter = DefinitionFilter { name, latest: true, ..DefinitionFilter::default() };
        let rows = self.store.definitions(filter).await.map_err(|error| Error::from(&error))?;
        Ok(rows.first().filter(|row| !row.retired).map(|row| row.id))
    }

    /// Whether a definition is paused, as far as this node knows.
    pub async fn is_definition_paused(&self, name: &str) -> Result<bool, Error> {
        let (answer, answered) = oneshot::channel();
        let question = LoopMessage::IsPaused(name.to_owned(), answer);
        self.messages.send(question).map_err(|_| self.stopped())?;
        answered.await.map_err(|_| self.stopped())
    }

    /// A definition with its notation; `None` if this release cannot load it.
    pub async fn definition(
        &self,
        id: DefinitionId,
    ) -> Result<Option<(Arc<dyn Notation>, Arc<Definition>)>, Error> {
        let (answer, answered) = oneshot::channel();
        self.messages.send(LoopMessage::Definition(id, answer)).map_err(|_| self.stopped())?;
        let runs = answered.await.map_err(|_| self.stopped())?;
        if runs.is_some() {
            return Ok(runs);
        }
        // It was not needed since the start, so it is compiled for this reader.
        let row = self.store.definition(id).await.map_err(|error| Error::from(&error))?;
        let loaded = row.and_then(|row| self.notations.load(&row, &self.limits));
        Ok(loaded.and_then(|stored| {
            Some((self.notations.get(&stored.notation)?.clone(), Arc::new(stored.definition)))
        }))
    }

    /// The limits.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The current engine and real time.
    pub fn now(&self) -> Now {
        self.clock.now()
    }

    /// The number of the newest committed row of history, as a channel to wait on.
    pub fn history(&self) -> watch::Receiver<u64> {
        self.history.clone()
    }

    /// Whether the clock is virtual.
    pub fn has_virtual_clock(&self) -> bool {
        self.virtual_clock.is_some()
    }

    /// Moves the virtual clock from due time to due time. Everything that is due runs before the
    /// clock advances, and is committed when this returns. At most `limit` timers fire.
    pub async fn advance(&self, to: Timestamp, limit: u64) -> Result<Advanced, Error> {
        if !self.has_virtual_clock() {
            return Err(Error::ClockNotVirtual);
        }
        if self.is_paused() {
            return Err(Error::Paused);
        }
        let (answer, answered) = oneshot::channel();
        let message = LoopMessage::Advance(Advance { to, limit, answer });
        self.messages.send(message).map_err(|_| self.stopped())?;
        answered.await.unwrap_or_else(|_| Err(self.stopped()))
    }

    /// Notifies the kernel that a virtual clock was moved.
    pub fn clock_moved(&self) {
        // The kernel may have stopped.
        let _ = self.messages.send(LoopMessage::ClockMoved);
    }

    /// Whether the store is restored and paused until it is resumed with [`Command::Resume`].
    pub fn is_paused(&self) -> bool {
        self.paused.load(Ordering::SeqCst)
    }

    /// What retention has done, as a channel to wait on.
    pub fn maintenance_stats(&self) -> watch::Receiver<MaintenanceStats> {
        self.maintenance_stats.clone()
    }

    /// The health of the store, as a channel to wait on.
    pub fn store_health(&self) -> watch::Receiver<StoreHealth> {
        self.health.clone()
    }

    /// Instances that were found damaged since the start, each with the reason, as a channel to
    /// wait on.
    pub fn damaged(&self) -> watch::Receiver<BTreeMap<InstanceId, String>> {
        self.damaged.clone()
    }

    /// How often and how far the wall clock was set since the start, as a channel to wait on.
    pub fn clock_step(&self) -> watch::Receiver<ClockStep> {
        self.clock_step.clone()
    }

    /// Instances that end with their deadline, from now on.
    pub fn timed_out(&self) -> broadcast::Receiver<TimedOut> {
        self.timed_out.subscribe()
    }

    /// The error for calls after the kernel has stopped.
    fn stopped(&self) -> Error {
        match &*self.health.borrow() {
            StoreHealth::Failed(error) => error.clone(),
            _ => Error::Stopping,
        }
    }

    /// The counters so far.
    pub async fn counters(&self) -> Result<Counters, Error> {
        Ok(self.counted().await?.0)
    }

    /// The counters so far, and current levels.
    pub async fn counted(&self) -> Result<(Counters, Levels), Error> {
        let (answer, answered) = oneshot::channel();
        self.messages.send(LoopMessage::Counters(answer)).map_err(|_| self.stopped())?;
        answered.await.map_err(|_| self.stopped())
    }

    /// Finishes work in progress and stops. Later commands are rejected.
    pub async fn stop(&self) {
        let (answer, answered) = oneshot::channel();
        if self.messages.send(LoopMessage::Stop(answer)).is_ok() {
            // If the answer is lost, the loop has ended.
            let _ = answered.await;
        }
    }
}

/// A clock that is a few minutes behind is tolerated; one that is further behind is a
/// misconfiguration.
fn check_clock(clock: &AdjustedClock, recovered: &store::Recovered) -> Result<(), store::Error> {
    const BEHIND_MS: i64 = 5 * 60_000;
    let behind = recovered.clock.saturating_since(clock.now().engine);
    if !clock.is_virtual() && behind > BEHIND_MS {
        return Err(store::Error::ClockBehind { behind_s: behind / 1_000 });
    }
    Ok(())
}

/// A waiting caller. Dropping it tells the machine, so that nothing is kept for it.
struct Caller<'a> {
    messages: &'a mpsc::UnboundedSender<LoopMessage>,
    ticket: Ticket,
    waits: bool,
}

impl Caller<'_> {
    fn abandon(&self) {
        // The loop may have ended.
        let _ = self.messages.send(LoopMessage::Abandon(self.ticket));
    }
}

impl Drop for Caller<'_> {
    fn drop(&mut self) {
        if self.waits {
            self.abandon();
        }
    }
}

/// Why a deployment was refused.
#[derive(Debug, thiserror::Error)]
pub enum DeployError {
    /// The source has errors.
    #[error("the definition has errors")]
    Diagnostics(Vec<Diagnostic>),
    /// The kernel rejected it.
    #[error(transparent)]
    Kernel(#[from] Error),
}
