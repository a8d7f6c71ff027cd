//! The threads that compute turns.
//!
//! ```text
//!   Advance(batch, jobs) ─► quick lane: a thread per core ──────────► Advanced(batch, turns)
//!                               │ a job that exceeds QUICK_JOB_TIMEOUT takes its thread along;
//!                               ▼ one that is expected to take long comes here directly
//!                           slow lane: low priority ────────────────► SlowTurn(batch, job, turn)
//! ```
//!
//! A batch is answered when all its jobs that are not slow are finished. Slow turns that are
//! finished by then are part of that answer; the others follow one by one and never overtake it: a
//! batch is answered while the lock is held, so a thread that finds the batch gone runs after its
//! answer. A thread whose job is slow leaves the quick lane for good and is replaced. The slow lane
//! runs at the lowest priority of the operating system, so that it uses only idle cores;
//! definitions take turns in it. On a machine that is busy for long, no core may be idle: while the
//! lane is starved, one more thread takes part that always gets a small share. No thread of low
//! priority takes the lock of the pool: the steward does that for them (see [`super::slow_lane`]).
//!
//! The cost of a job is estimated from the last jobs of its definition, in processor time. Of a
//! batch, the cheapest jobs go to the quick lane, none longer than [`QUICK_JOB`], as many as keep
//! it busy for [`QUICK_TIME`]; the others go to the slow lane. So jobs of a few milliseconds do not
//! add up to a batch of a second.
//!
//! Time decides in which lane a turn is computed, never its result (I6). One thread watches for
//! slow jobs, and only while something is computed (I12).

use std::collections::{BTreeMap, VecDeque};
use std::num::NonZero;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::Thread;
use std::time::Duration;

use meantime_core::{DefinitionId, Fault, Turn};

use super::cost::Costs;
use super::slow_lane::{ResultCell, SlowLane, SlowResult};
use super::thread_time::ThreadTime;
use crate::clock::Stopwatch;
use crate::machine::{Input, Job};
use crate::{pause, thread_priority};

/// How long a batch waits for a job.
const QUICK_JOB_TIMEOUT: Duration = Duration::from_millis(5);

/// A job that has used less processor time than this has hardly run: the machine is busy and the
/// job is not slow. Moving it to the slow lane would only make it wait longer.
const MIN_PROCESSOR_TIME: Duration = Duration::from_millis(1);

/// How often a job gets more time for that reason. Then its batch continues without it.
const MAX_PARDONS: u32 = 3;

/// How long the jobs of a batch may occupy the threads of the quick lane, by estimate.
const QUICK_TIME: Duration = Duration::from_millis(2);

/// The largest estimate of a job for the quick lane. Most turns take a tenth of it; those that use
/// up their slice of operations take more.
const QUICK_JOB: Duration = Duration::from_micros(500);

/// How often a job with a higher estimate is tried in the quick lane nevertheless.
const TRY_EVERY: Duration = Duration::from_millis(50);

/// The stack of a thread. Notations limit their recursion well below this.
const STACK_BYTES: usize = 8 << 20;

/// The largest number of threads that left the quick lane with a slow job. Above it, the quick lane
/// gets no replacement until one of them has finished.
const MAX_MOVED_THREADS: usize = 64;

pub(super) type ComputedTurn = Result<Turn, Fault>;

/// Receives the answers.
pub(super) type Deliver = Box<dyn Fn(Input) + Send + Sync>;

/// The pool. Dropping it ends its threads when their jobs are finished.
pub(super) struct Compute(Arc<Pool>);

struct Pool {
    state: Mutex<PoolState>,
    quick: Condvar,
    watch: Condvar,
    /// The thread that serves the slow lane; unset before it has started.
    steward: OnceLock<Thread>,
    /// The number of threads of the quick lane, and of the slow lane.
    width: usize,
    deliver: Deliver,
}

