//! Calls of async functions: they begin on the stack of their caller and leave it at the first
//! `await` that has to wait.

use super::reaction::{Job, Reaction, Settled};
use crate::awaitable::Awaitable;
use crate::vm::{
    AwaitableRef, Frame, FunctionRef, LoopControl, Machine, Raise, Value, VmResult, corrupt,
    range_error, type_error,
};

/// The most async calls that have not ended.
const MAX_COROUTINES: usize = 50_000;

/// The frame below an async function.
#[derive(Debug, Clone)]
pub(crate) struct CoroutineFrame {
    /// What the caller gets, and what the end of the call settles.
    pub(crate) promise: AwaitableRef,
    /// Whether it still runs on the stack of its caller, who waits for the promise.
    pub(crate) is_first: bool,
    pub(crate) end: CallEnd,
}

/// What the end of a call does with its promise.
#[derive(Debug, Clone)]
pub(crate) enum CallEnd {
    /// Resolves it, or rejects it with the error.
    Settle,
    /// Only an error rejects it, if this use of its resolving functions is still open.
    RejectOnly(u32),
    /// Of the callback of a `finally`: settles it as the promise before it, after what the callback
    /// returned.
    Finally(Settled),
}

/// A call of an async function that waits.
#[derive(Debug, Clone)]
pub(crate) struct Coroutine {
    /// Its own frame first. Their positions on the stack begin at 0.
    pub(crate) frames: Vec<Frame>,
    pub(crate) stack: Vec<Value>,
}

