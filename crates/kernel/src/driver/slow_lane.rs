//! The slow lane: its queue, its threads, and their results.
//!
//! ```text
//!   queue ──(steward)──► channel of a thread ──► the job runs, at low priority
//!   pool  ◄─(steward)─── result cell of the thread ◄┘
//! ```
//!
//! Its threads run at low priority, so each may lose the processor at any point and for long. A
//! lock that one of them held would block every thread that needs it: when these threads still took
//! the lock of the pool, a busy engine stopped for seconds. So they share nothing that can be held.
//! A job arrives through a channel of the thread, its result leaves through a cell that belongs to
//! the thread until it is marked as full, and the *steward*, a thread of normal priority, does
//! everything that needs the lock.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::Thread;
use std::time::Duration;

use meantime_core::DefinitionId;

use super::compute::{Call, ComputedTurn, JobName, start_thread, timed};
use crate::clock::Stopwatch;
use crate::{pause, thread_priority};

/// The slow lane is starved if its jobs take more than this many times their processor time.
const STARVATION_FACTOR: u32 = 10;

/// If a job of the slow lane runs this long, the lane counts as starved too.
const STARVATION_TIMEOUT: Duration = Duration::from_secs(5);

/// How often the steward checks for starvation while jobs wait for the slow lane.
const STARVATION_CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// A result, and its cost in processor time.
pub(super) type Computed = (Duration, ComputedTurn);

/// Where a thread leaves its result. The lock inside is never contended: the cell belongs to the
/// thread until `is_full` is set, and to the steward from then until the next job.
#[derive(Default)]
pub(super) struct ResultCell {
    is_full: AtomicBool,
    computed: Mutex<Option<Computed>>,
    /// Whether the running job of a quick thread was moved to the slow lane.
    is_slow: AtomicBool,
}

impl ResultCell {
    pub(super) fn fill(&self, computed: Computed) {
        *self.computed.lock().unwrap_or_else(PoisonError::into_inner) = Some(computed);
        // After the result and the lock: the steward locks the cell only when it is full, so it
        // never waits for this thread of low priority.
        self.is_full.store(true, Ordering::Release);
    }

    fn take(&self) -> Option<Computed> {
        if !self.is_full.load(Ordering::Acquire) {
            return None;
        }
        // Relaxed suffices: the thread writes again only after its next job, and the channel that
        // brings the job orders the two.
        self.is_full.store(false, Ordering::Relaxed);
        self.computed.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    pub(super) fn set_slow(&self) {
        self.is_slow.store(true, Ordering::Release);
    }

    pub(super) fn is_slow(&self) -> bool {
        self.is_slow.load(Ordering::Acquire)
    }
}

/// The priority of a thread of the slow lane.
#[derive(Debug, Clone, Copy)]
enum Rank {
    /// It leaves the core at once when another thread needs it.
    Idle,
    /// It always gets a small share of a core.
    Lowered,
}

/// A thread that computes one job after another.
struct SlowThread {
    jobs: mpsc::Sender<Call>,
    cell: Arc<ResultCell>,
    running: Option<(JobName, Stopwatch)>,
}

impl SlowThread {
    /// Starts a thread; `None` if the system refuses. It ends when this is dropped.
    fn start(rank: Rank, steward: Thread) -> Option<Self> {
        let (jobs, calls) = mpsc::channel::<Call>();
        let cell = Arc::new(ResultCell::default());
        let results = cell.clone();
        let run = move || {
            match rank {
                Rank::Idle => thread_priority::idle(),
                Rank::Lowered => thread_priority::lower(thread_priority::current()),
            }
            pause::install();
            for call in calls {
                results.fill(timed(&call, pause::RUN_BETWEEN_PAUSES));
                steward.unpark();
            }
        };
        let name = match rank {
            Rank::Idle => "meantime-slow",
            Rank::Lowered => "meantime-spare",
        };
        start_thread(name, run).map(|_| Self { jobs, cell, running: None })
    }

    fn is_free(&self) -> bool {
        self.running.is_none()
    }

    fn give(&mut self, call: Call) {
        self.running = Some((call.name(), Stopwatch::start()));
        // The thread receives jobs as long as its sender exists.
        let _ = self.jobs.send(call);
    }

    fn take(&mut self) -> Option<(JobName, Stopwatch, Computed)> {
        let computed = self.cell.take()?;
        let (name, since) = self.running.take()?;
        Some((name, since, computed))
    }
}

/// A job that began in the quick lane and takes long; its thread ends with it.
struct MovedJob {
    name: JobName,
    cell: Arc<ResultCell>,
}

/// A result that the steward has collected.
pub(super) struct SlowResult {
    pub(super) name: JobName,
    pub(super) computed: Computed,
    /// Whether it began in the quick lane.
    pub(super) was_moved: bool,
}

#[derive(Default)]
pub(super) struct SlowLane {
    queue: SlowQueue,
    threads: Vec<SlowThread>,
    /// Takes part only while the other threads are starved.
    spare: Option<SlowThread>,
    moved: Vec<MovedJob>,
    /// Whether the last job hardly got the processor.
    was_starved: bool,
}

impl SlowLane {
    pub(super) fn push(&mut self, call: Call) {
        self.queue.push(call);
    }

    /// Removes a queued job that is not wanted any more.
    pub(super) fn remove(&mut self, batch: u64, number: usize) {
        self.queue.remove(batch, number);
    }

    /// Adds a slow job of the quick lane, whose thread continues it.
    pub(super) fn add_moved(&mut self, name: JobName, cell: Arc<ResultCell>) {
        self.moved.push(MovedJob { name, cell });
    }

    /// Removes a moved job that had finished before its thread noticed the move.
    pub(super) fn forget_moved(&mut self, name: JobName) {
        self.moved.retain(|moved| moved.name != name);
    }

