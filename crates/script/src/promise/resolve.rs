//! Resolving and rejecting promises.

use super::reaction::{Job, Promise, Reaction, Settled};
use crate::awaitable::{Awaitable, AwaitableState, Kind};
use crate::vm::{AwaitableRef, FunctionRef, Machine, Text, Value, VmResult};

/// A function that the machine itself performs.
#[derive(Debug, Clone)]
pub(crate) enum NativeFunction {
    /// `resolve` or `reject` of `new Promise`.
    Resolving { promise: AwaitableRef, resolves: u32, rejects: bool },
}

impl NativeFunction {
    /// The values that it refers to.
    pub(crate) fn references(&self, found: &mut Vec<Value>) {
        match self {
            Self::Resolving { promise, .. } => found.push(Value::Awaitable(*promise)),
        }
    }
}

impl Machine<'_> {
    pub(crate) fn new_promise(&mut self) -> AwaitableRef {
        let kind = Kind::Promise(Promise::default());
        self.heap.awaitable(Awaitable::new(kind, AwaitableState::Pending))
    }

    /// Whether the script settles it, not the engine.
    pub(crate) fn is_script_promise(&self, at: AwaitableRef) -> bool {
        let awaitable = self.heap.awaitables.get(at);
        awaitable.is_some_and(|it| matches!(it.kind, Kind::Promise(_)))
    }

    /// Somebody waits for it: its error will not be lost.
    pub(crate) fn set_handled(&mut self, at: AwaitableRef) {
        if let Some(awaitable) = self.heap.awaitables.get_mut(at) {
            awaitable.handled = true;
        }
    }

    pub(crate) fn enqueue(&mut self, reaction: Reaction, with: Settled) {
        self.jobs.push_back(Job::React { reaction, with });
    }

    /// Adds a reaction to a promise that is pending, or a job if it has settled.
    pub(crate) fn react(&mut self, at: AwaitableRef, reaction: Reaction) -> VmResult<()> {
        self.set_handled(at);
        match self.awaited(at)? {
            Some(with) => self.enqueue(reaction, with),
            None => self.add_reaction(at, reaction),
        }
        Ok(())
    }

    pub(crate) fn add_reaction(&mut self, at: AwaitableRef, reaction: Reaction) {
        self.heap.bytes += 64;
        if let Some(awaitable) = self.heap.awaitables.get_mut(at) {
            awaitable.reactions.push(reaction);
        }
    }

    /// Turns the reactions of something that has settled into jobs.
    pub(crate) fn trigger(&mut self, at: AwaitableRef) -> VmResult<()> {
        let reactions = match self.heap.awaitables.get_mut(at) {
            Some(awaitable) if !awaitable.reactions.is_empty() => {
                std::mem::take(&mut awaitable.reactions)
            }
            _ => return Ok(()),
        };
        self.spend(reactions.len());
        if let Some(with) = self.awaited(at)? {
            for reaction in reactions {
                self.enqueue(reaction, with.clone());
            }
        }
        Ok(())
    }

    /// The function `then` of a value that is no promise of ours but behaves like one.
    pub(crate) fn then_of(&mut self, value: &Value) -> VmResult<Option<Value>> {
        let then = match value {
            Value::Record(at) => match self.lookup(*at, &Text::new("then")) {
                Ok(found) => self.resolve(found, value)?,
                Err(_) => return Ok(None),
            },
            Value::Function(_) => self.get_slowly(value, &Text::new("then"))?,
            _ => return Ok(None),
        };
        Ok(matches!(then, Value::Function(_) | Value::Builtin(_)).then_some(then))
    }

    /// Resolves a promise: with a promise, it will settle as that one does.
    pub(crate) fn resolve_promise(&mut self, promise: AwaitableRef, value: Value) -> VmResult<()> {
        if let Value::Awaitable(at) = &value {
            if *at == promise {
                let text = "Chaining cycle detected for promise #<Promise>";
                let error = self.new_error("TypeError", "TypeError", text);
                return self.reject(promise, error);
            }
            self.follow(promise, value, Value::Undefined);
            return Ok(());
        }
        match self.then_of(&value) {
            Ok(None) => self.settle_promise(promise, AwaitableState::Done(value)),
            Ok(Some(then)) => {
                self.follow(promise, value, then);
                Ok(())
            }
            Err(raise) => {
                let error = self.thrown(raise)?;
                self.reject(promise, error)
            }
        }
    }

    /// A job will call `then` of the value.
    pub(super) fn follow(&mut self, promise: AwaitableRef, thenable: Value, then: Value) {
        let resolves = self.resolves_of(promise);
        self.jobs.push_back(Job::Follow { promise, resolves, thenable, then });
    }

    pub(crate) fn reject(&mut self, promise: AwaitableRef, error: Value) -> VmResult<()> {
        let is_lost =
            self.heap.awaitables.get(promise).is_some_and(|it| it.is_pending() && !it.handled);
        let trace = self.held_trace.take();
        if is_lost {
            let trace = trace.map(|trace| Text::new(trace.as_str()));
            self.rejections.push((promise, trace));
        }
        self.settle_promise(promise, AwaitableState::Failed(error))
    }

    fn settle_promise(&mut self, promise: AwaitableRef, state: AwaitableState) -> VmResult<()> {
        match self.heap.awaitables.get_mut(promise) {
            Some(awaitable) if awaitable.is_pending() => {
                if let Kind::Promise(promise) = &mut awaitable.kind {
                    promise.gather = None;
                }
            }
            _ => return Ok(()),
        }
        self.end(promise, state)?;
        self.propagate(promise)
    }

    pub(super) fn resolves_of(&self, promise: AwaitableRef) -> u32 {
        match self.heap.awaitables.get(promise).map(|it| &it.kind) {
            Some(Kind::Promise(promise)) => promise.resolves,
            _ => 0,
        }
    }

    /// Uses a pair of resolving functions; false if it was used before.
    pub(super) fn use_resolving(&mut self, promise: AwaitableRef, resolves: u32) -> bool {
        match self.heap.awaitables.get_mut(promise).map(|it| &mut it.kind) {
            Some(Kind::Promise(promise)) if promise.resolves == resolves => {
                promise.resolves = promise.resolves.wrapping_add(1);
                true
            }
            _ => false,
        }
    }

    /// The functions that settle a promise.
    pub(super) fn resolving_functions(
        &mut self,
        promise: AwaitableRef,
        resolves: u32,
    ) -> [Value; 2] {
        [false, true].map(|rejects| {
            let native = NativeFunction::Resolving { promise, resolves, rejects };
            self.heap.native_function(native)
        })
    }

    /// The function of the machine that a value is, if it is one.
    pub(crate) fn native_of(&self, function: FunctionRef) -> Option<NativeFunction> {
        let closure = self.heap.functions.get(function)?;
        closure.extra.as_ref()?.native.clone()
    }

    /// Calls such a function.
    pub(crate) fn call_native(
        &mut self,
        native: &NativeFunction,
        args: &[Value],
    ) -> VmResult<Value> {
        let NativeFunction::Resolving { promise, resolves, rejects } = *native;
        let value = args.first().cloned().unwrap_or_default();
        if self.use_resolving(promise, resolves) {
            if rejects {
                self.reject(promise, value)?;
            } else {
                self.resolve_promise(promise, value)?;
            }
        }
        Ok(Value::Undefined)
    }

    /// `Promise.resolve(value)`: a promise as it is, anything else in a new one.
    pub(crate) fn promise_of(&mut self, value: Value) -> VmResult<AwaitableRef> {
        if let Value::Awaitable(at) = value {
            return Ok(at);
        }
        let promise = self.new_promise();
        self.resolve_promise(promise, value)?;
        Ok(promise)
    }

    /// After the callback of a `finally`: waits for what it returned, then settles as before.
    pub(super) fn pass_after(
        &mut self,
        derived: AwaitableRef,
        before: Settled,
        returned: Value,
    ) -> VmResult<()> {
        let returned = self.promise_of(returned)?;
        let passed = self.new_promise();
        self.react(returned, Reaction::Pass { with: before, derived: passed })?;
        self.resolve_promise(derived, Value::Awaitable(passed))
    }
}
