//! `Promise.all` and the like, and `Flow.map`: promises that others settle, through jobs.

use super::coroutine::CallEnd;
use super::reaction::{Job, Reaction, Settled};
use crate::awaitable::Kind as AwaitableKind;
use crate::library::{Builtin, Kind};
use crate::vm::{AwaitableRef, Machine, Record, Value, VmResult, corrupt, range_error, type_error};

/// What the members of a promise do with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GatherMode {
    All,
    AllSettled,
    Any,
    Race,
    /// `Flow.map`: like `All`, with items whose calls have not begun.
    Map,
}

/// All modes; the index is stored.
pub(crate) const GATHER_MODES: [GatherMode; 5] =
    [GatherMode::All, GatherMode::AllSettled, GatherMode::Any, GatherMode::Race, GatherMode::Map];

/// The members of a promise that have settled, and the number of those that have not.
#[derive(Debug, Clone)]
pub(crate) struct Gather {
    pub(crate) mode: GatherMode,
    pub(crate) values: Vec<Value>,
    pub(crate) left: u32,
    /// Of `Flow.map`: the function, the items, and the next one to begin.
    pub(crate) function: Value,
    pub(crate) items: Vec<Value>,
    pub(crate) next: u32,
}

impl Gather {
    /// Adds the values that it refers to.
    pub(crate) fn references(&self, found: &mut Vec<Value>) {
        found.extend(self.values.iter().cloned());
        found.extend(self.items.iter().cloned());
        found.push(self.function.clone());
    }
}

impl GatherMode {
    /// The mode of a library function.
    pub(crate) const fn of(function: Builtin) -> Option<Self> {
        Some(match function {
            Builtin::PromiseAll => Self::All,
            Builtin::PromiseAllSettled => Self::AllSettled,
            Builtin::PromiseAny => Self::Any,
            Builtin::PromiseRace => Self::Race,
            _ => return None,
        })
    }
}

