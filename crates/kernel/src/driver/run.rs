//! The event loop that owns the machine, on its own thread.
//!
//! Everything waits for this loop. As one task among those of the server's runtime it would wait
//! behind hundreds of connections under load; as a thread it gets its share of the processor from
//! the operating system. Store calls are awaited on this thread too; engine tasks run on the
//! server's runtime.

use std::collections::BTreeMap;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use meantime_core::{
    Definition, DefinitionId, InstanceId, Limits, Notation, Retention, TaskKind, Timestamp,
};
use tokio::runtime::{self, Handle};
use tokio::sync::{Notify, broadcast, mpsc, oneshot, watch};
use tokio::task::JoinHandle;

use super::advance::{Advance, Advances, Next};
use super::compute::Compute;
use super::handle::{EngineTasks, StoreHealth};
use super::heartbeat::{self, Joined};
use super::maintenance::{MaintenanceHandle, MaintenanceSignal, MaintenanceStats};
use crate::admission::{Admitted, Gate};
use crate::clock::{AdjustedClock, Clock, StepDetector, Stopwatch, VirtualClock};
use crate::command::{Command, Error, LeaseToken, Reply, Wait};
use crate::machine::{
    Counters, Distribution, Input, Levels, Machine, Notations, Output, Ticket, TimedOut,
    is_idle_by_itself,
};
use crate::store::{self, Connectivity, DefinitionRow, InstanceRow, Recovered, Store, TaskRow};

/// An answer, and when it was given.
pub(super) type Given = (Stopwatch, Result<Reply, Error>);

type AnswerSender = oneshot::Sender<Given>;

/// How long the loop sleeps at most where the system does not report that the clock was set.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// How long commands collect at most while no batch can begin.
const COLLECT_FOR: Duration = Duration::from_millis(1);

/// Steps of the wall clock.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ClockStep {
    /// How often it was set since the kernel started.
    pub count: u64,
    /// How far it was set the last time, in milliseconds; negative is backwards.
    pub by_ms: i64,
}

/// A definition that can run, with its notation.
pub(super) type Runnable = (Arc<dyn Notation>, Arc<Definition>);

/// A command of a caller who waits for its answer.
pub(super) struct Request {
    pub(super) ticket: Ticket,
    pub(super) command: Box<Command>,
    pub(super) wait: Wait,
    pub(super) answer: AnswerSender,
    /// The admission of a start.
    pub(super) admitted: Option<Admitted>,
}

/// What a handle sends to the loop.
pub(super) enum LoopMessage {
    Command(Request),
    /// Commands of one caller that belong together.
    Commands(Vec<Request>),
    /// The sender of the command has timed out or disconnected.
    Abandon(Ticket),
    Definition(DefinitionId, oneshot::Sender<Option<Runnable>>),
    /// Asks for the latest version of a name.
    Latest(String, oneshot::Sender<Option<DefinitionId>>),
    /// Whether a definition is paused.
    IsPaused(String, oneshot::Sender<bool>),
    Advance(Advance),
    ClockMoved,
    Counters(oneshot::Sender<(Counters, Levels)>),
    Stop(oneshot::Sender<()>),
}

/// The parts of a kernel.
pub(super) struct Parts {
    pub(super) machine: Machine,
    pub(super) store: Arc<dyn Store>,
    pub(super) notations: Notations,
    pub(super) limits: Arc<Limits>,
    pub(super) clock: Arc<AdjustedClock>,
    pub(super) engine_tasks: Option<Arc<dyn EngineTasks>>,
    pub(super) retention: Arc<Retention>,
    /// What retention has done.
    pub(super) report: watch::Sender<MaintenanceStats>,
    /// Whether the machine is paused, for readers.
    pub(super) paused: Arc<AtomicBool>,
    /// The health of the store, for readers.
    pub(super) health: watch::Sender<StoreHealth>,
    /// Damaged instances, for readers.
    pub(super) damaged: watch::Sender<BTreeMap<InstanceId, String>>,
    /// Steps of the wall clock, for readers.
    pub(super) clock_step: watch::Sender<ClockStep>,
    /// Instances that ended with their deadline, for subscribers.
    pub(super) timed_out: broadcast::Sender<TimedOut>,
    /// The newest row of history, for subscribers.
    pub(super) history: watch::Sender<u64>,
    /// The counter of tickets, shared with the handles.
    pub(super) tickets: Tickets,
    /// The admission of starts, shared with the handles.
    pub(super) gate: Arc<Gate>,
    pub(super) virtual_clock: Option<Arc<VirtualClock>>,
    /// The runtime for everything except the loop itself.
    pub(super) runtime: Handle,
}