#[derive(Default)]
struct PoolState {
    batches: BTreeMap<u64, Batch>,
    quick: VecDeque<Call>,
    slow: SlowLane,
    /// The running jobs of the quick lane.
    running: BTreeMap<ThreadNumber, Running>,
    next_thread: u64,
    /// Threads of the quick lane, without those that left it with a slow job.
    quick_threads: usize,
    idle_quick: usize,
    is_watched: bool,
    /// Recent costs of jobs.
    costs: Costs,
    /// When a job with a high estimate was last tried in the quick lane.
    last_try: Option<Stopwatch>,
    stopping: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct ThreadNumber(u64);

/// A job that waits or runs.
pub(super) struct Call {
    batch: u64,
    number: usize,
    job: Arc<Job>,
}

/// Identifies a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct JobName {
    pub(super) batch: u64,
    pub(super) number: usize,
    pub(super) definition: DefinitionId,
}

impl Call {
    pub(super) fn is(&self, batch: u64, number: usize) -> bool {
        (self.batch, self.number) == (batch, number)
    }

    pub(super) fn name(&self) -> JobName {
        let definition = self.job.definition_id();
        JobName { batch: self.batch, number: self.number, definition }
    }
}

/// A job that a thread of the quick lane computes.
struct Running {
    name: JobName,
    since: Stopwatch,
    used: ThreadTime,
    thread: thread_priority::Handle,
    /// How often it got more time because it had waited for the processor rather than used it.
    pardons: u32,
    /// Where the thread leaves its turn if the job is slow.
    cell: Arc<ResultCell>,
}

impl Running {
    /// When it is checked, after its start.
    fn patience(&self) -> Duration {
        QUICK_JOB_TIMEOUT.saturating_mul(self.pardons + 1)
    }

    /// Whether it has used the processor, and has not only waited on a busy machine.
    fn is_costly(&self) -> bool {
        self.used.elapsed_of(self.thread).is_none_or(|used| used >= MIN_PROCESSOR_TIME)
    }
}

/// A batch without its complete answer.
struct Batch {
    turns: Vec<Option<ComputedTurn>>,
    /// The number of jobs that it still waits for.
    open: usize,
}

