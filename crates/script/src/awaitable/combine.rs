//! Combinators: created from a list or an object, settled by their members.

use super::leaf::{Awaitable, AwaitableState, Kind};
use crate::library::Builtin;
use crate::vm::{AwaitableRef, Machine, Record, Text, Value, VmResult, type_error};

/// What settles a combinator. Those of `Promise` occur only in states of formats 1 and 2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CombinatorMode {
    All,
    Any,
    Race,
    Settle,
    PromiseAll,
    PromiseAny,
    PromiseRace,
    PromiseAllSettled,
}

/// All modes; the index is stored.
pub(crate) const COMBINATOR_MODES: [CombinatorMode; 8] = [
    CombinatorMode::All,
    CombinatorMode::Any,
    CombinatorMode::Race,
    CombinatorMode::Settle,
    CombinatorMode::PromiseAll,
    CombinatorMode::PromiseAny,
    CombinatorMode::PromiseRace,
    CombinatorMode::PromiseAllSettled,
];

impl CombinatorMode {
    /// The mode of a library function.
    pub(crate) const fn of(function: Builtin) -> Option<Self> {
        Some(match function {
            Builtin::TaskAll => Self::All,
            Builtin::TaskAny => Self::Any,
            Builtin::TaskRace => Self::Race,
            Builtin::TaskSettle => Self::Settle,
            _ => return None,
        })
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::All => "Task.all",
            Self::Any => "Task.any",
            Self::Race => "Task.race",
            Self::Settle => "Task.settle",
            Self::PromiseAll => "Promise.all",
            Self::PromiseAny => "Promise.any",
            Self::PromiseRace => "Promise.race",
            Self::PromiseAllSettled => "Promise.allSettled",
        }
    }

    /// Whether the members that did not decide are cancelled (F2).
    pub(crate) const fn cancels_losers(self) -> bool {
        matches!(self, Self::All | Self::Any | Self::Race)
    }
}

/// A combination.
#[derive(Debug, Clone)]
pub(crate) struct Combinator {
    pub(crate) mode: CombinatorMode,
    /// Its number within the instance.
    pub(crate) number: u32,
    /// The property names, if it was created from an object.
    pub(crate) keys: Option<Vec<Text>>,
    pub(crate) members: Vec<Value>,
    /// The position of the call in the source.
    pub(crate) at: u32,
    /// The number of pending members. Not saved: computed from the members.
    pub(crate) left: usize,
}

impl Combinator {
    /// The key of a member: its index, or its property.
    pub(crate) fn key(&self, position: usize) -> Value {
        match self.keys.as_ref().and_then(|keys| keys.get(position)) {
            Some(key) => Value::Text(key.clone()),
            None => Value::Int(i64::try_from(position).unwrap_or(i64::MAX)),
        }
    }
}

impl Machine<'_> {
    /// Creates a combinator from the members of a list or object.
    pub(crate) fn combine(&mut self, mode: CombinatorMode, from: &Value) -> VmResult<Value> {
        let (keys, members) = match from {
            Value::List(at) => (None, self.heap.lists.get(*at).cloned().unwrap_or_default()),
            Value::Record(at) => {
                let entries = self.heap.records.get(*at).map_or(&[][..], Record::entries);
                let keys = entries.iter().map(|(key, _)| key.clone()).collect();
                (Some(keys), entries.iter().map(|(_, value)| value.clone()).collect())
            }
            other => {
                let text =
                    format!("{} needs a list or an object, not {}", mode.name(), other.kind_name());
                return Err(type_error(text));
            }
        };
        self.spend(members.len());
        let at = self.current_offset();
        let number = self.next_number;
        self.next_number = self.next_number.wrapping_add(1);
        let left = members.iter().filter(|member| self.is_pending(member)).count();
        let combinator = Combinator { mode, number, keys, members: members.clone(), at, left };
        let kind = Kind::Combinator(combinator);
        let new: AwaitableRef = self.heap.awaitable(Awaitable::new(kind, AwaitableState::Pending));
        for member in &members {
            if let Value::Awaitable(member) = member
                && let Some(member) = self.heap.awaitables.get_mut(*member)
                && member.is_pending()
            {
                member.parents.push(new);
                member.handled = true;
            }
        }
        self.settle_new(new)?;
        Ok(Value::Awaitable(new))
    }

    /// Whether a member has not ended. A value that is not an awaitable counts as ended.
    fn is_pending(&self, member: &Value) -> bool {
        match member {
            Value::Awaitable(at) => {
                self.heap.awaitables.get(*at).is_some_and(Awaitable::is_pending)
            }
            _ => false,
        }
    }
}