impl Machine<'_> {
    /// Whether the workflow waits and no coroutine runs above it.
    #[inline]
    pub(crate) fn is_parked(&self) -> bool {
        self.parked != 0 && self.frames.len() == self.parked
    }

    /// Enters an async function: its frame, with the promise that it returns.
    pub(crate) fn begin_coroutine(&mut self) -> VmResult<()> {
        if self.coroutines >= MAX_COROUTINES {
            return Err(range_error(format!("more than {MAX_COROUTINES} async calls are open")));
        }
        let promise = self.new_promise();
        self.push_coroutine(promise, true, CallEnd::Settle);
        Ok(())
    }

    pub(super) fn push_coroutine(&mut self, promise: AwaitableRef, is_first: bool, end: CallEnd) {
        self.coroutines += 1;
        self.frames.push(Frame::Coroutine(CoroutineFrame { promise, is_first, end }));
    }

    /// Calls a function above the parked workflow, or above the current frame.
    pub(super) fn call_in_coroutine(
        &mut self,
        frame: (AwaitableRef, bool, CallEnd),
        function: FunctionRef,
        this: Value,
        args: Vec<Value>,
    ) -> VmResult<()> {
        let (promise, is_first, end) = frame;
        let (frames, height) = (self.frames.len(), self.stack.len());
        self.push_coroutine(promise, is_first, end);
        let count = args.len();
        self.stack.push(Value::Function(function));
        self.stack.extend(args);
        if let Err(raise) = self.enter_with(function, count, this) {
            // Nothing was entered: the error is that of the call itself.
            self.stack.truncate(height);
            self.frames.truncate(frames + 1);
            let error = self.thrown(raise)?;
            self.end_coroutine(Err(error))?;
        }
        Ok(())
    }

    /// The innermost async call that runs; none in a function that an operation called.
    fn innermost_coroutine(&self) -> Option<usize> {
        let frames = self.frames.iter().enumerate().skip(self.parked).rev();
        let mut own = frames.take_while(|(_, frame)| !matches!(frame, Frame::Native));
        own.find(|(_, frame)| matches!(frame, Frame::Coroutine(_))).map(|(index, _)| index)
    }

    /// A method in progress whose callbacks may not wait.
    fn method_cannot_wait(&self, from: usize) -> Option<&'static str> {
        self.frames.iter().skip(from).rev().find_map(|frame| match frame {
            Frame::Iteration(it) if !it.method.may_wait() => Some(it.method.name()),
            Frame::Sort(_) => Some("sort"),
            Frame::Stringify(_) => Some("JSON.stringify"),
            Frame::Native => Some("the library"),
            _ => None,
        })
    }

    /// `await` of the value on top. True if another frame is the innermost now.
    pub(crate) fn await_top(&mut self, pc: usize) -> VmResult<Option<LoopControl>> {
        let operand = self.stack.last().cloned().unwrap_or_default();
        let own = self.innermost_coroutine();
        let waits_alone = match own.and_then(|index| self.frames.get(index)) {
            Some(Frame::Coroutine(frame)) => !frame.is_first,
            _ => true,
        };
        let thenable = match &operand {
            Value::Awaitable(_) => None,
            _ => self.then_of(&operand)?,
        };
        let settled = match &operand {
            Value::Awaitable(at) => {
                self.set_handled(*at);
                self.awaited(*at)?
            }
            _ if thenable.is_some() => None,
            _ => Some(Ok(operand.clone())),
        };
        let blocked = self.method_cannot_wait(own.unwrap_or(self.parked));
        let at_once = blocked.is_some() || (waits_alone && self.jobs.is_empty());
        // What would be the only job continues at once.
        if let (Some(settled), true) = (&settled, at_once) {
            self.pop();
            match settled {
                Ok(value) => self.stack.push(value.clone()),
                Err(error) => return Err(Raise::throw(error.clone())),
            }
            return Ok(None);
        }
        if let Some(method) = blocked {
            let text = format!("a callback of `{method}` cannot wait; await first");
            return Err(type_error(text));
        }
        let waits_for = match (operand, thenable) {
            (Value::Awaitable(at), _) => Some(at),
            (operand, Some(then)) => {
                let promise = self.new_promise();
                self.set_handled(promise);
                self.follow(promise, operand, then);
                self.pop();
                self.stack.push(Value::Awaitable(promise));
                Some(promise)
            }
            _ => None,
        };
        self.set_pc(pc);
        let (reaction, promise) = match own {
            Some(index) => {
                let (coroutine, promise) = self.split_off(index)?;
                (Reaction::Resume(Box::new(coroutine)), promise)
            }
            None => {
                self.parked = self.frames.len();
                (Reaction::Main, None)
            }
        };
        match (settled, waits_for) {
            (Some(with), _) => self.enqueue(reaction, with),
            (None, Some(at)) => self.add_reaction(at, reaction),
            (None, None) => return Err(corrupt("an `await` of nothing")),
        }
        match promise {
            Some(promise) => self.deliver_control(Value::Awaitable(promise)).map(Some),
            None => Ok(Some(LoopControl::Frame)),
        }
    }

    /// Takes a coroutine off the stack; returns the promise that its caller waits for, if it does.
    fn split_off(&mut self, index: usize) -> VmResult<(Coroutine, Option<AwaitableRef>)> {
        let mut frames = self.frames.split_off(index);
        let Some(Frame::Script(first)) = frames.get(1) else {
            return Err(corrupt("an async call of no function"));
        };
        let floor = first.base.saturating_sub(1);
        let stack = self.stack.split_off(floor.min(self.stack.len()));
        let mut promise = None;
        for frame in &mut frames {
            match frame {
                Frame::Script(script) => script.base = script.base.saturating_sub(floor),
                Frame::Coroutine(frame) if frame.is_first => {
                    frame.is_first = false;
                    promise = Some(frame.promise);
                }
                _ => {}
            }
        }
        let mut coroutine = Coroutine { frames, stack };
        self.forget_dead_variables(&mut coroutine);
        self.heap.bytes += coroutine.stack.len() * 16 + coroutine.frames.len() * 64;
        self.spend(coroutine.stack.len() / 8 + 1);
        Ok((coroutine, promise))
    }

    /// Clears the variables of blocks that were left, so that they keep nothing alive.
    fn forget_dead_variables(&self, coroutine: &mut Coroutine) {
        let count = coroutine.frames.len();
        for (index, frame) in coroutine.frames.iter().enumerate() {
            let Frame::Script(script) = frame else { continue };
            let Some(code) = self.program.functions.get(script.function as usize) else { continue };
            let pc = if index + 1 == count { Some(script.pc) } else { script.pc.checked_sub(1) };
            let Some(point) = pc.and_then(|pc| code.point_at(pc)) else { continue };
            let mut live = vec![false; code.slots.len()];
            for slot in code.in_scope(point.chain) {
                if let Some(live) = live.get_mut(slot as usize) {
                    *live = true;
                }
            }
            let slots = coroutine.stack.iter_mut().skip(script.base).zip(live);
            slots.filter(|(_, live)| !live).for_each(|(value, _)| *value = Value::Undefined);
        }
    }

    /// Continues a coroutine above the parked workflow.
    pub(super) fn resume(&mut self, coroutine: Coroutine, with: Settled) -> VmResult<()> {
        self.put_back(coroutine);
        self.continue_await(with)
    }

    /// Puts a coroutine on the stack.
    pub(crate) fn put_back(&mut self, coroutine: Coroutine) {
        let floor = self.stack.len();
        self.stack.extend(coroutine.stack);
        for mut frame in coroutine.frames {
            if let Frame::Script(script) = &mut frame {
                script.base += floor;
            }
            self.frames.push(frame);
        }
    }

    /// Replaces the operand of an `await` by its result, and steps over it.
    pub(super) fn continue_await(&mut self, with: Settled) -> VmResult<()> {
        self.pop();
        let Some(Frame::Script(frame)) = self.frames.last_mut() else {
            return Err(corrupt("nothing to continue"));
        };
        self.pc = frame.pc;
        frame.pc += 1;
        match with {
            Ok(value) => {
                self.stack.push(value);
                Ok(())
            }
            Err(error) => Err(Raise::throw(error)),
        }
    }

    /// The function of the innermost async call has returned or thrown; its frame is on top.
    pub(crate) fn end_coroutine(&mut self, with: Settled) -> VmResult<LoopControl> {
        let Some(Frame::Coroutine(frame)) = self.frames.pop() else {
            return Err(corrupt("the end of no async call"));
        };
        self.coroutines = self.coroutines.saturating_sub(1);
        let promise = frame.promise;
        match (frame.end, with) {
            (CallEnd::Settle, Ok(value)) => self.resolve_promise(promise, value)?,
            (CallEnd::Settle | CallEnd::Finally(_), Err(error)) => self.reject(promise, error)?,
            (CallEnd::RejectOnly(_), Ok(_)) => {}
            (CallEnd::RejectOnly(resolves), Err(error)) => {
                if self.use_resolving(promise, resolves) {
                    self.reject(promise, error)?;
                }
            }
            (CallEnd::Finally(before), Ok(value)) => self.pass_after(promise, before, value)?,
        }
        if frame.is_first {
            return self.deliver_control(Value::Awaitable(promise));
        }
        Ok(LoopControl::Frame)
    }

    /// The number of coroutines, after a load or a collection.
    pub(crate) fn count_coroutines(&mut self) {
        let waiting =
            self.heap.awaitables.iter::<AwaitableRef>().map(|(_, it): (_, &Awaitable)| {
                it.reactions.iter().filter(|it| matches!(it, Reaction::Resume(_))).count()
            });
        let running = self.frames.iter().filter(|it| matches!(it, Frame::Coroutine(_))).count();
        let ready = self
            .jobs
            .iter()
            .filter(|job| matches!(job, Job::React { reaction: Reaction::Resume(_), .. }));
        self.coroutines = waiting.sum::<usize>() + ready.count() + running;
    }
}
