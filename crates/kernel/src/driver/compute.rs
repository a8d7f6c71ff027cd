//! The threads that compute turns.
//!
//! ```text
//!   Advance(batch, jobs) ─► quick lane: a thread per core ──────────► Advanced(batch, turns)
//!                               │ a job that runs longer than PATIENCE
//!                               ▼ takes its thread along
//!                           slow lane: low priority ────────────────► SlowTurn(batch, job, turn)
//! ```
//!
//! A batch is answered when all its jobs are through that are not slow. A thread whose job is slow
//! leaves the quick lane for good and is replaced. The slow lane runs at a lower priority of the
//! operating system, so that it uses what the others leave and little more; definitions take turns
//! in it. Jobs of a definition that was slow lately go there directly, until one of them is quick.
//!
//! Time decides in which lane a turn is computed, never what it decides (I6). One thread watches,
//! and only while something is computed (I12).

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::num::NonZero;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use meantime_core::{DefinitionId, Fault, Turn};

use super::thread_priority;
use crate::clock::Stopwatch;
use crate::machine::{Input, Job};

/// How long a job may hold up its batch.
const PATIENCE: Duration = Duration::from_millis(20);

/// The stack of a thread. Notations bound their recursion; this is ample for it.
const STACK_BYTES: usize = 8 << 20;

/// Threads of the slow lane beyond its width: jobs that were found slow while they ran. With more
/// than that, the quick lane gets no replacement until one of them is through.
const MOST_EXTRA_THREADS: usize = 64;

type Outcome = Result<Turn, Fault>;

/// Where answers go.
pub(super) type Deliver = Box<dyn Fn(Input) + Send + Sync>;

/// The pool. Dropping it ends its threads once their jobs are through.
pub(super) struct Compute(Arc<Pool>);

struct Pool {
    state: Mutex<State>,
    quick: Condvar,
    slow: Condvar,
    watch: Condvar,
    /// Threads of the quick lane, and of the slow lane.
    width: usize,
    deliver: Deliver,
}

#[derive(Default)]
struct State {
    batches: BTreeMap<u64, Batch>,
    quick: VecDeque<Call>,
    slow: SlowQueue,
    /// What the threads of the quick lane are computing.
    running: BTreeMap<ThreadNumber, Running>,
    next_thread: u64,
    /// Threads that began in the quick lane and have not ended, or joined the slow one.
    quick_threads: usize,
    slow_threads: usize,
    /// Those of the quick ones whose job turned out to be slow.
    extra_threads: usize,
    idle_quick: usize,
    is_watched: bool,
    /// Definitions whose jobs were slow lately.
    slow_definitions: BTreeSet<DefinitionId>,
    stopping: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct ThreadNumber(u64);

/// A job on its way.
struct Call {
    batch: u64,
    number: usize,
    job: Arc<Job>,
}

/// A job that a thread of the quick lane computes.
struct Running {
    batch: u64,
    definition: DefinitionId,
    since: Stopwatch,
    thread: thread_priority::Handle,
}

/// A batch whose answer is not complete.
struct Batch {
    turns: Vec<Option<Outcome>>,
    /// Jobs that it still waits for.
    open: usize,
}

impl Compute {
    /// Starts the threads.
    pub(super) fn start(deliver: Deliver) -> Self {
        let width = std::thread::available_parallelism().map_or(2, NonZero::get).max(2);
        let pool = Pool {
            state: Mutex::default(),
            quick: Condvar::new(),
            slow: Condvar::new(),
            watch: Condvar::new(),
            width,
            deliver,
        };
        let pool = Arc::new(pool);
        {
            let mut state = pool.lock();
            pool.replace_threads(&mut state);
        }
        let watcher = pool.clone();
        start_thread("meantime-watch", move || watcher.watch());
        Self(pool)
    }

    /// Computes the turns of a batch.
    pub(super) fn advance(&self, batch: u64, jobs: Vec<Job>) {
        let pool = &self.0;
        let mut state = pool.lock();
        let mut open = 0;
        let count = jobs.len();
        for (number, job) in jobs.into_iter().enumerate() {
            let definition = job.definition_id();
            let call = Call { batch, number, job: Arc::new(job) };
            if state.slow_definitions.contains(&definition) {
                pool.push_slow(&mut state, call);
            } else {
                state.quick.push_back(call);
                open += 1;
            }
        }
        let turns = std::iter::repeat_with(|| None).take(count).collect();
        let waiting = Batch { turns, open };
        if open == 0 {
            drop(state);
            (pool.deliver)(Input::Advanced(batch, waiting.turns));
            return;
        }
        state.batches.insert(batch, waiting);
        if state.idle_quick > 1 && open > 1 {
            pool.quick.notify_all();
        } else {
            pool.quick.notify_one();
        }
    }

