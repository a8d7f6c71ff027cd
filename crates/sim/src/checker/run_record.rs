//! What checkers know of a run: calls and replies, the stored rows and, if they were recorded, all
//! turns.

use std::collections::{BTreeMap, BTreeSet};

use meantime_core::{
    Effect, Event, InstanceId, Json, Limits, Start, StartCause, State, Status, Timestamp, Verdict,
};
use meantime_kernel::command::{Command, Error, Reply, Wait};
use meantime_kernel::history::Record;
use meantime_kernel::store::Phase;

use super::stored_rows::StoredRows;

/// Everything the checkers may look at.
#[derive(Debug, Default)]
pub struct RunRecord {
    /// What was asked, in order.
    pub calls: Vec<CallRecord>,
    /// The rows at the end.
    pub rows: StoredRows,
    /// Every turn of every instance in order; empty if turns were not recorded.
    pub turns: BTreeMap<InstanceId, Vec<ObservedTurn>>,
    /// Instances that commits have accepted; empty if turns were not recorded.
    pub accepted: BTreeSet<InstanceId>,
    /// Instances that were removed because they were over.
    pub purged: BTreeSet<InstanceId>,
    /// Numbers of payloads that an incident held back at some time: they end with their instance.
    pub held: BTreeSet<u64>,
    /// Whether anything at all was removed, such as lines of ledgers.
    pub has_purged: bool,
    /// Whether what remembers requests and message ids may have been removed too early: the clock
    /// jumped ahead while something was on its way.
    pub may_have_forgotten: bool,
    /// Whether the turns are there.
    pub has_turns: bool,
    /// The limits that held.
    pub limits: Limits,
}

impl RunRecord {
    /// How every instance began: who, why, and with what. Removed instances are included if turns
    /// were recorded. One that could not start and was ended has left no trace of it.
    pub fn starts(&self) -> Vec<(InstanceId, StartCause, Json)> {
        let of_turns = self.turns.iter().filter_map(|(id, turns)| match &turns.first()?.cause {
            TurnCause::Start(start) => Some((*id, start.cause.clone(), start.input.clone())),
            TurnCause::Events(_) => None,
        });
        // Whoever ended before its notation was asked is known by its history alone.
        let others = self.rows.histories.iter().filter(|(id, _)| !self.turns.contains_key(id));
        let of_histories = others.filter_map(|(id, rows)| {
            rows.first()?.records.iter().find_map(|record| match record {
                Record::Started { cause, input } => Some((*id, cause.clone(), input.clone())),
                _ => None,
            })
        });
        let waiting = self.rows.instances.values().filter(|row| row.phase == Phase::Starting);
        let of_rows = waiting.filter_map(|row| {
            let start: Start = minicbor::decode(&row.state.bytes).ok()?;
            Some((row.id, start.cause, start.input))
        });
        of_turns.chain(of_histories).chain(of_rows).collect()
    }

    /// The call of a number.
    pub fn call(&self, number: u64) -> Option<&CallRecord> {
        self.calls.get(usize::try_from(number).ok()?.checked_sub(1)?)
    }
}

/// One request and what became of it. Moments count things that happened, not time.
#[derive(Debug, Clone)]
pub struct CallRecord {
    /// Its number.
    pub number: u64,
    /// What kind of request, in words.
    pub name: &'static str,
    /// What was asked.
    pub command: Command,
    /// For how long the caller waits.
    pub wait: Wait,
    /// When it was asked.
    pub sent_at: u64,
    /// The time at which it was asked, as the process that was asked knew it.
    pub time: Timestamp,
    /// The time at which it was answered.
    pub answered: Option<Timestamp>,
    /// When it was answered, and what.
    pub answer: Option<(u64, Result<Reply, Error>)>,
    /// The answer cannot come any more: the process died.
    pub lost: bool,
    /// Everything had settled, and there was no answer.
    pub is_overdue: bool,
}

impl CallRecord {
    /// The good answer, if there was one.
    pub fn reply(&self) -> Option<&Reply> {
        self.answer.as_ref().and_then(|(_, answer)| answer.as_ref().ok())
    }

    /// Whether the caller knows that nothing was done.
    pub fn is_refused(&self) -> bool {
        match &self.answer {
            // Only a restart can judge this one.
            Some((_, Err(Error::Store { code, .. }))) => *code != "store_failed",
            Some((_, answer)) => answer.is_err(),
            None => false,
        }
    }

    /// Whether this one was answered before another one was asked.
    pub fn is_before(&self, other: &Self) -> bool {
        self.answer.as_ref().is_some_and(|(at, _)| *at < other.sent_at)
    }
}

/// A turn that took effect, as its notation saw it.
#[derive(Debug, Clone)]
pub struct ObservedTurn {
    /// The instance.
    pub instance: InstanceId,
    /// The version of its definition.
    pub version: u32,
    /// The turn's number.
    pub turn_no: u64,
    /// The turn's instant.
    pub now: Timestamp,
    /// When the instance was accepted.
    pub started_at: Timestamp,
    /// The deadline it was told.
    pub deadline: Option<Timestamp>,
    /// The business key.
    pub key: Option<String>,
    /// Codes that some ancestor catches.
    pub catches: Vec<String>,
    /// What made it.
    pub cause: TurnCause,
    /// The time of its commit.
    pub committed_at: Timestamp,
    /// The phase in which it met its instance.
    pub phase: Phase,
    /// The state before.
    pub before: State,
    /// The state after.
    pub after: State,
    /// What it wanted done.
    pub effects: Vec<Effect>,
    /// Where it left the instance.
    pub status: Status,
    /// One for each event.
    pub verdicts: Vec<Verdict>,
}

/// What made a turn.
#[derive(Debug, Clone)]
pub enum TurnCause {
    /// It is the first one.
    Start(Box<Start>),
    /// Something happened.
    Events(Vec<Event>),
}

impl ObservedTurn {
    /// Events with what became of each.
    pub fn events(&self) -> impl Iterator<Item = (&Event, &Verdict)> {
        let events = match &self.cause {
            TurnCause::Start(_) => &[],
            TurnCause::Events(events) => events.as_slice(),
        };
        events.iter().zip(&self.verdicts)
    }

    /// Events that were taken.
    pub fn taken(&self) -> impl Iterator<Item = &Event> {
        let is_taken = |verdict: &Verdict| matches!(verdict, Verdict::Taken { .. });
        self.events().filter(move |(_, verdict)| is_taken(verdict)).map(|(event, _)| event)
    }
}
