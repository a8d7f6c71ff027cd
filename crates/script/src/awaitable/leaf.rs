//! The awaitable as a value of the heap.

use meantime_core::{EffectKey, InstanceId, Json, Timestamp};

use super::combine::Combinator;
use crate::host::EffectKind;
use crate::promise::{Promise, Reaction};
use crate::vm::{AwaitableRef, Heap, Text, Value};

/// An effect of this instance: turn and ordinal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LocalEffectKey {
    pub(crate) turn: u64,
    pub(crate) ordinal: u32,
}

impl LocalEffectKey {
    pub(crate) const fn of(key: EffectKey) -> Self {
        Self { turn: key.turn_no, ordinal: key.ordinal }
    }

    pub(crate) const fn key(self, instance: InstanceId) -> EffectKey {
        instance.effect(self.turn, self.ordinal)
    }
}

/// Something that can be awaited.
#[derive(Debug, Clone)]
pub(crate) struct Awaitable {
    pub(crate) kind: Kind,
    pub(crate) state: AwaitableState,
    /// The combinators that contain this, once for each position. Not saved: computed from them.
    pub(crate) parents: Vec<AwaitableRef>,
    /// What its end causes, in order.
    pub(crate) reactions: Vec<Reaction>,
    /// Whether anything ever waited for it, so that its error is not lost.
    pub(crate) handled: bool,
}

#[derive(Debug, Clone)]
pub(crate) enum Kind {
    Leaf(Leaf),
    Combinator(Combinator),
    Promise(Promise),
}

/// The state of an awaitable.
#[derive(Debug, Clone)]
pub(crate) enum AwaitableState {
    Pending,
    /// A result as JSON text; parsed when it is first read.
    Raw(Json),
    Done(Value),
    Failed(Value),
    /// Cancelled; awaiting it throws `Cancelled`.
    Cancelled,
}

/// An awaitable that stands for one effect.
#[derive(Debug, Clone)]
pub(crate) struct Leaf {
    pub(crate) what: EffectKind,
    pub(crate) step: LocalEffectKey,
    /// The timer that limits it.
    pub(crate) timer: Option<LocalEffectKey>,
    pub(crate) name: Text,
    /// The position of the call in the source.
    pub(crate) at: u32,
    pub(crate) since: Timestamp,
}

impl Awaitable {
    pub(crate) const fn new(kind: Kind, state: AwaitableState) -> Self {
        Self { kind, state, parents: Vec::new(), reactions: Vec::new(), handled: false }
    }

    pub(crate) const fn is_pending(&self) -> bool {
        matches!(self.state, AwaitableState::Pending)
    }

    /// The id that scripts read as `.id`, and as `item_id` in results.
    pub(crate) fn id(&self, instance: InstanceId) -> String {
        match &self.kind {
            Kind::Leaf(leaf) => {
                let prefix = match leaf.what {
                    EffectKind::Task | EffectKind::Http => "tk",
                    EffectKind::Timer => "tm",
                    EffectKind::Signal => "sg",
                    EffectKind::Child => "ch",
                };
                format!("{prefix}_{}", leaf.step.key(instance))
            }
            Kind::Combinator(combinator) => format!("co_{}", combinator.number),
            Kind::Promise(_) => "[object Promise]".to_owned(),
        }
    }

    /// Its own size in bytes, for the memory budget.
    pub(crate) fn weight(&self) -> usize {
        let state = match &self.state {
            AwaitableState::Raw(json) => json.size(),
            _ => 0,
        };
        let members = match &self.kind {
            Kind::Leaf(_) => 0,
            Kind::Combinator(combinator) => combinator.members.len() * 32,
            Kind::Promise(promise) => {
                promise.gather.as_ref().map_or(0, |it| (it.values.len() + it.items.len()) * 16)
            }
        };
        let reactions: usize = self.reactions.iter().map(Reaction::weight).sum();
        state + members + reactions
    }

    /// The values it refers to.
    pub(crate) fn references(&self, heap: &Heap, found: &mut Vec<Value>) {
        for reaction in self.reactions.iter().filter(|it| it.is_live(heap)) {
            reaction.references(found);
        }
        if let Kind::Promise(Promise { gather: Some(gather), .. }) = &self.kind {
            gather.references(found);
        }
        // A decided combinator no longer needs its members.
        if let (Kind::Combinator(combinator), AwaitableState::Pending) = (&self.kind, &self.state) {
            found.extend(combinator.members.iter().cloned());
        }
        if let AwaitableState::Done(value) | AwaitableState::Failed(value) = &self.state {
            found.push(value.clone());
        }
    }
}