/// Ends the process when the loop panics. An invariant of the machine is broken then: what it would
/// do next cannot be trusted, and without the loop the process would look alive and do nothing.
/// After a restart the store has all that was acknowledged.
struct EndsWithTheLoop;

impl Drop for EndsWithTheLoop {
    fn drop(&mut self) {
        if std::thread::panicking() {
            std::process::abort();
        }
    }
}

/// Gives every caller a ticket.
#[derive(Clone, Default)]
pub(super) struct Tickets(Arc<AtomicU64>);

impl Tickets {
    pub(super) fn next(&self) -> Ticket {
        Ticket(self.0.fetch_add(1, Ordering::Relaxed))
    }
}

/// The state of the loop.
pub(super) struct Run {
    machine: Machine,
    compute: Compute,
    store: Arc<dyn Store>,
    notations: Notations,
    limits: Arc<Limits>,
    clock: Arc<AdjustedClock>,
    engine_tasks: Option<Arc<dyn EngineTasks>>,
    retention: Arc<Retention>,
    report: watch::Sender<MaintenanceStats>,
    paused: Arc<AtomicBool>,
    maintenance: Option<MaintenanceHandle>,
    messages: mpsc::UnboundedReceiver<LoopMessage>,
    inputs: (mpsc::UnboundedSender<Input>, mpsc::UnboundedReceiver<Input>),
    callers: BTreeMap<Ticket, AnswerSender>,
    health: watch::Sender<StoreHealth>,
    damaged: watch::Sender<BTreeMap<InstanceId, String>>,
    timed_out: broadcast::Sender<TimedOut>,
    /// Starts that were admitted and wait for their turn.
    admitted: BTreeMap<Ticket, Admitted>,
    gate: Arc<Gate>,
    history: watch::Sender<u64>,
    tickets: Tickets,
    advances: Advances,
    runtime: Handle,
    /// Engine tasks that are running.
    running_tasks: usize,
    /// Commits in flight: their number of units, and when they were sent.
    committing: BTreeMap<u64, (usize, Stopwatch)>,
    /// Starts in batches that are not committed yet.
    begun: BTreeMap<u64, usize>,
    commit_us: Distribution,
    steps: StepDetector,
    clock_step: watch::Sender<ClockStep>,
    /// Whether the system reports that the wall clock was set.
    hears_steps: bool,
    epoch: u32,
    stopping: Option<oneshot::Sender<()>>,
    failed: bool,
}

impl Run {
    pub(super) fn new(parts: Parts, messages: mpsc::UnboundedReceiver<LoopMessage>) -> Self {
        let inputs = mpsc::unbounded_channel();
        let sender: mpsc::UnboundedSender<Input> = inputs.0.clone();
        // After the loop has ended, turns are not needed any more.
        let compute = Compute::start(Box::new(move |input| drop(sender.send(input))));
        let steps = StepDetector::new(&parts.clock);
        Self {
            machine: parts.machine,
            compute,
            store: parts.store,
            notations: parts.notations,
            limits: parts.limits,
            clock: parts.clock,
            engine_tasks: parts.engine_tasks,
            retention: parts.retention,
            report: parts.report,
            paused: parts.paused,
            maintenance: None,
            messages,
            inputs,
            callers: BTreeMap::new(),
            health: parts.health,
            damaged: parts.damaged,
            timed_out: parts.timed_out,
            admitted: BTreeMap::new(),
            gate: parts.gate,
            history: parts.history,
            tickets: parts.tickets,
            advances: Advances::new(parts.virtual_clock),
            runtime: parts.runtime,
            running_tasks: 0,
            committing: BTreeMap::new(),
            begun: BTreeMap::new(),
            commit_us: Distribution::default(),
            steps,
            clock_step: parts.clock_step,
            hears_steps: false,
            epoch: 0,
            stopping: None,
            failed: false,
        }
    }

    /// Starts the loop on its own thread.
    pub(super) fn start(
        self,
        membership: Joined,
        recovered: Recovered,
        definitions: Vec<DefinitionRow>,
    ) -> io::Result<()> {
        let own = runtime::Builder::new_current_thread().enable_all().build()?;
        let run = move || {
            let _guard = EndsWithTheLoop;
            let stopped = own.block_on(self.run(membership, recovered, definitions));
            // The caller of `stop` may open the store again as soon as it is answered, so
            // everything here that uses the store is dropped first.
            drop(own);
            if let Some(stopped) = stopped {
                // The caller may have gone.
                let _ = stopped.send(());
            }
        };
        std::thread::Builder::new().name("meantime-loop".to_owned()).spawn(run)?;
        Ok(())
    }

