//! Results of combinators: lists or objects in the shape of their members.

use super::leaf::{Awaitable, Kind};
use super::settle::AwaitableResult;
use crate::vm::{AwaitableRef, Machine, Record, Value, VmResult};

impl Machine<'_> {
    /// `{item_id, key, …}` of the member that decided.
    pub(super) fn winner(
        &mut self,
        parent: AwaitableRef,
        index: usize,
        status: Option<&str>,
        name: &str,
        value: Value,
    ) -> Value {
        let mut record = Record::default();
        let (member, key) = match self.heap.awaitables.get(parent).map(|it| &it.kind) {
            Some(Kind::Combinator(it)) => (it.members.get(index).cloned(), it.key(index)),
            _ => (None, Value::Undefined),
        };
        let id = match member {
            Some(Value::Awaitable(at)) => {
                let instance = self.instance;
                self.heap.awaitables.get(at).map(|it: &Awaitable| it.id(instance))
            }
            _ => None,
        };
        record.set("item_id".into(), id.map_or(Value::Null, Value::text));
        record.set("key".into(), key);
        if let Some(status) = status {
            record.set("status".into(), Value::text(status));
        }
        record.set(name.into(), value);
        self.heap.new_record(record)
    }

    /// The same, with its status.
    pub(super) fn entry(
        &mut self,
        parent: AwaitableRef,
        index: usize,
        ended: AwaitableResult,
    ) -> Value {
        match ended {
            AwaitableResult::Done(value) => {
                self.winner(parent, index, Some("completed"), "result", value)
            }
            AwaitableResult::Failed(error) => {
                self.winner(parent, index, Some("failed"), "error", error)
            }
        }
    }

    /// Results in the shape of the members.
    pub(super) fn all_results(&mut self, parent: AwaitableRef) -> VmResult<Value> {
        self.shaped(parent, |_, _, ended| match ended {
            AwaitableResult::Done(value) | AwaitableResult::Failed(value) => value,
        })
    }

    pub(super) fn all_entries(&mut self, parent: AwaitableRef) -> VmResult<Value> {
        self.shaped(parent, |it, index, ended| it.entry(parent, index, ended))
    }

    /// JavaScript's `{status, value}` and `{status, reason}`.
    pub(super) fn all_settled(&mut self, parent: AwaitableRef) -> VmResult<Value> {
        self.shaped(parent, |it, _, ended| {
            let (status, name, value) = match ended {
                AwaitableResult::Done(value) => ("fulfilled", "value", value),
                AwaitableResult::Failed(error) => ("rejected", "reason", error),
            };
            let mut record = Record::default();
            record.set("status".into(), Value::text(status));
            record.set(name.into(), value);
            it.heap.new_record(record)
        })
    }

    /// An `AggregateError` with every error, in order.
    pub(super) fn all_errors(&mut self, parent: AwaitableRef) -> VmResult<Value> {
        let mut errors = Vec::new();
        for index in 0..self.member_count(parent) {
            if let Some(AwaitableResult::Failed(error)) = self.member_end(parent, index)? {
                errors.push(error);
            }
        }
        let message = format!("all {} failed", errors.len());
        let errors = self.heap.new_list(errors);
        let error = self.engine_error("AggregateError", "AggregateError", &message, parent);
        if let Value::Record(at) = &error
            && let Some(record) = self.heap.records.get_mut(*at)
        {
            record.set("errors".into(), errors);
        }
        Ok(error)
    }

    fn member_count(&self, parent: AwaitableRef) -> usize {
        match self.heap.awaitables.get(parent).map(|it| &it.kind) {
            Some(Kind::Combinator(combinator)) => combinator.members.len(),
            _ => 0,
        }
    }

    fn shaped(
        &mut self,
        parent: AwaitableRef,
        each: impl Fn(&mut Self, usize, AwaitableResult) -> Value,
    ) -> VmResult<Value> {
        let count = self.member_count(parent);
        self.spend(count);
        let mut values = Vec::with_capacity(count);
        for index in 0..count {
            let value = match self.member_end(parent, index)? {
                Some(ended) => each(self, index, ended),
                None => Value::Undefined,
            };
            values.push(value);
        }
        let keys = match self.heap.awaitables.get(parent).map(|it| &it.kind) {
            Some(Kind::Combinator(combinator)) => combinator.keys.clone(),
            _ => None,
        };
        Ok(match keys {
            None => self.heap.new_list(values),
            Some(keys) => {
                let mut record = Record::default();
                for (key, value) in keys.into_iter().zip(values) {
                    record.set(key, value);
                }
                self.heap.new_record(record)
            }
        })
    }
}
