//! The threads that compute turns.
//!
//! ```text
//!   Advance(batch, jobs) ─► quick lane: a thread per core ──────────► Advanced(batch, turns)
//!                               │ a job that runs longer than PATIENCE takes its thread along;
//!                               ▼ one that is expected to take long comes here directly
//!                           slow lane: low priority ────────────────► SlowTurn(batch, job, turn)
//! ```
//!
//! A batch is answered when all its jobs are through that are not slow. Slow turns that are through
//! by then go with it; the others follow one by one, and never overtake it: a batch is answered
//! while the lock is held, so whoever finds it gone comes after its answer. Slow turns leave
//! without the lock: whom they wake would take the processor from a thread of low priority that
//! holds it, and then wait for it. A thread whose job is slow leaves the quick lane for good and is
//! replaced. The slow lane runs at the lowest priority of the operating system, so that it uses
//! what the others leave; definitions take turns in it. On a machine that is busy for long nothing
//! may be left: while the lane is starved, one more thread takes part that gets a small share in
//! any case.
//!
//! What a job costs is guessed from the last ones of its definition, in time of the processor. Of
//! a batch, the cheapest go to the quick lane, none longer than [`QUICK_JOB`], as many as keep it
//! busy for [`QUICK_TIME`]; the others go to the slow lane. So jobs of a few milliseconds do not
//! add up to a batch of a second.
//!
//! Time decides in which lane a turn is computed, never what it decides (I6). One thread watches,
//! and only while something is computed (I12).

use std::collections::{BTreeMap, VecDeque};
use std::num::NonZero;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use meantime_core::{DefinitionId, Fault, Turn};

use super::cost::Costs;
use super::thread_time::ThreadTime;
use crate::clock::Stopwatch;
use crate::machine::{Input, Job};
use crate::thread_priority;

/// How long a job may hold up its batch.
const PATIENCE: Duration = Duration::from_millis(5);

/// How long the jobs of a batch may keep the threads of the quick lane busy, as far as is known.
const QUICK_TIME: Duration = Duration::from_millis(2);

/// How long one of them may take. Most turns take a tenth of it; those that use up their slice of
/// operations take more.
const QUICK_JOB: Duration = Duration::from_micros(500);

/// The stack of a thread. Notations bound their recursion; this is ample for it.
const STACK_BYTES: usize = 8 << 20;

/// Threads of the slow lane beyond its width: jobs that were found slow while they ran. With more
/// than that, the quick lane gets no replacement until one of them is through.
const MAX_EXTRA_THREADS: usize = 64;

/// The slow lane is starved when its threads have the processor for less than one part in so many.
const STARVED: u32 = 10;

/// A job of the slow lane that runs for so long is starved in any case.
const LONG: Duration = Duration::from_secs(5);

/// How often that is looked at, while something waits for the slow lane.
const LOOK: Duration = Duration::from_secs(1);

type Outcome = Result<Turn, Fault>;

/// Where answers go.
pub(super) type Deliver = Box<dyn Fn(Input) + Send + Sync>;

/// The pool. Dropping it ends its threads once their jobs are through.
pub(super) struct Compute(Arc<Pool>);

