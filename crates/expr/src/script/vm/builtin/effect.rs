//! Functions that start something outside: their arguments become documents for the host.

use super::dispatch::arg;
use crate::script::awaitable::{Awaitable, Kind, Leaf, State, Step};
use crate::script::host::{Operation, Refusal, Request};
use crate::script::library::Builtin;
use crate::script::vm::{Machine, Outcome, Raise, RaiseKind, Text, Value};

impl Machine<'_> {
    pub(super) fn effect(&mut self, function: Builtin, args: &[Value]) -> Outcome<Value> {
        let operation = match function {
            Builtin::TaskRun => Operation::Task,
            Builtin::TaskDelay | Builtin::TimerDelay => Operation::Delay,
            Builtin::TimerUntil => Operation::Until,
            Builtin::SignalNext | Builtin::WaitForSignal => Operation::Signal,
            Builtin::WorkflowRun => Operation::Child,
            Builtin::HttpRequest => Operation::Http,
            _ => return self.log(function, args),
        };
        let mut documents = Vec::with_capacity(args.len());
        for value in args {
            documents.push(match value {
                Value::Undefined => None,
                value => Some(self.leave(value)?),
            });
        }
        let at = self.place();
        let place = self.program.position(at);
        self.spend(10);
        let request = Request { operation, args: documents, place };
        let started = self.host.start(&request).map_err(refused)?;
        let step = Step::of(started.key);
        let timer = started.timer.map(Step::of);
        let leaf = Leaf {
            what: started.what,
            step,
            timer,
            name: Text::new(started.name),
            at,
            since: self.host.now(),
        };
        let made = self.heap.awaitable(Awaitable::new(Kind::Leaf(leaf), State::Pending));
        self.steps.insert(step, made);
        if let Some(timer) = timer {
            self.steps.insert(timer, made);
        }
        Ok(Value::Awaitable(made))
    }

    /// `Log.info(message, data?)`
    fn log(&mut self, function: Builtin, args: &[Value]) -> Outcome<Value> {
        let level = match function {
            Builtin::LogWarn => "warn",
            Builtin::LogError => "error",
            _ => "info",
        };
        let message = match arg(args, 0) {
            text @ Value::Text(_) => self.leave(&text)?,
            other => {
                let text = self.readable(&other)?;
                let text = self.new_text(text)?;
                self.leave(&text)?
            }
        };
        let data = match args.get(1) {
            None | Some(Value::Undefined) => None,
            Some(value) => Some(self.leave(value)?),
        };
        self.host.log(level, message, data);
        Ok(Value::Undefined)
    }
}

fn refused(refusal: Refusal) -> Raise {
    match refusal {
        Refusal::Error { name, code, message } => {
            Raise(Box::new(RaiseKind::Error { name, code, message }))
        }
        Refusal::Limit(fault) => Raise::fault(fault),
    }
}