    /// How many threads have left the quick lane and still compute.
    pub(super) fn moved_threads(&self) -> usize {
        self.moved.len()
    }

    /// Collects finished results.
    pub(super) fn take_results(&mut self) -> Vec<SlowResult> {
        let mut results = Vec::new();
        for thread in &mut self.threads {
            if let Some((name, since, computed)) = thread.take() {
                self.was_starved = since.elapsed() > computed.0.saturating_mul(STARVATION_FACTOR);
                results.push(SlowResult { name, computed, was_moved: false });
            }
        }
        if let Some((name, _, computed)) = self.spare.as_mut().and_then(SlowThread::take) {
            results.push(SlowResult { name, computed, was_moved: false });
        }
        self.moved.retain(|moved| match moved.cell.take() {
            Some(computed) => {
                results.push(SlowResult { name: moved.name, computed, was_moved: true });
                false
            }
            None => true,
        });
        results
    }

    /// Gives queued jobs to free threads. Returns when to check again if jobs are still queued:
    /// nothing signals that the lane begins to starve.
    pub(super) fn hand_out(&mut self, width: usize, steward: &Thread) -> Option<Duration> {
        while let Some(call) = self.queue.pop() {
            match self.free_thread(width, steward) {
                Some(thread) => thread.give(call),
                None => {
                    self.queue.put_back(call);
                    return Some(STARVATION_CHECK_INTERVAL);
                }
            }
        }
        None
    }

    /// A free thread. The spare thread is used only while the others are starved.
    fn free_thread(&mut self, width: usize, steward: &Thread) -> Option<&mut SlowThread> {
        if let Some(free) = self.threads.iter().position(SlowThread::is_free) {
            return self.threads.get_mut(free);
        }
        if self.threads.len() < width {
            self.threads.extend(SlowThread::start(Rank::Idle, steward.clone()));
            return self.threads.last_mut().filter(|thread| thread.is_free());
        }
        if !self.is_starved() {
            return None;
        }
        if self.spare.is_none() {
            self.spare = SlowThread::start(Rank::Lowered, steward.clone());
        }
        self.spare.as_mut().filter(|thread| thread.is_free())
    }

    /// Whether the threads hardly get the processor.
    fn is_starved(&self) -> bool {
        let is_long = |thread: &SlowThread| {
            thread.running.as_ref().is_some_and(|(_, since)| since.elapsed() >= STARVATION_TIMEOUT)
        };
        self.was_starved || self.threads.iter().any(is_long)
    }
}

/// Queued jobs of the slow lane; definitions take turns.
#[derive(Default)]
struct SlowQueue {
    calls: BTreeMap<DefinitionId, VecDeque<Call>>,
    order: VecDeque<DefinitionId>,
}

impl SlowQueue {
    fn push(&mut self, call: Call) {
        let definition = call.name().definition;
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

    /// Undoes a `pop`.
    fn put_back(&mut self, call: Call) {
        let definition = call.name().definition;
        let calls = self.calls.entry(definition).or_default();
        if !calls.is_empty() {
            self.order.retain(|other| *other != definition);
        }
        calls.push_front(call);
        self.order.push_front(definition);
    }

    fn remove(&mut self, batch: u64, number: usize) {
        for calls in self.calls.values_mut() {
            calls.retain(|call| !call.is(batch, number));
        }
        let calls = &mut self.calls;
        calls.retain(|_, calls| !calls.is_empty());
        self.order.retain(|definition| calls.contains_key(definition));
    }
}

#[cfg(test)]
mod tests {
    use meantime_core::Fault;

    use super::*;

    fn outcome() -> ComputedTurn {
        Err(Fault::new("NOTHING", "nothing"))
    }

    fn job(number: usize) -> JobName {
        JobName { batch: 7, number, definition: DefinitionId(1) }
    }

    /// A thread with a job that it never computes.
    fn busy_thread(number: usize) -> SlowThread {
        let (jobs, _) = mpsc::channel();
        let running = Some((job(number), Stopwatch::start()));
        SlowThread { jobs, cell: Arc::default(), running }
    }

    #[test]
    fn the_lane_is_starved_when_its_jobs_hardly_get_the_processor() {
        let mut lane = SlowLane::default();
        assert!(!lane.is_starved());
        lane.threads.push(busy_thread(0));
        assert!(!lane.is_starved(), "it has just begun");
        lane.was_starved = true;
        assert!(lane.is_starved());
    }

    #[test]
    fn a_result_is_taken_once() {
        let mut lane = SlowLane::default();
        lane.threads.push(busy_thread(3));
        assert!(lane.take_results().is_empty(), "it still computes");
        lane.threads[0].cell.fill((Duration::ZERO, outcome()));
        let results = lane.take_results();
        assert_eq!(results.iter().map(|it| it.name.number).collect::<Vec<_>>(), [3]);
        assert!(lane.threads[0].is_free());
        assert!(lane.take_results().is_empty());
    }

    #[test]
    fn a_job_of_the_quick_lane_that_was_moved_is_found_too() {
        let mut lane = SlowLane::default();
        let cells = [Arc::<ResultCell>::default(), Arc::default(), Arc::default()];
        for (number, cell) in cells.iter().enumerate() {
            lane.add_moved(job(number), cell.clone());
        }
        lane.forget_moved(job(0));
        cells[2].fill((Duration::ZERO, outcome()));
        let results = lane.take_results();
        assert_eq!(results.iter().map(|it| it.name.number).collect::<Vec<_>>(), [2]);
        assert!(results.iter().all(|it| it.was_moved));
        assert_eq!(lane.moved_threads(), 1, "one still computes");
    }
}