    /// Runs until the end; returns the sender to which the end is reported.
    async fn run(
        mut self,
        membership: Joined,
        recovered: Recovered,
        definitions: Vec<DefinitionRow>,
    ) -> Option<oneshot::Sender<()>> {
        self.epoch = recovered.epoch;
        let inputs = self.inputs.0.clone();
        self.hears_steps = self.clock.on_step(Box::new(move || inputs.send(Input::Tick).is_ok()));
        let heart = self.join(membership);
        self.feed(Input::Recovered(recovered, definitions));
        loop {
            while let Some(output) = self.machine.poll() {
                self.perform(output);
            }
            self.let_go_of_starts();
            self.run_maintenance();
            self.announce_history();
            if self.move_clock() {
                continue;
            }
            // If the store is unreachable, unfinished work is left to recovery after the next
            // start.
            let is_done = self.machine.is_idle() || self.machine.is_store_lost();
            if self.failed || (self.stopping.is_some() && is_done) {
                break;
            }
            if !self.wait().await {
                break;
            }
        }
        if let Some(maintenance) = self.maintenance.take() {
            maintenance.stop().await;
        }
        if let Some(heart) = heart {
            heart.abort();
            // If the store is unreachable, the lease expires by itself.
            let _ = self.store.leave().await;
        }
        self.stopping.take()
    }

    /// On a shared store: receives notices of other nodes and sends heartbeats.
    fn join(&mut self, membership: Joined) -> Option<JoinHandle<()>> {
        let Joined { membership, until } = membership;
        self.feed(Input::Membership(membership, until));
        let wake = Arc::new(Notify::new());
        let (inputs, woken) = (self.inputs.0.clone(), wake.clone());
        self.store.watch_connectivity(Arc::new(move |reach| {
            // The loop may have ended.
            let _ = inputs.send(match reach {
                Connectivity::Lost(why) => Input::StoreLost(why),
                Connectivity::Restored => {
                    woken.notify_one();
                    Input::StoreRestored
                }
            });
        }));
        if !self.store.is_shared() {
            return None;
        }
        let inputs = self.inputs.0.clone();
        self.store.listen(Arc::new(move |notices| {
            // The loop may have ended.
            let _ = inputs.send(Input::Notices(notices));
        }));
        let inputs = self.inputs.0.clone();
        let (store, clock) = (self.store.clone(), self.clock.clone());
        Some(self.runtime.spawn(heartbeat::send_heartbeats(store, clock, inputs, wake)))
    }

    /// Starts retention as soon as this node may act and is responsible for it.
    fn run_maintenance(&mut self) {
        // Every node of a restored store is resumed, not only the one that owns maintenance.
        if self.machine.is_active() {
            self.paused.store(false, Ordering::SeqCst);
        }
        if self.maintenance.is_none() && self.machine.owns_maintenance() {
            self.maintenance = Some(MaintenanceHandle::start(
                self.store.clone(),
                self.clock.clone(),
                self.retention.clone(),
                &self.limits,
                self.report.clone(),
                &self.runtime,
            ));
        }
    }

    /// Announces new history to its subscribers.
    fn announce_history(&self) {
        let newest = self.machine.history();
        self.history.send_if_modified(|seen| {
            let is_new = *seen < newest;
            *seen = newest;
            is_new
        });
    }

    /// Moves a virtual clock one step, if that was requested; returns whether to poll the machine
    /// again.
    fn move_clock(&mut self) -> bool {
        match self.advances.go_on(&self.machine, self.running_tasks) {
            Next::Wait => return false,
            Next::Moved => {
                self.feed(Input::Tick);
                self.signal_maintenance(MaintenanceSignal::ClockMoved);
            }
            Next::Answered => {}
        }
        true
    }

    fn feed(&mut self, input: Input) {
        if let (Input::Committed(_, Ok(_)), Some(maintenance)) = (&input, &self.maintenance) {
            maintenance.committed();
        }
        self.machine.handle(self.clock.now(), input);
    }