impl Compute {
    /// Starts the threads.
    pub(super) fn start(deliver: Deliver) -> Self {
        let width = std::thread::available_parallelism().map_or(2, NonZero::get).max(2);
        let pool = Pool {
            state: Mutex::default(),
            quick: Condvar::new(),
            watch: Condvar::new(),
            steward: OnceLock::new(),
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
        let steward = pool.clone();
        if let Some(thread) = start_thread("meantime-lane", move || steward.serve_slow_lane()) {
            // Nothing else sets it.
            let _ = pool.steward.set(thread);
        }
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
        // From time to time one job with a high estimate is tried: only the quick lane shows soon
        // that a definition has become cheap, or was considered costly by accident.
        let mut may_try = state.last_try.is_none_or(|last| last.elapsed() >= TRY_EVERY);
        for (cost, call) in calls {
            let is_cheap = cost <= QUICK_JOB;
            let is_try = !is_cheap && may_try && cost <= QUICK_TIME;
            if cost <= left && (is_cheap || is_try) {
                if is_try {
                    may_try = false;
                    state.last_try = Some(Stopwatch::start());
                }
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
            // Answered with the lock held, so before any of its slow turns, which need the lock.
            return (pool.deliver)(Input::Advanced(batch, waiting.turns));
        }
        state.batches.insert(batch, waiting);
        if state.idle_quick > 1 && open > 1 {
            pool.quick.notify_all();
        } else {
            pool.quick.notify_one();
        }
    }

    /// Discards a slow turn. One that is already running finishes for nothing.
    pub(super) fn forget(&self, batch: u64, number: usize) {
        self.0.lock().slow.remove(batch, number);
    }
}

impl Drop for Compute {
    fn drop(&mut self) {
        // Set under the lock: a thread that has just found no job is then already waiting and gets
        // the notification.
        self.0.lock().stopping = true;
        self.0.quick.notify_all();
        self.0.watch.notify_all();
        self.0.wake_steward();
    }
}

impl Pool {
    fn lock(&self) -> MutexGuard<'_, PoolState> {
        // No code panics while it holds the lock: jobs run without it, and their panics are caught.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The time that the quick lane may spend on a batch, over all its threads.
    fn quick_time(&self) -> Duration {
        QUICK_TIME.saturating_mul(u32::try_from(self.width).unwrap_or(u32::MAX))
    }

    fn start_quick(self: &Arc<Self>, state: &mut PoolState) -> bool {
        let number = ThreadNumber(state.next_thread);
        state.next_thread += 1;
        let pool = self.clone();
        let started = start_thread("meantime-turn", move || pool.run_quick(number)).is_some();
        state.quick_threads += usize::from(started);
        started
    }

    fn run_quick(self: &Arc<Self>, thread: ThreadNumber) {
        let handle = thread_priority::current();
        pause::install();
        let cell = Arc::<ResultCell>::default();
        while let Some(call) = self.next_quick(thread, handle, &cell) {
            let (cost, turn) = timed(&call, QUICK_JOB_TIMEOUT);
            if cell.is_slow() {
                // This thread has low priority now. A lock that it held would block the pool while
                // it waits for the processor, so it leaves the result to the steward and ends.
                cell.fill((cost, turn));
                return self.wake_steward();
            }
            if !self.finish_quick(thread, call.name(), turn, cost) {
                return;
            }
        }
    }

    /// The next job of the quick lane; `None` if the pool ends.
    fn next_quick(
        &self,
        thread: ThreadNumber,
        handle: thread_priority::Handle,
        cell: &Arc<ResultCell>,
    ) -> Option<Call> {
        let mut state = self.lock();
        loop {
            if state.stopping {
                return None;
            }
            if let Some(call) = state.quick.pop_front() {
                let (name, since) = (call.name(), Stopwatch::start());
                let used = ThreadTime::now();
                let cell = cell.clone();
                let running = Running { name, since, used, thread: handle, pardons: 0, cell };
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

    /// Finishes a job of the quick lane. Returns whether the thread still belongs to that lane.
    fn finish_quick(
        self: &Arc<Self>,
        thread: ThreadNumber,
        name: JobName,
        turn: ComputedTurn,
        cost: Duration,
    ) -> bool {
        let mut state = self.lock();
        let is_quick = state.running.remove(&thread).is_some();
        if is_quick {
            if let Some(batch) = state.batches.get_mut(&name.batch) {
                batch.open -= 1;
            }
        } else {
            // The job was moved to the slow lane after it had finished, before this thread took the
            // lock.
            state.slow.forget_moved(name);
            self.replace_threads(&mut state);
        }
        let late = self.finish(&mut state, name, turn, cost);
        if state.costs.of(name.definition) > QUICK_JOB {
            self.move_queued(&mut state);
        }
        drop(state);
        late.into_iter().for_each(&self.deliver);
        is_quick
    }

    /// Finishes a job of either lane. If its batch is still waiting, the turn becomes part of that
    /// answer; otherwise it is returned, to be delivered without the lock.
    fn finish(
        &self,
        state: &mut PoolState,
        name: JobName,
        turn: ComputedTurn,
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

    fn push_slow(&self, state: &mut PoolState, call: Call) {
        state.slow.push(call);
        self.wake_steward();
    }

    fn wake_steward(&self) {
        if let Some(steward) = self.steward.get() {
            steward.unpark();
        }
    }

    /// The steward: gives jobs to the threads of the slow lane and collects their results. It
    /// sleeps until it is woken.
    fn serve_slow_lane(self: &Arc<Self>) {
        let steward = std::thread::current();
        loop {
            let mut state = self.lock();
            if state.stopping {
                // Dropping the lane ends its threads when their jobs are finished.
                state.slow = SlowLane::default();
                return;
            }
            let mut late = Vec::new();
            for SlowResult { name, computed: (cost, turn), was_moved } in state.slow.take_results()
            {
                late.extend(self.finish(&mut state, name, turn, cost));
                if was_moved {
                    self.replace_threads(&mut state);
                }
            }
            let look = state.slow.hand_out(self.width, &steward);
            drop(state);
            late.into_iter().for_each(&self.deliver);
            match look {
                Some(time) => std::thread::park_timeout(time),
                None => std::thread::park(),
            }
        }
    }

    /// Watches for jobs that take long, while any job runs.
    fn watch(self: &Arc<Self>) {
        let mut state = self.lock();
        while !state.stopping {
            if state.running.is_empty() {
                state.is_watched = false;
                state = self.watch.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let left = |it: &Running| it.patience().saturating_sub(it.since.elapsed());
            let left = state.running.values().map(left).min().unwrap_or_default();
            if left.is_zero() {
                self.move_slow(&mut state);
            } else {
                let waited = self.watch.wait_timeout(state, left);
                state = waited.unwrap_or_else(PoisonError::into_inner).0;
            }
        }
    }

    /// Moves jobs that take long to the slow lane, with their threads; queued jobs of the same
    /// definition follow.
    fn move_slow(self: &Arc<Self>, state: &mut PoolState) {
        let mut found = Vec::new();
        for (thread, running) in &mut state.running {
            if running.since.elapsed() < running.patience() {
                continue;
            }
            let is_costly = running.is_costly();
            if is_costly || running.pardons == MAX_PARDONS {
                found.push((*thread, is_costly));
            } else {
                running.pardons += 1;
            }
        }
        for (thread, is_costly) in found {
            let Some(running) = state.running.remove(&thread) else { continue };
            let Running { name, cell, thread, .. } = running;
            if is_costly {
                state.costs.at_least(name.definition, QUICK_JOB_TIMEOUT);
            }
            state.quick_threads -= 1;
            cell.set_slow();
            // Not `idle`: a thread can set that priority only for itself.
            thread_priority::lower_most(thread);
            state.slow.add_moved(name, cell);
            self.leave_batch(state, name.batch);
        }
        self.move_queued(state);
        self.replace_threads(state);
    }

    /// Moves queued jobs whose estimate has become too high to the slow lane.
    fn move_queued(self: &Arc<Self>, state: &mut PoolState) {
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
    fn leave_batch(&self, state: &mut PoolState, number: u64) {
        if let Some(batch) = state.batches.get_mut(&number) {
            batch.open -= 1;
        }
        if let Some(answer) = state.answer_if_complete(number) {
            (self.deliver)(answer);
        }
    }

    /// Starts threads until the quick lane has its full width.
    fn replace_threads(self: &Arc<Self>, state: &mut PoolState) {
        while state.quick_threads < self.width && state.slow.moved_threads() <= MAX_MOVED_THREADS {
            if !self.start_quick(state) {
                return;
            }
        }
    }
}

impl PoolState {
    /// The answer to a batch that waits for nothing more.
    fn answer_if_complete(&mut self, number: u64) -> Option<Input> {
        self.batches.get(&number).filter(|batch| batch.open == 0)?;
        let batch = self.batches.remove(&number)?;
        Some(Input::Advanced(number, batch.turns))
    }
}

/// Computes a turn, and measures its processor time. The thread pauses regularly, for the first
/// time after `first_pause`.
pub(super) fn timed(call: &Call, first_pause: Duration) -> (Duration, ComputedTurn) {
    pause::begin(first_pause);
    let since = ThreadTime::now();
    let turn = call.job.run();
    (since.elapsed(), turn)
}

/// Starts a thread; `None` if the system refuses.
pub(super) fn start_thread(name: &str, run: impl FnOnce() + Send + 'static) -> Option<Thread> {
    let builder = std::thread::Builder::new().name(name.to_owned()).stack_size(STACK_BYTES);
    builder.spawn(run).ok().map(|handle| handle.thread().clone())
}

#[cfg(test)]
mod tests {
    use meantime_core::Fault;

    use super::*;

    /// A pool without threads, and the inputs that it delivered.
    fn pool() -> (Arc<Pool>, Arc<Mutex<Vec<Input>>>) {
        let said = Arc::new(Mutex::new(Vec::new()));
        let heard = said.clone();
        let deliver: Deliver = Box::new(move |input| {
            heard.lock().unwrap_or_else(PoisonError::into_inner).push(input);
        });
        let pool = Pool {
            state: Mutex::default(),
            quick: Condvar::new(),
            watch: Condvar::new(),
            steward: OnceLock::new(),
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

    fn turn() -> ComputedTurn {
        Err(Fault::new("NOTHING", "nothing"))
    }

    /// The delivered inputs as text: for `Advanced`, which turns it had.
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
