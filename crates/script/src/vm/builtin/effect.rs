//! Functions with effects outside of the script: their arguments become documents for the host.

use super::dispatch::arg;
use crate::awaitable::{Awaitable, AwaitableState, Kind, Leaf, LocalEffectKey};
use crate::host::{EffectRequest, EffectStartError, Operation};
use crate::library::Builtin;
use crate::vm::{Machine, Raise, RaiseKind, Text, Value, VmResult};

impl Machine<'_> {
    pub(super) fn effect(&mut self, function: Builtin, args: &[Value]) -> VmResult<Value> {
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
                value => Some(self.write_document(value)?),
            });
        }
        let at = self.current_offset();
        let position = self.program.position(at);
        self.spend(10);
        let request = EffectRequest { operation, args: documents, position };
        let started = self.host.start(&request).map_err(refused)?;
        let step = LocalEffectKey::of(started.key);
        let timer = started.timer.map(LocalEffectKey::of);
        let leaf = Leaf {
            what: started.what,
            step,
            timer,
            name: Text::new(started.name),
            at,
            since: self.host.now(),
        };
        let made = self.heap.awaitable(Awaitable::new(Kind::Leaf(leaf), AwaitableState::Pending));
        self.steps.insert(step, made);
        if let Some(timer) = timer {
            self.steps.insert(timer, made);
        }
        Ok(Value::Awaitable(made))
    }

    /// `Log.info(message, data?)`
    fn log(&mut self, function: Builtin, args: &[Value]) -> VmResult<Value> {
        let level = match function {
            Builtin::LogWarn | Builtin::ConsoleWarn => "warn",
            Builtin::LogError | Builtin::ConsoleError => "error",
            Builtin::ConsoleDebug => "debug",
            _ => "info",
        };
        if !matches!(function, Builtin::LogInfo | Builtin::LogWarn | Builtin::LogError) {
            // All arguments in one line, objects as JSON.
            let mut line = String::new();
            for (index, value) in args.iter().enumerate() {
                if index > 0 {
                    line.push(' ');
                }
                line.push_str(&self.log_text(value)?);
            }
            let line = self.new_text(line)?;
            let message = self.write_document(&line)?;
            self.host.log(level, message, None);
            return Ok(Value::Undefined);
        }
        let message = match arg(args, 0) {
            text @ Value::Text(_) => self.write_document(&text)?,
            other => {
                let text = self.log_text(&other)?;
                let text = self.new_text(text)?;
                self.write_document(&text)?
            }
        };
        let data = match args.get(1) {
            None | Some(Value::Undefined) => None,
            Some(value) => Some(self.write_document(value)?),
        };
        self.host.log(level, message, data);
        Ok(Value::Undefined)
    }
}

fn refused(refusal: EffectStartError) -> Raise {
    match refusal {
        EffectStartError::Error { name, code, message } => {
            Raise(Box::new(RaiseKind::Error { name, code, message }))
        }
        EffectStartError::Limit(fault) => Raise::fault(fault),
    }
}