    /// Sleeps until an input arrives or something is due, then takes all available inputs.
    async fn wait(&mut self) -> bool {
        if self.machine.is_full() && !self.collect_commands().await {
            return true;
        }
        let sleep = self.sleep();
        let open = tokio::select! {
            biased;
            input = self.inputs.1.recv() => {
                self.take_available(input);
                true
            }
            message = self.messages.recv() => match message {
                Some(message) => {
                    self.receive(message);
                    true
                }
                None => false,
            },
            () = sleep => {
                self.machine.handle(self.clock.now(), Input::Tick);
                true
            }
        };
        self.take_available(None);
        open
    }

    /// Takes commands first, and then inputs: a claim that is here when the turns of a batch are
    /// computed can get one of their tasks.
    fn take_available(&mut self, first: Option<Input>) {
        while let Ok(message) = self.messages.try_recv() {
            self.receive(message);
        }
        if let Some(input) = first {
            self.hear(input);
        }
        while let Ok(input) = self.inputs.1.try_recv() {
            self.hear(input);
        }
        self.look_at_clock();
    }

    /// No batch can begin before one is answered: lets commands collect meanwhile, because waking
    /// this loop for each of them costs more than handling it. What is answered without a batch
    /// must not wait for a store that takes long, so it is a moment at most. Returns whether that
    /// moment has passed.
    async fn collect_commands(&mut self) -> bool {
        let answered = tokio::time::timeout(COLLECT_FOR, self.inputs.1.recv()).await;
        let Ok(input) = answered else { return true };
        self.take_available(input);
        false
    }

    /// Checks whether the wall clock was set: timers that are due by the new time must not wait for
    /// the end of a sleep that was computed with the old time.
    fn look_at_clock(&mut self) {
        let Some(by_ms) = self.steps.look(&self.clock) else { return };
        self.clock_step.send_modify(|step| *step = ClockStep { count: step.count + 1, by_ms });
        self.feed(Input::Tick);
    }

    /// The counters of machine and driver, and current levels.
    fn counted(&self) -> (Counters, Levels) {
        let mut counters = Counters { commit_us: self.commit_us, ..self.machine.counters() };
        counters.clock_steps = self.clock_step.borrow().count;
        counters.overloaded = counters.overloaded.saturating_add(self.gate.refused());
        let (callers, engine_tasks) = (self.callers.len(), self.running_tasks);
        let waiting_starts = self.gate.waiting();
        (
            counters,
            Levels {
                callers,
                engine_tasks,
                waiting_starts,
                ..self.machine.levels(self.clock.now().real)
            },
        )
    }

    /// Handles an input from work that this loop started.
    fn hear(&mut self, input: Input) {
        match &input {
            Input::StoreLost(why) => {
                self.health.send_replace(StoreHealth::Unreachable(why.clone()));
            }
            Input::StoreRestored => {
                let is_lost = |it: &StoreHealth| matches!(it, StoreHealth::Unreachable(_));
                self.health.send_if_modified(|it| {
                    is_lost(it) && {
                        *it = StoreHealth::Healthy;
                        true
                    }
                });
            }
            _ => {}
        }
        if let Input::Report(..) = input {
            self.running_tasks = self.running_tasks.saturating_sub(1);
        }
        if let Input::Committed(batch, _) = &input
            && let Some((units, watch)) = self.committing.remove(batch)
        {
            let took = watch.elapsed();
            self.gate.committed(units, took);
            self.commit_us.observe(u64::try_from(took.as_micros()).unwrap_or(u64::MAX));
        }
        self.feed(input);
    }

    /// The only sleep of the kernel: until the earliest due time, or for ever. It does not notice
    /// that the clock was set, so it is short where the system does not report that; waking up
    /// causes no store call.
    #[expect(clippy::disallowed_methods, reason = "the driver's one sleep, told by the Clock")]
    fn sleep(&self) -> impl Future<Output = ()> + Send + use<> {
        let (engine, real) = self.machine.next_wakeup();
        let now = self.clock.now();
        let real = real.map(|at| {
            Duration::from_millis(u64::try_from(at.saturating_since(now.real)).unwrap_or(0))
        });
        let engine = engine.and_then(|at: Timestamp| self.clock.until(at));
        let sleep = [engine, real].into_iter().flatten().min();
        let most = if self.hears_steps { Duration::MAX } else { LOOK_AGAIN };
        let sleep = sleep.map(|sleep| tokio::time::sleep(sleep.min(most)));
        async move {
            match sleep {
                Some(sleep) => sleep.await,
                None => std::future::pending().await,
            }
        }
    }

