//! Runs jobs, one by one, above the parked workflow.

use super::coroutine::CallEnd;
use super::reaction::{Job, Reaction, Settled};
use crate::awaitable::Kind;
use crate::compile::Op;
use crate::vm::{AwaitableRef, Frame, LoopControl, Machine, StopReason, Value, VmResult};

impl Machine<'_> {
    /// The next job, or the reason to stop.
    pub(crate) fn next_job(&mut self) -> VmResult<LoopControl> {
        if self.is_slice_over() && self.has_work() {
            return Ok(LoopControl::Stop(StopReason::Yield));
        }
        if let Some(Frame::Script(frame)) = self.frames.last() {
            self.pc = frame.pc;
        }
        self.check_memory()?;
        if let Some(job) = self.jobs.pop_front() {
            self.spend(2);
            self.run_job(job)?;
            return Ok(LoopControl::Frame);
        }
        for (promise, trace) in std::mem::take(&mut self.rejections) {
            if let Some(stop) = self.lost_error(promise, trace)? {
                return Ok(LoopControl::Stop(stop));
            }
        }
        if matches!(self.next_op(), Some(Op::Finish)) {
            self.parked = 0;
            return Ok(LoopControl::Frame);
        }
        Ok(LoopControl::Stop(StopReason::Waiting))
    }

    /// Whether there is something to do before the script can wait or end.
    pub(crate) fn has_work(&self) -> bool {
        !self.jobs.is_empty() || !self.rejections.is_empty()
    }

    /// Drops errors that have been handled meanwhile: the state does not say so.
    pub(crate) fn forget_handled_errors(&mut self) {
        let awaitables = &self.heap.awaitables;
        self.rejections.retain(|(at, _)| awaitables.get(*at).is_some_and(|it| !it.handled));
    }

    /// Stops with the error of a promise that nobody handles.
    fn lost_error(
        &mut self,
        promise: AwaitableRef,
        trace: Option<crate::vm::Text>,
    ) -> VmResult<Option<StopReason>> {
        let is_handled = self.heap.awaitables.get(promise).is_none_or(|it| it.handled);
        if is_handled {
            return Ok(None);
        }
        let Some(Err(error)) = self.awaited(promise)? else { return Ok(None) };
        let trace = trace.and_then(|text| meantime_core::Json::parse(text.as_str()).ok());
        let trace = trace.unwrap_or_else(|| meantime_core::Json::list(&[]));
        self.stack.push(error);
        Ok(Some(StopReason::Uncaught { trace }))
    }

    fn run_job(&mut self, job: Job) -> VmResult<()> {
        match job {
            Job::React { reaction, with } => self.run_reaction(reaction, with),
            Job::Follow { promise, resolves, thenable, then } => {
                self.run_follow(promise, resolves, thenable, &then)
            }
            Job::Begin { of, index } => self.begin_item(of, index),
        }
    }

    fn run_reaction(&mut self, reaction: Reaction, with: Settled) -> VmResult<()> {
        match reaction {
            Reaction::Ignored => Ok(()),
            Reaction::Main => {
                self.parked = 0;
                self.continue_await(with)
            }
            Reaction::Resume(coroutine) => self.resume(*coroutine, with),
            Reaction::Then { fulfilled, rejected, derived } => {
                let handler = if with.is_ok() { fulfilled } else { rejected };
                match (handler, with) {
                    (
                        handler @ (Value::Function(_) | Value::Builtin(_)),
                        Ok(value) | Err(value),
                    ) => self.run_handler(&handler, vec![value], derived, CallEnd::Settle),
                    (_, with) => self.settle_as(derived, with),
                }
            }
            Reaction::Finally { callback, derived } => {
                self.run_handler(&callback, Vec::new(), derived, CallEnd::Finally(with))
            }
            Reaction::Pass { with: before, derived } => {
                let with = with.and(before);
                self.settle_as(derived, with)
            }
            Reaction::Adopt { promise, resolves } => {
                if self.use_resolving(promise, resolves) {
                    return self.settle_as(promise, with);
                }
                Ok(())
            }
            Reaction::Member { of, index } => self.member_settled(of, index, with),
        }
    }

    pub(super) fn settle_as(&mut self, promise: AwaitableRef, with: Settled) -> VmResult<()> {
        match with {
            Ok(value) => self.resolve_promise(promise, value),
            Err(error) => self.reject(promise, error),
        }
    }

    /// Calls a handler; its end settles the derived promise.
    pub(super) fn run_handler(
        &mut self,
        handler: &Value,
        args: Vec<Value>,
        derived: AwaitableRef,
        end: CallEnd,
    ) -> VmResult<()> {
        if let Value::Function(function) = handler
            && self.native_of(*function).is_none()
        {
            let frame = (derived, false, end);
            return self.call_in_coroutine(frame, *function, Value::Undefined, args);
        }
        self.push_coroutine(derived, false, end);
        let called = self.call_at_once(handler, &args);
        let with = self.settled(called)?;
        self.end_coroutine(with).map(|_| ())
    }

    /// Calls a function of the library or of the machine.
    pub(super) fn call_at_once(&mut self, function: &Value, args: &[Value]) -> VmResult<Value> {
        match function {
            Value::Function(at) => match self.native_of(*at) {
                Some(native) => self.call_native(&native, args),
                None => self.call_now(function, Value::Undefined, args),
            },
            _ => self.call_now(function, Value::Undefined, args),
        }
    }

    /// The result of an operation; a fault passes through.
    pub(super) fn settled(&mut self, result: VmResult<Value>) -> VmResult<Settled> {
        match result {
            Ok(value) => Ok(Ok(value)),
            Err(raise) => Ok(Err(self.thrown(raise)?)),
        }
    }

    /// Calls `then` of the value with which a promise was resolved.
    fn run_follow(
        &mut self,
        promise: AwaitableRef,
        resolves: u32,
        thenable: Value,
        then: &Value,
    ) -> VmResult<()> {
        if let Value::Awaitable(at) = thenable {
            return self.react(at, Reaction::Adopt { promise, resolves });
        }
        let args = self.resolving_functions(promise, resolves).to_vec();
        let end = CallEnd::RejectOnly(resolves);
        match then {
            Value::Function(function) if self.native_of(*function).is_none() => {
                self.call_in_coroutine((promise, false, end), *function, thenable, args)
            }
            other => self.run_handler(other, args, promise, end),
        }
    }

    /// Whether the workflow waits and there is nothing to do.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.is_parked() && !self.has_work()
    }

    /// Whether the workflow waits for a promise that nothing can settle: no event of the engine
    /// would cause anything.
    pub fn is_stuck(&self) -> bool {
        let awaits_promise = match self.stack.last() {
            Some(Value::Awaitable(at)) => match self.heap.awaitables.get(*at).map(|it| &it.kind) {
                Some(Kind::Leaf(_)) | None => false,
                Some(Kind::Combinator(_) | Kind::Promise(_)) => true,
            },
            _ => false,
        };
        if !awaits_promise || !self.is_waiting() || self.has_pending_cancellations() {
            return false;
        }
        let marks = self.mark_from(self.saved_roots());
        let mut leaves = self.heap.awaitables.iter::<AwaitableRef>();
        let is_reached = |at: AwaitableRef| marks.awaitables.get(at.0 as usize) == Some(&true);
        !leaves
            .any(|(at, it)| matches!(it.kind, Kind::Leaf(_)) && it.is_pending() && is_reached(at))
    }

    /// The `await` of such a promise throws.
    pub fn fail_stuck(&mut self) {
        let text = "nothing can settle this promise any more";
        if let Some(Frame::Script(frame)) = self.frames.last() {
            self.pc = frame.pc;
        }
        let error = self.new_error("Error", "never_settles", text);
        if let Some(Value::Awaitable(at)) = self.stack.last().cloned()
            && let Some(awaitable) = self.heap.awaitables.get_mut(at)
        {
            awaitable.reactions.retain(|it| !matches!(it, Reaction::Main));
        }
        self.enqueue(Reaction::Main, Err(error));
    }
}
