//! Admission of starts when more arrive than can be served.
//!
//! ```text
//!  start ─► room? ─► admitted ─── waits ──► its turn begins ─► committed ─► its caller is answered
//!             │          │                        │                               │
//!             │          └── abandoned            └── the longest wait            └── how late
//!             │                                       of each batch
//!             no: rejected, at no cost       at each interval: fewer or more may be in flight
//! ```
//!
//! A start is in flight from its admission to its commit. A batch takes all pending starts, so the
//! longest wait in it shows how far the engine is behind; the delay between an answer and its
//! caller receiving it shows how far the server's own threads are behind. If even the best batch of
//! an interval and the answers together are later than a target, fewer starts may be in flight;
//! otherwise more may, until there is no bound at all. A burst that is worked off within an
//! interval is never rejected. Other commands (completions, signals, cancels) are not subject to
//! admission.
//!
//! [`Admission`] decides from the times it is given. [`Gate`] shares it and measures.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::clock::Stopwatch;

/// How long a delay must last before anything is rejected.
const DELAY_INTERVAL: Duration = Duration::from_millis(100);

/// This many starts may always be in flight, so that a client that starts little is not rejected
/// because others start much.
const MIN_STARTS_IN_FLIGHT: f64 = 24.0;

/// Only commits of at most this many units show the fixed cost of a commit. The larger ones of a
/// busy engine would make every delay look normal.
const MAX_UNITS_OF_SMALL_COMMIT: usize = 64;

/// How much of the best rate is kept after an interval: half of it after seven seconds.
const BEST_RATE_DECAY: f64 = 0.99;

/// A bound above this is removed.
const MAX_STARTS_IN_FLIGHT: f64 = 16_384.0;

/// No start can be admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Full;

/// The rule itself, without clock and lock. Times count from any fixed moment.
#[derive(Debug)]
pub struct Admission {
    target: Duration,
    /// Starts that were admitted and whose turn has not begun.
    waiting: usize,
    /// Starts whose turn has begun and is not committed.
    begun: usize,
    /// How many may be in flight.
    bound: Option<f64>,
    /// Since when starts wait and no turn has begun.
    stalled_since: Option<Duration>,
    /// The fixed cost of a commit.
    commit: Duration,
    /// The best recent rate of starts that got their turn, per second.
    best: f64,
    interval: Interval,
}

/// Measurements since the last decision.
#[derive(Debug, Default)]
struct Interval {
    began: Duration,
    /// Starts that got their turn.
    starts: usize,
    /// The largest number in flight.
    most: usize,
    /// The smallest of the longest waits of batches.
    least_wait: Option<Duration>,
    /// The sum of the delays of answers, and their number.
    late: Duration,
    answers: u32,
    /// The shortest of the small commits.
    least_commit: Option<Duration>,
}

impl Admission {
    /// Without waiting starts and without a bound.
    pub fn new(target: Duration) -> Self {
        let (commit, interval) = (Duration::ZERO, Interval::default());
        Self {
            target,
            waiting: 0,
            begun: 0,
            bound: None,
            stalled_since: None,
            commit,
            best: 0.0,
            interval,
        }
    }

    /// Whether one more start may be in flight.
    pub fn has_room(&mut self, now: Duration) -> Result<(), Full> {
        self.decide(now);
        let is_full = self.bound.is_some_and(|bound| count(self.in_flight()) >= bound);
        if is_full { Err(Full) } else { Ok(()) }
    }

    /// Admits a start, if there is room.
    pub fn enter(&mut self, now: Duration) -> Result<(), Full> {
        self.has_room(now)?;
        if self.waiting == 0 {
            self.stalled_since = Some(now);
        }
        self.waiting += 1;
        self.interval.most = self.interval.most.max(self.in_flight());
        Ok(())
    }

    /// An admitted start will have no turn.
    pub fn leave(&mut self, now: Duration) {
        self.decide(now);
        self.forget(1);
    }

    /// The turns of `starts` starts begin together; the longest wait among them is given.
    pub fn began(&mut self, now: Duration, starts: usize, longest: Duration) {
        let least = self.interval.least_wait.get_or_insert(longest);
        *least = longest.min(*least);
        self.interval.starts += starts;
        self.forget(starts);
        self.begun += starts;
        self.stalled_since = (self.waiting > 0).then_some(now);
        self.decide(now);
    }

    /// The turns of `starts` starts are committed, or will not be.
    pub fn ended(&mut self, starts: usize) {
        self.begun = self.begun.saturating_sub(starts);
    }

