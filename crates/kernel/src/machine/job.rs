//! One call of a notation. A panic is caught and becomes a fault of that instance alone (I10).

use std::borrow::Cow;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use meantime_core::{
    Cx, Definition, DefinitionId, Effect, Event, Fault, InstanceId, Json, Limits, Notation, Start,
    State, Status, Timestamp, Turn,
};

/// A turn to compute. Runs on any thread.
pub struct Job {
    pub(super) notation: Arc<dyn Notation>,
    pub(super) definition: Arc<Definition>,
    pub(super) kind: JobKind,
    pub(super) now: Timestamp,
    pub(super) turn_no: u64,
    pub(super) instance: InstanceId,
    pub(super) definition_id: DefinitionId,
    pub(super) version: u32,
    pub(super) started_at: Timestamp,
    pub(super) deadline: Option<Timestamp>,
    pub(super) key: Option<String>,
    pub(super) catches: Vec<String>,
    pub(super) limits: Arc<Limits>,
    /// Operations since the last event from outside.
    pub(super) ops: u64,
}

/// The function to call.
#[derive(Debug, Clone)]
pub enum JobKind {
    /// The first turn.
    Start(Start),
    /// A later turn.
    Advance(State, Vec<Event>),
}

impl fmt::Debug for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Job")
            .field("instance", &self.instance)
            .field("turn_no", &self.turn_no)
            .field("kind", &self.kind)
            .finish_non_exhaustive()
    }
}

impl Job {
    /// The definition of the instance.
    pub const fn definition_id(&self) -> DefinitionId {
        self.definition_id
    }

    /// Computes the turn and checks that it keeps the contract.
    pub fn run(&self) -> Result<Turn, Fault> {
        let limits = self.limits_of_turn();
        let cx = Cx {
            now: self.now,
            turn_no: self.turn_no,
            instance: self.instance,
            version: self.version,
            started_at: self.started_at,
            deadline: self.deadline,
            key: self.key.as_deref(),
            catches: &self.catches,
            limits: &limits,
        };
        let call = AssertUnwindSafe(|| match &self.kind {
            JobKind::Start(start) => self.notation.start(&self.definition, start, &cx),
            JobKind::Advance(state, events) => {
                self.notation.advance(&self.definition, state, events, &cx)
            }
        });
        let turn = catch_unwind(call).unwrap_or_else(|panic| Err(panicked(panic.as_ref())))?;
        self.check(&turn)?;
        Ok(turn)
    }

    /// The limits, with a slice size that depends on the size of the state.
    fn limits_of_turn(&self) -> Cow<'_, Limits> {
        let JobKind::Advance(state, _) = &self.kind else { return Cow::Borrowed(&self.limits) };
        let ops_per_slice = self.limits.slice_ops(state.bytes.len());
        if ops_per_slice == self.limits.ops_per_slice {
            return Cow::Borrowed(&self.limits);
        }
        Cow::Owned(Limits { ops_per_slice, ..Limits::clone(&self.limits) })
    }

    fn check(&self, turn: &Turn) -> Result<(), Fault> {
        let events = match &self.kind {
            JobKind::Start(_) => 1,
            JobKind::Advance(_, events) => events.len(),
        };
        if turn.verdicts.len() != events {
            let message = format!("{} verdicts for {events} events", turn.verdicts.len());
            return Err(Fault::new("notation_broke_contract", message));
        }
        if self.is_runaway(turn) {
            let element = self.notation.element(&self.definition, &turn.state);
            let at = element.as_ref().map_or_else(String::new, |element| format!(", at {element}"));
            let most = self.limits.ops_runaway;
            let message = format!("more than {most} operations without an event{at}");
            return Err(Fault { code: "runaway".to_owned(), message, element });
        }
        let (effects, limit) = (turn.effects.len(), self.limits.effects_per_turn);
        if effects > limit {
            let message = format!("{effects} effects in one turn, the limit is {limit}");
            return Err(Fault::new("effects_limit", message));
        }
        let (bytes, limit) = (turn.state.bytes.len(), self.limits.state_bytes);
        if bytes > limit {
            let message = format!("the state has {bytes} bytes, the limit is {limit}");
            return Err(Fault::new("state_limit", message));
        }
        let limit = self.limits.payload_bytes;
        match turn.effects.iter().map(payload_bytes).find(|bytes| *bytes > limit) {
            Some(bytes) => {
                let message = format!("a payload has {bytes} bytes, the limit is {limit}");
                Err(Fault::new("payload_limit", message))
            }
            None => Ok(()),
        }
    }
}

impl Job {
    /// Whether an instance has computed for too long without an event from outside.
    fn is_runaway(&self, turn: &Turn) -> bool {
        let JobKind::Advance(_, events) = &self.kind else { return false };
        events.iter().all(|event| matches!(event, Event::Continue))
            && matches!(turn.status, Status::Yield)
            && self.ops.saturating_add(turn.ops) > self.limits.ops_runaway
    }
}

fn payload_bytes(effect: &Effect) -> usize {
    match effect {
        Effect::ScheduleTask(task) => task.input.size(),
        Effect::StartChild(child) => {
            child.input.size().max(child.context.as_ref().map_or(0, Json::size))
        }
        Effect::PublishMessage(message) => message.payload.size(),
        Effect::Broadcast { payload, .. } => payload.size(),
        Effect::Record { data, .. } => data.size(),
        _ => 0,
    }
}

fn panicked(panic: &(dyn std::any::Any + Send)) -> Fault {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    Fault::new("notation_panicked", text.unwrap_or_else(|| "unknown panic".to_owned()))
}