struct Pool {
    state: Mutex<State>,
    quick: Condvar,
    slow: Condvar,
    spare: Condvar,
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
    has_spare_thread: bool,
    /// Since when jobs of the slow lane run, by batch and number.
    slow_since: BTreeMap<(u64, usize), Stopwatch>,
    /// Whether the last job of the slow lane hardly got the processor.
    was_starved: bool,
    /// Those of the quick ones whose job turned out to be slow.
    extra_threads: usize,
    idle_quick: usize,
    is_watched: bool,
    /// What jobs cost lately.
    costs: Costs,
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

/// Which job it is.
#[derive(Debug, Clone, Copy)]
struct JobName {
    batch: u64,
    number: usize,
    definition: DefinitionId,
}

impl Call {
    fn name(&self) -> JobName {
        let definition = self.job.definition_id();
        JobName { batch: self.batch, number: self.number, definition }
    }
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
            spare: Condvar::new(),
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
        let mut calls: Vec<(Duration, Call)> = jobs
            .into_iter()
            .enumerate()
            .map(|(number, job)| {
                let cost = state.costs.of(job.definition_id());
                (cost, Call { batch, number, job: Arc::new(job) })
            })
            .collect();
        calls.sort_by_key(|(cost, _)| *cost);
        let mut left = pool.quick_time();
        for (cost, call) in calls {
            if cost <= left && cost <= QUICK_JOB {
                left = left.saturating_sub(cost);
                state.quick.push_back(call);
                open += 1;
            } else {
                pool.push_slow(&mut state, call);
            }
        }
        let turns = std::iter::repeat_with(|| None).take(count).collect();
        let waiting = Batch { turns, open };
        if open == 0 {
            // Before any of its slow turns, which wait for the lock.
            return (pool.deliver)(Input::Advanced(batch, waiting.turns));
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
        self.0.spare.notify_all();
        self.0.watch.notify_all();
    }
}

impl Pool {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing panics while it holds the lock: jobs run without it, and are caught.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the quick lane may spend on a batch, over all its threads.
    fn quick_time(&self) -> Duration {
        QUICK_TIME.saturating_mul(u32::try_from(self.width).unwrap_or(u32::MAX))
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
            let (cost, turn) = timed(&call);
            if !self.finish_quick(thread, call.name(), turn, cost) {
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
    fn finish_quick(
        self: &Arc<Self>,
        thread: ThreadNumber,
        name: JobName,
        turn: Outcome,
        cost: Duration,
    ) -> bool {
        let mut state = self.lock();
        let is_quick = state.running.remove(&thread).is_some();
        if is_quick && let Some(batch) = state.batches.get_mut(&name.batch) {
            batch.open -= 1;
        }
        let late = self.finish(&mut state, name, turn, cost);
        if state.costs.of(name.definition) > QUICK_JOB {
            self.move_queued(&mut state);
        }
        drop(state);
        late.into_iter().for_each(&self.deliver);
        is_quick
    }

    /// A job is through, in whichever lane. Its batch takes the turn along; if that has gone, the
    /// turn is to be delivered, without the lock.
    fn finish(
        &self,
        state: &mut State,
        name: JobName,
        turn: Outcome,
        cost: Duration,
    ) -> Option<Input> {
        state.costs.saw(name.definition, cost);
        let Some(batch) = state.batches.get_mut(&name.batch) else {
            return Some(Input::SlowTurn(name.batch, name.number, turn));
        };
        if let Some(turn_of) = batch.turns.get_mut(name.number) {
            *turn_of = Some(turn);
        }
        if let Some(answer) = state.answer_if_complete(name.batch) {
            (self.deliver)(answer);
        }
        None
    }

    fn push_slow(self: &Arc<Self>, state: &mut State, call: Call) {
        if state.slow.is_empty() {
            self.spare.notify_one();
        }
        state.slow.push(call);
        self.slow.notify_one();
        if !state.has_spare_thread {
            let pool = self.clone();
            state.has_spare_thread = start_thread("meantime-spare", move || pool.run_spare());
        }
        if state.slow_threads < self.width {
            let pool = self.clone();
            let started = start_thread("meantime-slow", move || pool.run_slow());
            state.slow_threads += usize::from(started);
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
        thread_priority::idle();
        while let Some(call) = self.next_slow() {
            let (cost, turn) = timed(&call);
            let mut state = self.lock();
            let took = state.slow_since.remove(&(call.batch, call.number));
            let took = took.map_or(cost, |since| since.elapsed());
            state.was_starved = took > cost.saturating_mul(STARVED);
            let late = self.finish(&mut state, call.name(), turn, cost);
            drop(state);
            late.into_iter().for_each(&self.deliver);
        }
    }

    /// Takes jobs while the other threads of the slow lane do not get on.
    fn run_spare(&self) {
        thread_priority::lower(thread_priority::current());
        while let Some(call) = self.next_of_starved() {
            let (cost, turn) = timed(&call);
            let late = self.finish(&mut self.lock(), call.name(), turn, cost);
            late.into_iter().for_each(&self.deliver);
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
                state.slow_since.insert((call.batch, call.number), Stopwatch::start());
                return Some(call);
            }
            state = self.slow.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// The next job of the slow lane, once that is starved; none when the pool ends.
    fn next_of_starved(&self) -> Option<Call> {
        let mut state = self.lock();
        while !state.stopping {
            if state.slow.is_empty() {
                state = self.spare.wait(state).unwrap_or_else(PoisonError::into_inner);
            } else if state.is_starved() {
                return state.slow.pop();
            } else {
                let waited = self.spare.wait_timeout(state, LOOK);
                state = waited.unwrap_or_else(PoisonError::into_inner).0;
            }
        }
        None
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
            state.costs.at_least(running.definition, PATIENCE);
            thread_priority::lower(running.thread);
            state.extra_threads += 1;
            self.leave_batch(state, running.batch);
        }
        self.move_queued(state);
        self.replace_threads(state);
    }

    /// Moves jobs that have not begun, and that are now known to take long, to the slow lane.
    fn move_queued(self: &Arc<Self>, state: &mut State) {
        let queued = std::mem::take(&mut state.quick);
        for call in queued {
            if state.costs.of(call.job.definition_id()) > QUICK_JOB {
                let batch = call.batch;
                self.push_slow(state, call);
                self.leave_batch(state, batch);
            } else {
                state.quick.push_back(call);
            }
        }
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
        while state.quick_threads - slow < self.width && slow <= MAX_EXTRA_THREADS {
            if !self.start_quick(state) {
                return;
            }
        }
    }
}

impl State {
    /// Whether the threads of the slow lane hardly get the processor.
    fn is_starved(&self) -> bool {
        self.was_starved || self.slow_since.values().any(|since| since.elapsed() >= LONG)
    }

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
    fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    fn push(&mut self, call: Call) {
        let definition = call.job.definition_id();
        let calls = self.calls.entry(definition).or_default();
        if calls.is_empty() {
            self.order.push_back(definition);
        }
        calls.push_back(call);
    }

    fn pop(&mut self) -> Option<Call> {
        let definition = self.order.pop_front()?;
        let calls = self.calls.get_mut(&definition)?;
        let call = calls.pop_front();
        if calls.is_empty() {
            self.calls.remove(&definition);
        } else {
            self.order.push_back(definition);
        }
        call
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

/// Computes a turn, and says how long that kept the processor.
fn timed(call: &Call) -> (Duration, Outcome) {
    let since = ThreadTime::now();
    let turn = call.job.run();
    (since.elapsed(), turn)
}

/// Starts a thread; says whether the system allowed it.
fn start_thread(name: &str, run: impl FnOnce() + Send + 'static) -> bool {
    let builder = std::thread::Builder::new().name(name.to_owned()).stack_size(STACK_BYTES);
    builder.spawn(run).is_ok()
}

#[cfg(test)]
mod tests {
    use meantime_core::Fault;

    use super::*;

    /// A pool without threads, and what it has said.
    fn pool() -> (Arc<Pool>, Arc<Mutex<Vec<Input>>>) {
        let said = Arc::new(Mutex::new(Vec::new()));
        let heard = said.clone();
        let deliver: Deliver = Box::new(move |input| {
            heard.lock().unwrap_or_else(PoisonError::into_inner).push(input);
        });
        let pool = Pool {
            state: Mutex::default(),
            quick: Condvar::new(),
            slow: Condvar::new(),
            spare: Condvar::new(),
            watch: Condvar::new(),
            width: 2,
            deliver,
        };
        (Arc::new(pool), said)
    }

    fn waits(pool: &Pool, open: usize, jobs: usize) {
        let turns = std::iter::repeat_with(|| None).take(jobs).collect();
        pool.lock().batches.insert(7, Batch { turns, open });
    }

    fn job(number: usize) -> JobName {
        JobName { batch: 7, number, definition: DefinitionId(1) }
    }

    fn turn() -> Outcome {
        Err(Fault::new("NOTHING", "nothing"))
    }

    /// What was said: of `Advanced` which turns it had, of `SlowTurn` its number.
    fn words(said: &Mutex<Vec<Input>>) -> Vec<String> {
        let said = said.lock().unwrap_or_else(PoisonError::into_inner);
        let word = |input: &Input| match input {
            Input::Advanced(_, turns) => {
                let there: Vec<bool> = turns.iter().map(Option::is_some).collect();
                format!("advanced {there:?}")
            }
            _ => "?".to_owned(),
        };
        said.iter().map(word).collect()
    }

    #[test]
    fn the_slow_lane_is_starved_when_its_jobs_hardly_get_the_processor() {
        let mut state = State::default();
        assert!(!state.is_starved());
        state.slow_since.insert((7, 0), Stopwatch::start());
        assert!(!state.is_starved(), "it has just begun");
        state.was_starved = true;
        assert!(state.is_starved());
    }

    #[test]
    fn a_slow_turn_that_is_through_before_its_batch_goes_with_it() {
        let (pool, said) = pool();
        waits(&pool, 1, 2);
        let late = pool.finish(&mut pool.lock(), job(1), turn(), Duration::ZERO);
        assert!(late.is_none(), "its batch has not been answered");
        assert_eq!(words(&said), Vec::<String>::new());
        pool.leave_batch(&mut pool.lock(), 7);
        assert_eq!(words(&said), ["advanced [false, true]"]);
        let late = pool.finish(&mut pool.lock(), job(0), turn(), Duration::ZERO);
        assert!(matches!(late, Some(Input::SlowTurn(7, 0, _))));
        assert_eq!(words(&said), ["advanced [false, true]"]);
    }
}