    /// A caller received its answer with this delay.
    pub fn heard(&mut self, late: Duration) {
        self.interval.late = self.interval.late.saturating_add(late);
        self.interval.answers = self.interval.answers.saturating_add(1);
    }

    /// A commit of `units` units took this long.
    pub fn committed(&mut self, units: usize, took: Duration) {
        if units <= MAX_UNITS_OF_SMALL_COMMIT {
            let least = self.interval.least_commit.get_or_insert(took);
            *least = took.min(*least);
        }
    }

    /// How many starts wait for their turn.
    pub const fn waiting(&self) -> usize {
        self.waiting
    }

    const fn in_flight(&self) -> usize {
        self.waiting + self.begun
    }

    fn forget(&mut self, starts: usize) {
        self.waiting = self.waiting.saturating_sub(starts);
        if self.waiting == 0 {
            self.stalled_since = None;
        }
    }

    /// At the end of an interval: decides whether fewer or more may be in flight.
    fn decide(&mut self, now: Duration) {
        let lasted = now.saturating_sub(self.interval.began);
        if lasted < DELAY_INTERVAL {
            return;
        }
        let next = Interval { began: now, most: self.in_flight(), ..Interval::default() };
        let seen = std::mem::replace(&mut self.interval, next);
        let stalled = self.stalled_since.map(|since| now.saturating_sub(since));
        let wait = seen.least_wait.or(stalled.filter(|wait| *wait >= DELAY_INTERVAL));
        // Before a request is read, it waits for the same threads as its answer. That wait cannot
        // be measured, so the delay of the answer counts twice.
        let late = seen.late.checked_div(seen.answers).unwrap_or_default() * 2;
        let wait = wait.map(|wait| wait.saturating_add(late));
        // While one batch is written the next one collects: on a slow disk this wait is no
        // overload.
        self.commit = seen.least_commit.unwrap_or(self.commit);
        let target = self.target.max(self.commit * 2);
        self.best = (self.best * BEST_RATE_DECAY).max(count(seen.starts) / lasted.as_secs_f64());
        // What was once done within the target can be done again: if turns are late with this many
        // in flight, their number is not the reason.
        let floor = (self.best * target.as_secs_f64()).max(MIN_STARTS_IN_FLIGHT);
        self.bound = match (wait, self.bound) {
            (Some(wait), bound) if wait > target => {
                let from = bound.unwrap_or(MAX_STARTS_IN_FLIGHT).min(count(seen.most));
                let share = target.as_secs_f64() / wait.as_secs_f64();
                Some((from * share.clamp(0.5, 0.95)).max(floor))
            }
            (_, bound) => {
                bound.map(|it| it.mul_add(1.05, 1.0)).filter(|it| *it < MAX_STARTS_IN_FLIGHT)
            }
        };
    }
}

#[expect(clippy::cast_precision_loss, reason = "bounds are small")]
const fn count(starts: usize) -> f64 {
    starts as f64
}

/// The rule, shared by all callers that start instances.
#[derive(Debug)]
pub struct Gate {
    watch: Stopwatch,
    rule: Mutex<Admission>,
    refused: AtomicU64,
}

impl Gate {
    /// A gate without a bound.
    pub fn new(target: Duration) -> Arc<Self> {
        let rule = Mutex::new(Admission::new(target));
        Arc::new(Self { watch: Stopwatch::start(), rule, refused: AtomicU64::default() })
    }

    /// Whether a start would be admitted, before anything is spent on it.
    pub fn has_room(&self) -> Result<(), Full> {
        let room = self.rule().has_room(self.watch.elapsed());
        room.inspect_err(|Full| self.count_refused())
    }

    /// Admits a start, if there is room.
    pub fn admit(self: &Arc<Self>) -> Result<Admitted, Full> {
        let entered = self.rule().enter(self.watch.elapsed());
        entered.inspect_err(|Full| self.count_refused())?;
        Ok(Admitted { gate: self.clone(), since: Stopwatch::start(), waits: true })
    }

    /// The turns of these starts begin; returns how many they are.
    pub(crate) fn began(&self, starts: Vec<Admitted>) -> usize {
        let Some(longest) = starts.iter().map(|it| it.since.elapsed()).max() else { return 0 };
        let count = starts.len();
        self.rule().began(self.watch.elapsed(), count, longest);
        starts.into_iter().for_each(Admitted::begin);
        count
    }

