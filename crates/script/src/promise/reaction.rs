//! Promises, reactions and jobs as values.

use super::coroutine::Coroutine;
use super::gather::Gather;
use crate::awaitable::Awaitable;
use crate::vm::{AwaitableRef, Heap, Value, frame_roots};

/// A promise that the script settles, not the engine.
#[derive(Debug, Clone, Default)]
pub(crate) struct Promise {
    /// How many times a pair of resolving functions was used. A pair counts only once.
    pub(crate) resolves: u32,
    /// The members of `Promise.all` and the like, until it settles.
    pub(crate) gather: Option<Box<Gather>>,
}

/// The value or the error with which something settled.
pub(crate) type Settled = Result<Value, Value>;

/// What happens when a promise settles.
#[derive(Debug, Clone)]
pub(crate) enum Reaction {
    /// Nothing: what waited for it was decided otherwise.
    Ignored,
    /// The workflow continues.
    Main,
    /// A coroutine continues.
    Resume(Box<Coroutine>),
    /// `then(fulfilled, rejected)`
    Then { fulfilled: Value, rejected: Value, derived: AwaitableRef },
    /// `finally(callback)`
    Finally { callback: Value, derived: AwaitableRef },
    /// After the callback of a `finally`: settles the promise as the one before it.
    Pass { with: Settled, derived: AwaitableRef },
    /// Settles a promise that was resolved with this one.
    Adopt { promise: AwaitableRef, resolves: u32 },
    /// A member of `Promise.all` and the like.
    Member { of: AwaitableRef, index: u32 },
}

impl Reaction {
    /// Whether it can still cause anything.
    pub(crate) fn is_live(&self, heap: &Heap) -> bool {
        match self {
            Self::Ignored => false,
            Self::Member { of, .. } => heap.awaitables.get(*of).is_some_and(Awaitable::is_pending),
            _ => true,
        }
    }

    /// Adds the values that it refers to.
    pub(crate) fn references(&self, found: &mut Vec<Value>) {
        match self {
            Self::Ignored | Self::Main => {}
            Self::Resume(coroutine) => coroutine.references(found),
            Self::Then { fulfilled, rejected, derived } => {
                found.extend([fulfilled.clone(), rejected.clone(), Value::Awaitable(*derived)]);
            }
            Self::Finally { callback, derived } => {
                found.extend([callback.clone(), Value::Awaitable(*derived)]);
            }
            Self::Pass { with: Ok(value) | Err(value), derived } => {
                found.extend([value.clone(), Value::Awaitable(*derived)]);
            }
            Self::Adopt { promise: of, .. } | Self::Member { of, .. } => {
                found.push(Value::Awaitable(*of));
            }
        }
    }

    /// Its size in bytes, for the memory budget.
    pub(crate) fn weight(&self) -> usize {
        match self {
            Self::Resume(coroutine) => coroutine.weight(),
            _ => 64,
        }
    }
}

/// Something to do before the turn ends, in order.
#[derive(Debug, Clone)]
pub(crate) enum Job {
    React {
        reaction: Reaction,
        with: Settled,
    },
    /// Calls `then` of the value with which a promise was resolved.
    Follow {
        promise: AwaitableRef,
        resolves: u32,
        thenable: Value,
        then: Value,
    },
    /// Calls the function of `Flow.map` for one of its items.
    Begin {
        of: AwaitableRef,
        index: u32,
    },
}

impl Job {
    /// Adds the values that it refers to.
    pub(crate) fn references(&self, found: &mut Vec<Value>) {
        match self {
            Self::React { reaction, with: Ok(value) | Err(value) } => {
                reaction.references(found);
                found.push(value.clone());
            }
            Self::Follow { promise, thenable, then, .. } => {
                found.extend([Value::Awaitable(*promise), thenable.clone(), then.clone()]);
            }
            Self::Begin { of, .. } => found.push(Value::Awaitable(*of)),
        }
    }
}

impl Coroutine {
    fn references(&self, found: &mut Vec<Value>) {
        found.extend(self.stack.iter().cloned());
        for frame in &self.frames {
            frame_roots(frame, found);
        }
    }

    fn weight(&self) -> usize {
        self.stack.len() * 16 + self.frames.len() * 64
    }
}