impl Machine<'_> {
    /// `Promise.all(iterable)` and the like.
    pub(crate) fn gather(&mut self, mode: GatherMode, from: &Value) -> VmResult<Value> {
        let promise = self.new_promise();
        let items = match self.members(from) {
            Ok(items) => items,
            Err(raise) => {
                let error = self.thrown(raise)?;
                self.reject(promise, error)?;
                return Ok(Value::Awaitable(promise));
            }
        };
        self.spend(items.len());
        let (count, mut members) = (items.len(), Vec::with_capacity(items.len()));
        for item in items {
            members.push(self.promise_of(item)?);
        }
        self.set_gather(
            promise,
            Gather {
                mode,
                values: vec![Value::Undefined; count],
                left: u32::try_from(count).unwrap_or(u32::MAX),
                function: Value::Undefined,
                items: Vec::new(),
                next: 0,
            },
        );
        for (member, index) in members.into_iter().zip(0u32..) {
            self.react(member, Reaction::Member { of: promise, index })?;
        }
        if count == 0 {
            self.complete_gather(promise)?;
        }
        Ok(Value::Awaitable(promise))
    }

    fn members(&mut self, from: &Value) -> VmResult<Vec<Value>> {
        let is_plain =
            matches!(from, Value::Record(_)) && self.object_kind(from) == Some(Kind::Record);
        match from {
            Value::Record(_) if is_plain => {
                Err(type_error("an object is not iterable: use `Task.all` and the like"))
            }
            Value::Record(_) | Value::List(_) | Value::Text(_) => self.elements(from),
            other => Err(type_error(format!("{} is not iterable", other.kind_name()))),
        }
    }

    /// `Flow.map(items, function, { concurrency })`
    pub(crate) fn flow_map(&mut self, args: &[Value]) -> VmResult<Value> {
        let arg = |index: usize| args.get(index).cloned().unwrap_or_default();
        let items = self.elements(&arg(0))?;
        let function = arg(1);
        if !matches!(function, Value::Function(_) | Value::Builtin(_)) {
            let text = format!("`Flow.map` needs a function, not {}", function.kind_name());
            return Err(type_error(text));
        }
        let count = u32::try_from(items.len()).unwrap_or(u32::MAX);
        let at_once = self.concurrency(&arg(2), count)?;
        let promise = self.new_promise();
        self.spend(items.len());
        self.heap.grow(items.len().saturating_mul(2));
        self.set_gather(
            promise,
            Gather {
                mode: GatherMode::Map,
                values: vec![Value::Undefined; items.len()],
                left: count,
                function,
                items,
                next: at_once.min(count),
            },
        );
        for index in 0..at_once.min(count) {
            self.jobs.push_back(Job::Begin { of: promise, index });
        }
        if count == 0 {
            self.complete_gather(promise)?;
        }
        Ok(Value::Awaitable(promise))
    }

    fn concurrency(&mut self, options: &Value, all: u32) -> VmResult<u32> {
        let named = match options {
            Value::Undefined => return Ok(all),
            Value::Record(_) => self.properties(options)?,
            other => {
                let text = format!("the options of `Flow.map` are {}", other.kind_name());
                return Err(type_error(text));
            }
        };
        let mut at_once = all;
        for (name, value) in named {
            if name.as_str() != "concurrency" {
                let text = format!("`Flow.map` has no option `{}`", name.as_str());
                return Err(type_error(text));
            }
            at_once = match (&value, value.as_int()) {
                (_, Some(number)) if number >= 1 => u32::try_from(number).unwrap_or(u32::MAX),
                (Value::Float(number), _) if number.is_infinite() && *number > 0.0 => all,
                _ => return Err(range_error("`concurrency` is a whole number of at least 1")),
            };
        }
        Ok(at_once)
    }

    fn set_gather(&mut self, promise: AwaitableRef, gather: Gather) {
        self.heap.grow(gather.values.len());
        if let Some(AwaitableKind::Promise(promise)) =
            self.heap.awaitables.get_mut(promise).map(|it| &mut it.kind)
        {
            promise.gather = Some(Box::new(gather));
        }
    }

    fn gather_of(&mut self, promise: AwaitableRef) -> Option<&mut Gather> {
        let awaitable = self.heap.awaitables.get_mut(promise).filter(|it| it.is_pending())?;
        match &mut awaitable.kind {
            AwaitableKind::Promise(promise) => promise.gather.as_deref_mut(),
            _ => None,
        }
    }

    /// Begins the call for an item of `Flow.map`.
    pub(super) fn begin_item(&mut self, of: AwaitableRef, index: u32) -> VmResult<()> {
        let Some(gather) = self.gather_of(of) else { return Ok(()) };
        let function = gather.function.clone();
        let item = gather.items.get_mut(index as usize).map(std::mem::take).unwrap_or_default();
        let member = self.new_promise();
        self.react(member, Reaction::Member { of, index })?;
        let mut args = vec![item, Value::Int(i64::from(index))];
        if let Value::Builtin(function) = &function {
            args.truncate(function.arity().1.unwrap_or(args.len()));
        }
        self.run_handler(&function, args, member, CallEnd::Settle)
    }

    /// A member has settled.
    pub(super) fn member_settled(
        &mut self,
        of: AwaitableRef,
        index: u32,
        with: Settled,
    ) -> VmResult<()> {
        let Some(gather) = self.gather_of(of) else { return Ok(()) };
        let value = match (gather.mode, with) {
            (GatherMode::Race, with) => return self.settle_as(of, with),
            (GatherMode::Any, Ok(value)) => return self.resolve_promise(of, value),
            (GatherMode::All | GatherMode::Map, Err(error)) => return self.reject(of, error),
            (GatherMode::AllSettled, with) => self.settled_entry(with),
            (_, Ok(value) | Err(value)) => value,
        };
        let Some(gather) = self.gather_of(of) else { return Ok(()) };
        match gather.values.get_mut(index as usize) {
            Some(place) => *place = value,
            None => return Err(corrupt("a member without a place")),
        }
        gather.left = gather.left.saturating_sub(1);
        let left = gather.left;
        if gather.mode == GatherMode::Map && (gather.next as usize) < gather.items.len() {
            let index = gather.next;
            gather.next += 1;
            self.jobs.push_back(Job::Begin { of, index });
        }
        if left == 0 { self.complete_gather(of) } else { Ok(()) }
    }

    /// JavaScript's `{status, value}` and `{status, reason}`.
    fn settled_entry(&mut self, with: Settled) -> Value {
        let (status, name, value) = match with {
            Ok(value) => ("fulfilled", "value", value),
            Err(error) => ("rejected", "reason", error),
        };
        let mut record = Record::default();
        record.set("status".into(), Value::text(status));
        record.set(name.into(), value);
        self.heap.new_record(record)
    }

    /// No member is left.
    fn complete_gather(&mut self, of: AwaitableRef) -> VmResult<()> {
        let Some(gather) = self.gather_of(of) else { return Ok(()) };
        let (mode, values) = (gather.mode, std::mem::take(&mut gather.values));
        if mode == GatherMode::Race {
            return Ok(());
        }
        let values = self.new_list(values)?;
        if mode != GatherMode::Any {
            return self.resolve_promise(of, values);
        }
        let text = Value::text("All promises were rejected");
        let error = self.make_error(Builtin::MakeAggregateError, &[values, text])?;
        self.reject(of, error)
    }
}