    /// The turns of `starts` starts are committed, or will not be.
    pub(crate) fn ended(&self, starts: usize) {
        self.rule().ended(starts);
    }

    /// A caller received an answer that was given at that moment.
    pub(crate) fn heard(&self, given: &Stopwatch) {
        self.rule().heard(given.elapsed());
    }

    pub(crate) fn committed(&self, units: usize, took: Duration) {
        self.rule().committed(units, took);
    }

    /// How many starts were rejected.
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// How many starts wait for their turn.
    pub fn waiting(&self) -> usize {
        self.rule().waiting()
    }

    fn count_refused(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    fn rule(&self) -> MutexGuard<'_, Admission> {
        self.rule.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A start that was admitted. It counts as waiting until its turn begins or this is dropped.
#[derive(Debug)]
pub struct Admitted {
    gate: Arc<Gate>,
    since: Stopwatch,
    waits: bool,
}

impl Admitted {
    fn begin(mut self) {
        self.waits = false;
    }
}

impl Drop for Admitted {
    fn drop(&mut self) {
        if self.waits {
            self.gate.rule().leave(self.gate.watch.elapsed());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TARGET: Duration = Duration::from_millis(20);

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// The turns of `starts` starts begin after the given wait, and are committed at once.
    fn does(gate: &mut Admission, now: Duration, starts: usize, longest: Duration) {
        gate.began(now, starts, longest);
        gate.ended(starts);
    }

    /// A server with a fixed rate in batches of ten milliseconds, and callers with a rate of their
    /// own: returns how many were rejected, and the longest wait at the end.
    fn load(
        gate: &mut Admission,
        from: u64,
        to: u64,
        per_batch: usize,
        arrivals: usize,
    ) -> [u64; 2] {
        let mut queue = std::collections::VecDeque::new();
        let (mut refused, mut longest) = (0, 0);
        for now in (from..to).step_by(10) {
            for _ in 0..arrivals {
                match gate.enter(ms(now)) {
                    Ok(()) => queue.push_back(now),
                    Err(Full) => refused += 1,
                }
            }
            let batch: Vec<u64> = queue.drain(..queue.len().min(per_batch)).collect();
            if let Some(oldest) = batch.first() {
                longest = now + 10 - oldest;
                does(gate, ms(now + 10), batch.len(), ms(longest));
            }
        }
        queue.drain(..).for_each(|_| gate.leave(ms(to)));
        [refused, longest]
    }

    #[test]
    fn what_can_be_done_is_never_refused() {
        let mut gate = Admission::new(TARGET);
        assert_eq!(load(&mut gate, 0, 10_000, 80, 80), [0, 10]);
        assert_eq!(gate.bound, None);
    }

    #[test]
    fn at_three_times_the_load_the_rest_is_refused_and_waits_stay_near_the_target() {
        let mut gate = Admission::new(TARGET);
        load(&mut gate, 0, 2_000, 80, 240);
        let [refused, longest] = load(&mut gate, 2_000, 12_000, 80, 240);
        let share = refused * 100 / 240_000;
        assert!((60..=72).contains(&share), "{share} percent");
        assert!(longest <= 60, "{longest} ms");
        // The server is fully used.
        assert!(240_000 - refused >= 76_000, "{}", 240_000 - refused);
    }

    #[test]
    fn a_burst_that_is_worked_off_in_time_is_let_in() {
        let mut gate = Admission::new(TARGET);
        let entered = (0..700).filter(|_| gate.enter(ms(0)).is_ok()).count();
        does(&mut gate, ms(40), 500, ms(40));
        does(&mut gate, ms(80), 200, ms(80));
        assert_eq!((entered, gate.enter(ms(81))), (700, Ok(())));
        does(&mut gate, ms(82), 1, ms(1));
        assert_eq!((gate.has_room(ms(100)), gate.bound), (Ok(()), None));
    }

    #[test]
    fn turns_that_are_late_for_other_reasons_do_not_throttle_what_can_be_done() {
        let mut gate = Admission::new(TARGET);
        load(&mut gate, 0, 2_000, 80, 80);
        // Something else slows everything down, independent of admission.
        for now in (2_000..4_000).step_by(50) {
            let entered = (0..400).filter(|_| gate.enter(ms(now)).is_ok()).count();
            does(&mut gate, ms(now + 50), entered, ms(50));
        }
        let entered = (0..400).filter(|_| gate.enter(ms(4_000)).is_ok()).count();
        assert!(entered > 100, "{entered}");
    }

    #[test]
    fn when_the_load_is_gone_the_bound_goes_too() {
        let mut gate = Admission::new(TARGET);
        load(&mut gate, 0, 3_000, 80, 240);
        assert!(gate.bound.is_some());
        assert_eq!(load(&mut gate, 3_200, 30_000, 80, 20)[0], 0, "little load is not refused");
        assert_eq!(gate.bound, None);
    }

    #[test]
    fn a_few_may_wait_however_slow_the_engine_is() {
        let mut gate = Admission::new(TARGET);
        let mut now = 0;
        for _ in 0..100 {
            while gate.enter(ms(now)).is_ok() && gate.waiting() < 1_000 {}
            now += 1_000;
            let starts = gate.waiting();
            does(&mut gate, ms(now), starts, ms(1_000));
        }
        let entered = (0..1_000).filter(|_| gate.enter(ms(now)).is_ok()).count();
        assert_eq!(entered, 24);
    }

    #[test]
    fn an_engine_that_does_nothing_at_all_is_noticed() {
        let mut gate = Admission::new(TARGET);
        let entered = (0..5_000).filter(|at| gate.enter(ms(*at)).is_ok()).count();
        assert!(entered < 400, "{entered}");
    }

    #[test]
    fn slow_commits_alone_are_no_overload() {
        let mut gate = Admission::new(TARGET);
        for now in (0..5_000).step_by(100) {
            for _ in 0..400 {
                assert_eq!(gate.enter(ms(now)), Ok(()));
            }
            gate.committed(if now == 0 { 1 } else { 400 }, ms(100));
            does(&mut gate, ms(now + 100), 400, ms(100));
        }
    }

    #[test]
    fn commits_that_are_slow_because_they_are_large_are_overload() {
        let mut gate = Admission::new(TARGET);
        let entered = (0..5_000_u64).step_by(100).map(|now| {
            let entered = (0..400).filter(|_| gate.enter(ms(now)).is_ok()).count();
            let took = ms(u64::try_from(entered / 4).unwrap_or_default());
            gate.committed(entered, took);
            does(&mut gate, ms(now + 100), entered, took);
            entered
        });
        assert!(entered.last().is_some_and(|entered| entered < 200));
    }

    #[test]
    fn answers_that_are_heard_late_are_overload_too() {
        let mut gate = Admission::new(TARGET);
        // More in flight than are done within the target at the best rate.
        let entered = |gate: &mut Admission, now: u64, late: u64| {
            let entered = (0..4_000).filter(|_| gate.enter(ms(now)).is_ok()).count();
            does(gate, ms(now + 1), entered, ms(1));
            (0..entered).for_each(|_| gate.heard(ms(late)));
            entered
        };
        let before: Vec<_> = (0..2_000).step_by(50).map(|at| entered(&mut gate, at, 1)).collect();
        assert!(before.iter().all(|it| *it == 4_000));
        let after: Vec<_> =
            (2_000..5_000).step_by(50).map(|at| entered(&mut gate, at, 30)).collect();
        // At best 80,000 per second: about what is done within the target may always be in flight.
        assert!(after.last().is_some_and(|it| (1_000..1_700).contains(it)), "{after:?}");
    }

    #[test]
    fn a_start_is_in_flight_until_its_batch_is_through() {
        let mut gate = Admission::new(TARGET);
        // One batch per second: nothing else begins meanwhile.
        for now in (0..20_000).step_by(1_000) {
            let entered = (0..1_000).filter(|_| gate.enter(ms(now)).is_ok()).count();
            does(&mut gate, ms(now + 900), entered, ms(900));
        }
        let mut enter = |now| (0..1_000).filter(|_| gate.enter(ms(now)).is_ok()).count();
        let first = enter(20_000);
        assert!(first < 1_000);
        assert_eq!(enter(20_001), 0);
        gate.began(ms(20_002), first, ms(2));
        assert_eq!((0..9).filter(|_| gate.enter(ms(20_003)).is_ok()).count(), 0, "not committed");
        gate.ended(first);
        assert!(gate.enter(ms(20_004)).is_ok());
    }

    #[test]
    fn who_gives_up_waits_no_longer() {
        let gate = Gate::new(TARGET);
        let (one, two) = (gate.admit(), gate.admit());
        assert_eq!(gate.waiting(), 2);
        drop(one);
        assert_eq!(gate.waiting(), 1);
        gate.began(two.into_iter().collect());
        assert_eq!((gate.waiting(), gate.refused()), (0, 0));
    }
}
