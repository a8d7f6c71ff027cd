//! Moves a virtual clock from due time to due time.
//!
//! The clock does not advance while work at the current instant is unfinished: turns, commits, and
//! engine tasks, which take real time. So every turn sees exactly the instant that was due, and the
//! request is answered when everything is committed.

use std::collections::VecDeque;
use std::sync::Arc;

use meantime_core::Timestamp;
use tokio::sync::oneshot;

use crate::clock::{Clock as _, VirtualClock};
use crate::command::Error;
use crate::machine::Machine;

/// How far a virtual clock was moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Advanced {
    /// Its current time.
    pub now: Timestamp,
    /// How many timers fired.
    pub fired: u64,
}

/// A request to move the clock.
pub(super) struct Advance {
    pub(super) to: Timestamp,
    /// How many timers may fire.
    pub(super) limit: u64,
    pub(super) answer: oneshot::Sender<Result<Advanced, Error>>,
}

/// The requests of one kernel; the first is in progress.
pub(super) struct Advances {
    clock: Option<Arc<VirtualClock>>,
    requests: VecDeque<Advance>,
    /// How many timers had fired when the first request began.
    fired_before: Option<u64>,
}

/// What the loop does next.
pub(super) enum Next {
    /// Wait for an input.
    Wait,
    /// The clock was moved: the machine has work.
    Moved,
    /// A request was answered; there may be another one.
    Answered,
}

impl Advances {
    pub(super) fn new(clock: Option<Arc<VirtualClock>>) -> Self {
        Self { clock, requests: VecDeque::new(), fired_before: None }
    }

    pub(super) fn add(&mut self, advance: Advance) {
        self.requests.push_back(advance);
    }

    /// Continues the first request, unless work is unfinished.
    pub(super) fn go_on(&mut self, machine: &Machine, engine_tasks: usize) -> Next {
        let Some(request) = self.requests.front() else { return Next::Wait };
        if !machine.is_idle() || engine_tasks > 0 {
            return Next::Wait;
        }
        let Some(clock) = &self.clock else { return self.answer(Err(Error::ClockNotVirtual)) };
        let (now, counted) = (clock.now().engine, machine.counters().fired);
        let fired = counted - *self.fired_before.get_or_insert(counted);
        if request.to < now && fired == 0 {
            let text = format!("the clock is at {now} and never goes back");
            return self.answer(Err(Error::Invalid(text)));
        }
        if fired > request.limit {
            let limit = request.limit;
            return self.answer(Err(Error::TooManyFirings { now, limit }));
        }
        match machine.next_wakeup().0 {
            // It is due, but the machine cannot fire it: the store has just failed.
            Some(due) if due <= now => Next::Wait,
            Some(due) if due <= request.to => {
                clock.advance_to(due);
                Next::Moved
            }
            _ if now < request.to => {
                clock.advance_to(request.to);
                Next::Moved
            }
            _ => self.answer(Ok(Advanced { now, fired })),
        }
    }

    fn answer(&mut self, answer: Result<Advanced, Error>) -> Next {
        self.fired_before = None;
        if let Some(request) = self.requests.pop_front() {
            // The caller may have gone.
            let _ = request.answer.send(answer);
        }
        Next::Answered
    }
}