    /// A slow turn is not wanted any more. One that runs already runs to its end, for nothing.
    pub(super) fn forget(&self, batch: u64, number: usize) {
        self.0.lock().slow.remove(batch, number);
    }
}

impl Drop for Compute {
    fn drop(&mut self) {
        self.0.lock().stopping = true;
        self.0.quick.notify_all();
        self.0.slow.notify_all();
        self.0.watch.notify_all();
    }
}

impl Pool {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing panics while it holds the lock: jobs run without it, and are caught.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn start_quick(self: &Arc<Self>, state: &mut State) -> bool {
        let number = ThreadNumber(state.next_thread);
        state.next_thread += 1;
        let pool = self.clone();
        let started = start_thread("meantime-turn", move || pool.run_quick(number));
        if started {
            state.quick_threads += 1;
        }
        started
    }

    fn run_quick(self: &Arc<Self>, thread: ThreadNumber) {
        let handle = thread_priority::current();
        while let Some(call) = self.next_quick(thread, handle) {
            let turn = call.job.run();
            if !self.finish_quick(thread, &call, turn) {
                return self.join_slow();
            }
        }
    }

    /// The next job of the quick lane; none when the pool ends.
    fn next_quick(&self, thread: ThreadNumber, handle: thread_priority::Handle) -> Option<Call> {
        let mut state = self.lock();
        loop {
            if state.stopping {
                return None;
            }
            if let Some(call) = state.quick.pop_front() {
                let (batch, definition) = (call.batch, call.job.definition_id());
                let since = Stopwatch::start();
                let running = Running { batch, definition, since, thread: handle };
                state.running.insert(thread, running);
                if !state.is_watched {
                    state.is_watched = true;
                    self.watch.notify_one();
                }
                return Some(call);
            }
            state.idle_quick += 1;
            state = self.quick.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.idle_quick -= 1;
        }
    }

    /// A job of the quick lane is through. Says whether the thread still belongs to that lane.
    fn finish_quick(&self, thread: ThreadNumber, call: &Call, turn: Outcome) -> bool {
        let mut state = self.lock();
        let is_quick = state.running.remove(&thread).is_some();
        let answer = match state.batches.get_mut(&call.batch) {
            Some(batch) => {
                if let Some(place) = batch.turns.get_mut(call.number) {
                    *place = Some(turn);
                }
                if is_quick {
                    batch.open -= 1;
                }
                state.answer_if_complete(call.batch)
            }
            // Its batch did not wait for it.
            None => Some(Input::SlowTurn(call.batch, call.number, turn)),
        };
        drop(state);
        if let Some(answer) = answer {
            (self.deliver)(answer);
        }
        is_quick
    }

    fn push_slow(self: &Arc<Self>, state: &mut State, call: Call) {
        state.slow.push(call);
        self.slow.notify_one();
        if state.slow_threads >= self.width {
            return;
        }
        let pool = self.clone();
        let started = start_thread("meantime-slow", move || {
            thread_priority::lower(thread_priority::current());
            pool.run_slow();
        });
        if started {
            state.slow_threads += 1;
        }
    }

    /// A thread left the quick lane with its job: it goes on in the slow one, if there is room.
    fn join_slow(self: &Arc<Self>) {
        let mut state = self.lock();
        state.extra_threads -= 1;
        state.quick_threads -= 1;
        self.replace_threads(&mut state);
        if state.slow_threads < self.width {
            state.slow_threads += 1;
            drop(state);
            self.run_slow();
        }
    }

    fn run_slow(&self) {
        while let Some(call) = self.next_slow() {
            let since = Stopwatch::start();
            let turn = call.job.run();
            if since.elapsed() < PATIENCE / 2 {
                self.lock().slow_definitions.remove(&call.job.definition_id());
            }
            (self.deliver)(Input::SlowTurn(call.batch, call.number, turn));
        }
    }

