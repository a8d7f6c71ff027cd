//! `Promise` and its methods, which all awaitables have.

use super::coroutine::CallEnd;
use super::gather::GatherMode;
use super::reaction::Reaction;
use crate::awaitable::CombinatorMode;
use crate::library::Builtin;
use crate::vm::{AwaitableRef, Machine, Record, Value, VmResult, type_error};

/// The methods of awaitables.
pub(crate) fn is_promise_method(name: &str) -> bool {
    matches!(name, "then" | "catch" | "finally")
}

impl Machine<'_> {
    /// `then`, `catch` and `finally`; none for other names.
    pub(crate) fn promise_method(
        &mut self,
        at: AwaitableRef,
        name: &str,
        args: &[Value],
    ) -> VmResult<Option<Value>> {
        let arg = |index: usize| args.get(index).cloned().unwrap_or_default();
        if !is_promise_method(name) {
            return Ok(None);
        }
        let derived = self.new_promise();
        let (callback, is_callable) =
            (arg(0), matches!(arg(0), Value::Function(_) | Value::Builtin(_)));
        let reaction = match name {
            "then" => Reaction::Then { fulfilled: callback, rejected: arg(1), derived },
            "catch" => Reaction::Then { fulfilled: Value::Undefined, rejected: callback, derived },
            _ if is_callable => Reaction::Finally { callback, derived },
            _ => {
                Reaction::Then { fulfilled: Value::Undefined, rejected: Value::Undefined, derived }
            }
        };
        self.react(at, reaction)?;
        Ok(Some(Value::Awaitable(derived)))
    }

    /// The combinators of `Task`, and the functions of `Promise` and `Flow`; none for others.
    pub(crate) fn promise_library(
        &mut self,
        function: Builtin,
        args: &[Value],
    ) -> VmResult<Option<Value>> {
        let first = args.first().cloned().unwrap_or_default();
        if let Some(mode) = CombinatorMode::of(function) {
            return self.combine(mode, &first).map(Some);
        }
        if let Some(mode) = GatherMode::of(function) {
            return self.gather(mode, &first).map(Some);
        }
        match function {
            Builtin::FlowMap => self.flow_map(args).map(Some),
            Builtin::PromiseResolve | Builtin::PromiseReject | Builtin::PromiseWithResolvers => {
                self.promise_function(function, first).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// `Promise.resolve`, `Promise.reject` and `Promise.withResolvers`.
    fn promise_function(&mut self, function: Builtin, value: Value) -> VmResult<Value> {
        if function == Builtin::PromiseResolve {
            return self.promise_of(value).map(Value::Awaitable);
        }
        let promise = self.new_promise();
        if function == Builtin::PromiseReject {
            self.reject(promise, value)?;
            return Ok(Value::Awaitable(promise));
        }
        let [resolve, reject] = self.resolving_functions(promise, 0);
        let mut record = Record::default();
        record.set("promise".into(), Value::Awaitable(promise));
        record.set("resolve".into(), resolve);
        record.set("reject".into(), reject);
        self.heap.grow(6);
        Ok(self.heap.new_record(record))
    }

    /// `new Promise(executor)`. True if a frame was created.
    pub(crate) fn construct_promise(&mut self, args: &[Value]) -> VmResult<bool> {
        let executor = args.first().cloned().unwrap_or_default();
        if !matches!(executor, Value::Function(_) | Value::Builtin(_)) {
            let text = format!("`new Promise` needs a function, not {}", executor.kind_name());
            return Err(type_error(text));
        }
        let promise = self.new_promise();
        let functions = self.resolving_functions(promise, 0).to_vec();
        if let Value::Function(function) = &executor
            && self.native_of(*function).is_none()
        {
            let frame = (promise, true, CallEnd::RejectOnly(0));
            self.call_in_coroutine(frame, *function, Value::Undefined, functions)?;
            return Ok(true);
        }
        let called = self.call_at_once(&executor, &functions);
        if let Err(error) = self.settled(called)?
            && self.use_resolving(promise, 0)
        {
            self.reject(promise, error)?;
        }
        self.stack.push(Value::Awaitable(promise));
        Ok(false)
    }
}
