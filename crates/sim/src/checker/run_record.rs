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

/// Everything that checkers may read.
#[derive(Debug, Default)]
pub struct RunRecord {
    /// The calls in order.
    pub calls: Vec<CallRecord>,
    /// The rows at the end.
    pub rows: StoredRows,
    /// Every turn of every instance in order; empty if turns were not recorded.
    pub turns: BTreeMap<InstanceId, Vec<ObservedTurn>>,
    /// Instances that commits have accepted; empty if turns were not recorded.
    pub accepted: BTreeSet<InstanceId>,
    /// Instances that retention removed after they had ended.
    pub purged: BTreeSet<InstanceId>,
    /// Serial numbers of payloads that an incident held at some time: they end with their instance.
    pub held: BTreeSet<u64>,
    /// Whether retention removed anything at all, such as rows of ledgers.
    pub has_purged: bool,
    /// Whether idempotency keys and message ids may have been removed too early: the clock jumped
    /// ahead while a command was in flight.
    pub may_have_forgotten: bool,
    /// Whether turns were recorded.
    pub has_turns: bool,
    /// The limits of the run.
    pub limits: Limits,
}

impl RunRecord {
    /// How every instance began: its id, cause and input. Removed instances are included if turns
    /// were recorded. An instance that could not start and was ended has left no record of it.
    pub fn starts(&self) -> Vec<(InstanceId, StartCause, Json)> {
        let of_turns = self.turns.iter().filter_map(|(id, turns)| match &turns.first()?.cause {
            TurnCause::Start(start) => Some((*id, start.cause.clone(), start.input.clone())),
            TurnCause::Events(_) => None,
        });
        // An instance that ended before its notation was called is known by its history alone.
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

    /// The call with this number.
    pub fn call(&self, number: u64) -> Option<&CallRecord> {
        self.calls.get(usize::try_from(number).ok()?.checked_sub(1)?)
    }
}

/// One request and its answer. `sent_at` and the number in `answer` are logical times: they count
/// steps of the run.
#[derive(Debug, Clone)]
pub struct CallRecord {
    /// The number of the call.
    pub number: u64,
    /// The kind of request.
    pub name: &'static str,
    /// The command.
    pub command: Command,
    /// What the caller waits for.
    pub wait: Wait,
    /// The logical time at which it was sent.
    pub sent_at: u64,
    /// The engine time of the process at which it was sent.
    pub time: Timestamp,
    /// The engine time at which it was answered.
    pub answered: Option<Timestamp>,
    /// The logical time of the answer, and the answer.
    pub answer: Option<(u64, Result<Reply, Error>)>,
    /// The answer will not come: the process died.
    pub lost: bool,
    /// Nothing was in progress any more, and there was no answer.
    pub is_overdue: bool,
}

impl CallRecord {
    /// The successful answer, if there is one.
    pub fn reply(&self) -> Option<&Reply> {
        self.answer.as_ref().and_then(|(_, answer)| answer.as_ref().ok())
    }

    /// Whether the caller knows that the command had no effect.
    pub fn is_refused(&self) -> bool {
        match &self.answer {
            // After this error the outcome is unknown until a restart.
            Some((_, Err(Error::Store { code, .. }))) => *code != "store_failed",
            Some((_, answer)) => answer.is_err(),
            None => false,
        }
    }

    /// Whether this call was answered before the other one was sent.
    pub fn is_before(&self, other: &Self) -> bool {
        self.answer.as_ref().is_some_and(|(at, _)| *at < other.sent_at)
    }
}

/// A turn that was committed, as its notation computed it.
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
    /// The deadline that the notation was given.
    pub deadline: Option<Timestamp>,
    /// The business key.
    pub key: Option<String>,
    /// Codes that some ancestor catches.
    pub catches: Vec<String>,
    /// What caused it.
    pub cause: TurnCause,
    /// The time of its commit.
    pub committed_at: Timestamp,
    /// The phase of the instance before the turn.
    pub phase: Phase,
    /// The state before.
    pub before: State,
    /// The state after.
    pub after: State,
    /// The effects that it requested.
    pub effects: Vec<Effect>,
    /// The status that it returned.
    pub status: Status,
    /// One for each event.
    pub verdicts: Vec<Verdict>,
}

/// What caused a turn.
#[derive(Debug, Clone)]
pub enum TurnCause {
    /// It is the first turn.
    Start(Box<Start>),
    /// The events that it processed.
    Events(Vec<Event>),
}

impl ObservedTurn {
    /// The events with their verdicts.
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

/// The serial number of a payload, if it has one: a bare number, or the field of a step. Every
/// payload that is sent has a unique number, so that checkers recognise it.
pub fn payload_serial(payload: &Json) -> Option<u64> {
    payload.as_str().parse().ok()
}
