//! Calls of script functions from inside an operation: getters, setters, conversions, callbacks of
//! library functions that are not suspended.
//!
//! Such a call runs to its end at once. It cannot wait and does not yield, memory is not collected
//! meanwhile, and its depth and its operations are bounded.

use super::frame::Frame;
use super::machine::Machine;
use super::raise::{Raise, RaiseKind, VmResult, corrupt, limit, range_error, type_error};
use super::run::{LoopControl, StopReason};
use super::value::Value;

/// The most calls of this kind within each other. Each of them uses the stack of the thread.
const MAX_NESTED: u32 = 24;

impl Machine<'_> {
    /// Calls a function and runs it to its end.
    pub(crate) fn call_now(
        &mut self,
        function: &Value,
        this: Value,
        args: &[Value],
    ) -> VmResult<Value> {
        let function = match function {
            Value::Function(function) => match self.native_of(*function) {
                Some(native) => return self.call_native(&native, args),
                None => *function,
            },
            Value::Builtin(function) => {
                let most = function.arity().1.unwrap_or(args.len()).min(args.len());
                return self.builtin(*function, args.get(..most).unwrap_or_default());
            }
            other => {
                return Err(type_error(format!(
                    "this is not a function but {}",
                    other.kind_name()
                )));
            }
        };
        if self.nested >= MAX_NESTED {
            return Err(range_error("conversions and getters call each other too deeply"));
        }
        let (pc, height, floor) = (self.pc, self.stack.len(), self.frames.len());
        // A workflow that waits keeps its place.
        let place = self.top_pc();
        self.set_pc(pc + 1);
        self.frames.push(Frame::Native);
        self.stack.push(Value::Function(function));
        self.stack.extend(args.iter().cloned());
        self.nested += 1;
        let result = match self.enter_with(function, args.len(), this) {
            Ok(()) => self.run_nested(floor),
            Err(raise) => Err(raise),
        };
        self.nested -= 1;
        self.frames.truncate(floor);
        self.stack.truncate(height);
        if let Some(place) = place {
            self.set_pc(place);
        }
        self.pc = pc;
        result
    }

    fn top_pc(&self) -> Option<usize> {
        match self.frames.last() {
            Some(Frame::Script(frame)) => Some(frame.pc),
            _ => None,
        }
    }

    fn run_nested(&mut self, floor: usize) -> VmResult<Value> {
        loop {
            let next = match self.frames.last() {
                Some(Frame::Native) if self.frames.len() == floor + 1 => return Ok(self.pop()),
                _ => self.step(),
            };
            let next = match next {
                Err(raise) => {
                    let error = self.thrown(raise)?;
                    self.unwind(error)?
                }
                Ok(next) => next,
            };
            match next {
                LoopControl::Frame => {}
                LoopControl::Stop(StopReason::Uncaught { trace }) => {
                    // The trace begins here, not at the operation that called.
                    self.held_trace = Some(trace);
                    return Err(Raise::throw(self.pop()));
                }
                LoopControl::Stop(_) => return Err(corrupt("a stop inside of an operation")),
            }
        }
    }

    /// The value that is thrown; a fault passes through.
    pub(crate) fn thrown(&mut self, raise: Raise) -> VmResult<Value> {
        match *raise.0 {
            RaiseKind::Fault(fault) => Err(Raise::fault(fault)),
            RaiseKind::Throw(value) => Ok(value),
            RaiseKind::Error { name, code, message } => Ok(self.new_error(name, code, &message)),
        }
    }

    /// Stops calls inside of an operation that take too long.
    pub(super) fn check_nested(&self) -> VmResult<()> {
        if self.nested > 0 && self.ops > self.slice_end.saturating_add(self.limits.ops_runaway) {
            let text = "a function that cannot be suspended, such as a getter, takes too long";
            return Err(limit("runaway", text));
        }
        Ok(())
    }
}
