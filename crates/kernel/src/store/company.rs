//! Several nodes on one store: who they are, which part of the work is whose, and what they tell
//! each other.
//!
//! Nothing here is needed for safety: fences and locks see to that. Shares keep nodes from doing
//! the same work twice, and notices make things fast; both may be late or lost.

use std::sync::Arc;

use meantime_core::{InstanceId, Timestamp};
use minicbor::{Decode, Encode};

use super::TimerKey;

/// A node's place among those who share a store. Taken when it joins, free again when it is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Seat(pub u8);

impl Seat {
    /// How many nodes can share a store.
    pub const COUNT: u8 = 64;

    /// How long a seat is kept after the last sign of life, in milliseconds.
    pub const KEPT_MS: i64 = 15_000;

    /// How long its node relies on it: it stops before others may take it.
    pub const LASTS_MS: i64 = 12_000;

    /// Whether a seat that was kept until then is free. A time that is further away than it can be
    /// means that the clock went back, and nobody waits for it to return (P6).
    pub fn is_free(until: Timestamp, now: Timestamp) -> bool {
        let left = until.saturating_since(now);
        left <= 0 || left > Self::KEPT_MS
    }
}

/// The part of the instances that a node looks after: their timers, and what a dead node left.
/// Any node may turn any instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// Which part, from 0.
    pub part: u8,
    /// Of how many.
    pub of: u8,
}

impl Share {
    /// All of it: nobody else is there.
    pub const ALL: Self = Self { part: 0, of: 1 };

    /// Whether an instance belongs to it: by the lowest byte of the random half of its id.
    pub fn holds(self, id: InstanceId) -> bool {
        self.part == Self::part_of(id, self.of)
    }

    /// The part that an instance belongs to.
    pub fn part_of(id: InstanceId, of: u8) -> u8 {
        let [lowest, ..] = id.random().to_le_bytes();
        lowest % of.max(1)
    }
}

/// Who shares the store at the moment, as one node sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Company {
    /// The node's own seat.
    pub seat: Seat,
    /// A number for the time from sitting down to losing the seat, never given again. A node that
    /// lost its seat unnoticed finds another one, even if it sits at the same seat again.
    pub sitting: Option<u64>,
    /// All seats that are taken, its own included, in order.
    pub seats: Vec<Seat>,
    /// How long the seat is surely its own, counted from when it asked; none is for ever.
    pub lasts_ms: Option<i64>,
    /// The store's own time, if the nodes go by it.
    pub time: Option<Timestamp>,
    /// How soon to give the next sign of life, in milliseconds, because somebody may be gone by
    /// then; none is the usual time.
    pub recheck_ms: Option<i64>,
}

impl Company {
    /// A node that shares its store with nobody.
    pub fn alone() -> Self {
        let (seat, seats) = (Seat(0), vec![Seat(0)]);
        Self { seat, sitting: None, seats, lasts_ms: None, time: None, recheck_ms: None }
    }

    /// The node's share of the work.
    pub fn share(&self) -> Share {
        let part = self.seats.iter().position(|seat| *seat == self.seat).unwrap_or_default();
        let of = self.seats.len().clamp(1, usize::from(Seat::COUNT));
        let narrow = |number: usize| u8::try_from(number).unwrap_or(u8::MAX);
        Share { part: narrow(part), of: narrow(of) }
    }

    /// The seat that looks after an instance.
    pub fn seat_of(&self, id: InstanceId) -> Seat {
        let part = usize::from(Share::part_of(id, self.share().of));
        self.seats.get(part).copied().unwrap_or(self.seat)
    }
}

/// What one node tells others after a commit. A lost notice makes something late, never wrong.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub enum Notice {
    /// A timer was armed that is due soon.
    #[n(0)]
    Armed(#[n(0)] TimerKey),
    /// An instance that somebody waits for has come to rest.
    #[n(1)]
    Rested(#[n(0)] InstanceId),
    /// A task became ready for a worker.
    #[n(2)]
    TaskReady {
        /// Its queue.
        #[n(0)]
        queue: String,
        /// Its type; none when it is not known.
        #[n(1)]
        name: Option<String>,
    },
    /// Definitions were deployed or retired.
    #[n(3)]
    Deployed,
    /// Somebody confirmed that a restored copy may act.
    #[n(4)]
    Resumed,
}

/// Whom a notice is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum To {
    /// One node.
    Seat(Seat),
    /// Everybody else.
    Others,
}

/// Hears notices of other nodes.
pub type Listener = Arc<dyn Fn(Vec<Notice>) + Send + Sync>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_instance_belongs_to_exactly_one_seat() {
        let seats = vec![Seat(1), Seat(4), Seat(9)];
        let company = |seat| Company { seat, seats: seats.clone(), ..Company::alone() };
        for number in 0..1_000_u64 {
            let id = InstanceId::new(number, number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            let holders = seats.iter().filter(|seat| company(**seat).share().holds(id));
            let holders: Vec<_> = holders.copied().collect();
            assert_eq!(holders, [company(Seat(1)).seat_of(id)]);
        }
    }

    #[test]
    fn a_node_alone_has_everything() {
        assert_eq!(Company::alone().share(), Share::ALL);
        assert!(Share::ALL.holds(InstanceId::new(7, 9)));
    }
}