    /// The next job of the slow lane; none when the pool ends.
    fn next_slow(&self) -> Option<Call> {
        let mut state = self.lock();
        loop {
            if state.stopping {
                return None;
            }
            if let Some(call) = state.slow.pop() {
                return Some(call);
            }
            state = self.slow.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Looks for jobs that take long, while anything runs.
    fn watch(self: &Arc<Self>) {
        let mut state = self.lock();
        while !state.stopping {
            if state.running.is_empty() {
                state.is_watched = false;
                state = self.watch.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let oldest = state.running.values().map(|it| it.since.elapsed()).max();
            let left = PATIENCE.saturating_sub(oldest.unwrap_or_default());
            if left.is_zero() {
                self.move_slow(&mut state);
            } else {
                let waited = self.watch.wait_timeout(state, left);
                state = waited.unwrap_or_else(PoisonError::into_inner).0;
            }
        }
    }

    /// Moves jobs that take long to the slow lane, with their threads; those of the same definition
    /// that have not begun follow.
    fn move_slow(self: &Arc<Self>, state: &mut State) {
        let found = |(_, running): &(_, &Running)| running.since.elapsed() >= PATIENCE;
        let slow: Vec<ThreadNumber> =
            state.running.iter().filter(found).map(|(thread, _)| *thread).collect();
        for thread in slow {
            let Some(running) = state.running.remove(&thread) else { continue };
            state.slow_definitions.insert(running.definition);
            thread_priority::lower(running.thread);
            state.extra_threads += 1;
            self.leave_batch(state, running.batch);
        }
        let queued = std::mem::take(&mut state.quick);
        for call in queued {
            if state.slow_definitions.contains(&call.job.definition_id()) {
                let batch = call.batch;
                self.push_slow(state, call);
                self.leave_batch(state, batch);
            } else {
                state.quick.push_back(call);
            }
        }
        self.replace_threads(state);
    }

    /// A batch does not wait for one of its jobs any longer.
    fn leave_batch(&self, state: &mut State, number: u64) {
        if let Some(batch) = state.batches.get_mut(&number) {
            batch.open -= 1;
        }
        if let Some(answer) = state.answer_if_complete(number) {
            (self.deliver)(answer);
        }
    }

    /// Brings the quick lane back to its width.
    fn replace_threads(self: &Arc<Self>, state: &mut State) {
        let slow = state.extra_threads;
        while state.quick_threads - slow < self.width && slow <= MOST_EXTRA_THREADS {
            if !self.start_quick(state) {
                return;
            }
        }
    }
}

impl State {
    /// The answer to a batch that waits for nothing more.
    fn answer_if_complete(&mut self, number: u64) -> Option<Input> {
        self.batches.get(&number).filter(|batch| batch.open == 0)?;
        let batch = self.batches.remove(&number)?;
        Some(Input::Advanced(number, batch.turns))
    }
}

/// What waits for the slow lane: definitions take turns.
#[derive(Default)]
struct SlowQueue {
    calls: BTreeMap<DefinitionId, VecDeque<Call>>,
    order: VecDeque<DefinitionId>,
}

impl SlowQueue {
    fn push(&mut self, call: Call) {
        let definition = call.job.definition_id();
        let calls = self.calls.entry(definition).or_default();
        if calls.is_empty() {
            self.order.push_back(definition);
        }
        calls.push_back(call);
    }

    fn pop(&mut self) -> Option<Call> {
        while let Some(definition) = self.order.pop_front() {
            let calls = self.calls.get_mut(&definition)?;
            let call = calls.pop_front();
            if calls.is_empty() {
                self.calls.remove(&definition);
            } else {
                self.order.push_back(definition);
            }
            if call.is_some() {
                return call;
            }
        }
        None
    }

    fn remove(&mut self, batch: u64, number: usize) {
        for calls in self.calls.values_mut() {
            calls.retain(|call| (call.batch, call.number) != (batch, number));
        }
        let calls = &mut self.calls;
        calls.retain(|_, calls| !calls.is_empty());
        self.order.retain(|definition| calls.contains_key(definition));
    }
}

/// Starts a thread; says whether the system allowed it.
fn start_thread(name: &str, run: impl FnOnce() + Send + 'static) -> bool {
    let builder = std::thread::Builder::new().name(name.to_owned()).stack_size(STACK_BYTES);
    builder.spawn(run).is_ok()
}