    fn receive(&mut self, message: LoopMessage) {
        match message {
            LoopMessage::Command(request) => self.accept(request),
            LoopMessage::Commands(requests) => {
                for request in requests {
                    self.accept(request);
                }
            }
            LoopMessage::Abandon(ticket) => self.feed(Input::Abandon(ticket)),
            LoopMessage::Definition(id, answer) => {
                let _ = answer.send(self.machine.definition(id));
            }
            LoopMessage::IsPaused(name, answer) => {
                let _ = answer.send(self.machine.is_definition_paused(&name));
            }
            LoopMessage::Latest(name, answer) => {
                let _ = answer.send(self.machine.latest(&name));
            }
            LoopMessage::Advance(advance) => self.advances.add(advance),
            LoopMessage::ClockMoved => {
                self.feed(Input::Tick);
                self.signal_maintenance(MaintenanceSignal::ClockMoved);
            }
            LoopMessage::Counters(answer) => {
                let _ = answer.send(self.counted());
            }
            LoopMessage::Stop(answer) => self.stopping = Some(answer),
        }
    }

    fn accept(&mut self, request: Request) {
        let Request { ticket, command, wait, answer, admitted } = request;
        if self.stopping.is_some() {
            let _ = answer.send((Stopwatch::start(), Err(Error::Stopping)));
            return;
        }
        self.callers.insert(ticket, answer);
        self.admitted.extend(admitted.map(|admitted| (ticket, admitted)));
        self.feed(Input::Command(ticket, command, wait));
    }

    fn perform(&mut self, output: Output) {
        let store = self.store.clone();
        match output {
            Output::Fetch(batch, request) => {
                self.spawn(async move { Input::Fetched(batch, store.fetch(request).await) });
            }
            Output::Advance(batch, jobs) => {
                self.turns_begin(batch);
                self.compute.advance(batch, jobs);
            }
            Output::Drop(batch, job) => self.compute.forget(batch, job),
            Output::Commit(batch, fetched, plan) => {
                self.committing.insert(batch, (plan.units.len(), Stopwatch::start()));
                self.spawn(
                    async move { Input::Committed(batch, store.commit(fetched, plan).await) },
                );
            }
            Output::Verify { batch, commit, results } => {
                self.spawn(async move {
                    loop {
                        match store.is_committed(commit).await {
                            Ok(took_effect) => {
                                return Input::Verified(batch, took_effect, results);
                            }
                            Err(_) => pause().await,
                        }
                    }
                });
            }
            Output::LoadTimers(query) => {
                self.spawn(async move { Input::Timers(store.due_timers(query).await) });
            }
            Output::LoadDefinitions => self.spawn(async move {
                Input::Definitions(
                    insist(|| store.definitions(store::DefinitionFilter::default())).await,
                )
            }),
            Output::Recover(partition) => {
                self.spawn(
                    async move { Input::Adopted(insist(|| store.recover(partition)).await) },
                );
            }
            Output::Notify(notices) => {
                self.runtime.spawn(async move {
                    // A lost notice is compensated by the next heartbeat.
                    let _ = store.notify(notices).await;
                });
            }
            Output::LoadDefinition(id) => self.load_definition(id),
            Output::LoadTree(id) => {
                self.spawn(async move { Input::Tree(id, insist(|| tree(&*store, id)).await) });
            }
            Output::Reply(ticket, answer) => self.answer(ticket, answer),
            Output::Compact(request) => {
                self.signal_maintenance(MaintenanceSignal::Compact(request));
            }
            Output::Dispatch(task) => self.dispatch(*task),
            Output::Damaged(id, what) => self.damaged.send_modify(|seen| {
                seen.insert(id, what);
            }),
            // There may be no subscribers.
            Output::TimedOut(timed_out) => drop(self.timed_out.send(timed_out)),
            Output::Fatal(error) => {
                self.failed = true;
                self.health.send_replace(StoreHealth::Failed(error));
            }
        }
    }

    /// The starts of a batch begin their turns: their wait is over.
    fn turns_begin(&mut self, batch: u64) {
        let starts = self.machine.starts_in(batch);
        let starts = starts.filter_map(|ticket| self.admitted.remove(&ticket)).collect();
        let count = self.gate.began(starts);
        if count > 0 {
            self.begun.insert(batch, count);
        }
    }

    /// Starts whose batch is committed, or has failed, are no longer in flight.
    fn let_go_of_starts(&mut self) {
        let (machine, gate) = (&self.machine, &self.gate);
        self.begun.retain(|batch, starts| {
            let is_open = machine.has_batch(*batch);
            if !is_open {
                gate.ended(*starts);
            }
            is_open
        });
    }

    /// Answers a caller. If a worker has disconnected, its claimed tasks are released at once
    /// instead of waiting for their leases to expire.
    fn answer(&mut self, ticket: Ticket, answer: Result<Reply, Error>) {
        self.admitted.remove(&ticket);
        let unheard = match self.callers.remove(&ticket) {
            Some(caller) => {
                let unheard = caller.send((Stopwatch::start(), answer)).err();
                unheard.map(|(_, answer)| answer)
            }
            // The caller was already told that the outcome of its command is unknown.
            None => Some(answer),
        };
        if let Some(Ok(Reply::Tasks(tasks))) = unheard {
            for task in tasks {
                let command = Command::Release { task: task.id, token: task.token };
                self.feed(Input::Command(self.tickets.next(), Box::new(command), Wait::Quiet));
            }
        }
    }

    fn signal_maintenance(&self, signal: MaintenanceSignal) {
        if let Some(maintenance) = &self.maintenance {
            maintenance.send(signal);
        }
    }

    /// Calls the store. The future is polled once immediately, so that commits reach the store in
    /// the order in which the machine made them.
    fn spawn(&self, future: impl Future<Output = Input> + Send + 'static) {
        let inputs = self.inputs.0.clone();
        let mut future: Pin<Box<dyn Future<Output = Input> + Send>> = Box::pin(future);
        match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(input) => {
                let _ = inputs.send(input);
            }
            Poll::Pending => {
                tokio::spawn(async move {
                    let _ = inputs.send(future.await);
                });
            }
        }
    }

    fn load_definition(&self, id: DefinitionId) {
        let (store, notations) = (self.store.clone(), self.notations.clone());
        let limits = self.limits.clone();
        self.spawn(async move {
            let row = insist(|| store.definition(id)).await;
            // Compiling a long source takes long, and the loop must not wait for it.
            let load = move || row.as_ref().and_then(|row| notations.load(row, &limits));
            let loaded = tokio::task::spawn_blocking(load).await.ok().flatten();
            Input::Definition(id, Box::new(loaded))
        });
    }

    fn dispatch(&mut self, task: TaskRow) {
        let Some(engine_tasks) = self.engine_tasks.clone() else { return };
        if task.spec.kind != TaskKind::Engine {
            return;
        }
        let token = LeaseToken { epoch: self.epoch, claims: task.claims };
        self.running_tasks += 1;
        let inputs = self.inputs.0.clone();
        self.runtime.spawn(async move {
            let id = task.id;
            // The loop may have ended.
            let _ = inputs.send(Input::Report(id, token, engine_tasks.run(task).await));
        });
    }
}

/// Repeats a read until the store answers.
async fn insist<T, F: Future<Output = Result<T, store::Error>>>(read: impl Fn() -> F) -> T {
    loop {
        match read().await {
            Ok(answer) => return answer,
            Err(_) => pause().await,
        }
    }
}

/// The pause before an unreachable store is asked again.
#[expect(clippy::disallowed_methods, reason = "a store that is away is asked again later")]
pub(super) fn pause() -> tokio::time::Sleep {
    tokio::time::sleep(Duration::from_millis(250))
}

/// An instance and its live descendants, up to the first that is not idle by itself.
async fn tree(store: &dyn Store, root: InstanceId) -> Result<Vec<InstanceRow>, store::Error> {
    let mut rows = Vec::new();
    let mut next = vec![root];
    while let Some(id) = next.pop() {
        if let Some(row) = store.instance(id).await? {
            let is_idle = is_idle_by_itself(&row);
            rows.push(row);
            if !is_idle {
                break;
            }
        }
        next.extend(store.children(id).await?.into_iter().map(|child| child.id));
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    /// In a process of its own, because it ends.
    #[test]
    fn a_panic_of_the_loop_ends_the_process() {
        const PANICS: &str = "MEANTIME_TEST_LOOP_PANICS";
        if std::env::var_os(PANICS).is_some() {
            let run = std::thread::spawn(|| {
                let _guard = EndsWithTheLoop;
                panic!("an invariant is broken");
            });
            assert!(run.join().is_ok(), "not reached");
            return;
        }
        let test = std::env::current_exe().expect("a test is a program");
        let name = "driver::run::tests::a_panic_of_the_loop_ends_the_process";
        let mut process = Command::new(test);
        process.args([name, "--exact"]).env(PANICS, "").stdout(Stdio::null());
        let status = process.stderr(Stdio::null()).status().expect("it runs");
        assert!(!status.success(), "the process was ended");
    }
}
