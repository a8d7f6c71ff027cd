//! Errors: creates them, finds their handlers, computes their traces.

use meantime_core::Json;

use super::frame::{Frame, ScriptFrame};
use super::machine::Machine;
use super::raise::VmResult;
use super::record::Record;
use super::run::StopReason;
use super::value::Value;
use crate::compile::{Handler, HandlerKind};
use crate::library::Builtin;

impl Machine<'_> {
    /// An error of the engine, with the position of the current operation.
    pub(crate) fn new_error(&mut self, name: &str, code: &str, message: &str) -> Value {
        let mut record = Record::default();
        record.set("name".into(), Value::text(name));
        record.set("code".into(), Value::text(code));
        record.set("message".into(), Value::text(message));
        let at = self.current_offset();
        self.set_position(&mut record, at);
        self.heap.new_record(record)
    }

    /// `new Error(message, { code, data })`.
    pub(crate) fn make_error(&mut self, function: Builtin, args: &[Value]) -> VmResult<Value> {
        let name = match function {
            Builtin::MakeTypeError => "TypeError",
            Builtin::MakeRangeError => "RangeError",
            _ => "Error",
        };
        let message = match args.first() {
            None | Some(Value::Undefined) => String::new(),
            Some(value) => self.text_of(value)?,
        };
        let mut record = Record::default();
        record.set("name".into(), Value::text(name));
        record.set("message".into(), self.new_text(message)?);
        if let Some(Value::Record(options)) = args.get(1) {
            let entries = self.heap.records.get(*options).map(|it| it.entries().to_vec());
            for (key, value) in entries.unwrap_or_default() {
                record.set(key, value);
            }
        }
        let at = self.current_offset();
        self.set_position(&mut record, at);
        Ok(self.heap.new_record(record))
    }

    /// Unwinds to the handler of an error; without one, stops with all frames as they are.
    pub(crate) fn unwind(&mut self, error: Value) -> Option<StopReason> {
        self.spend(10);
        let trace = self.held_trace.take();
        let found = self.frames.iter().enumerate().rev().find_map(|(index, frame)| match frame {
            Frame::Script(script) => self.handler(index, script).map(|handler| (index, handler)),
            _ => None,
        });
        let Some((index, handler)) = found else {
            let trace = trace.unwrap_or_else(|| self.trace());
            self.stack.push(error);
            return Some(StopReason::Uncaught { trace });
        };
        if let HandlerKind::Finally { trace: slot } = handler.kind {
            let trace = trace.unwrap_or_else(|| self.trace());
            if let Some(Frame::Script(script)) = self.frames.get(index) {
                self.set_local(script.base, slot, Value::text(trace.as_str()));
            }
        }
        self.frames.truncate(index + 1);
        if let Some(Frame::Script(script)) = self.frames.last_mut() {
            script.pc = handler.target as usize;
            let code = self.program.functions.get(script.function as usize);
            let locals = code.map_or(0, |code| code.slots.len());
            self.stack.truncate(script.base + locals);
        }
        self.stack.push(error);
        None
    }

    /// The current operation of a frame.
    fn frame_pc(&self, index: usize, script: &ScriptFrame) -> usize {
        let is_top = index + 1 == self.frames.len();
        if is_top { self.pc } else { script.pc.saturating_sub(1) }
    }

    fn handler(&self, index: usize, script: &ScriptFrame) -> Option<Handler> {
        let at = self.frame_pc(index, script);
        let code = self.program.functions.get(script.function as usize)?;
        let covers = |it: &&Handler| (it.from as usize..it.to as usize).contains(&at);
        code.handlers.iter().find(covers).copied()
    }

    /// Where every frame stands, innermost first, as a list.
    pub(crate) fn trace(&self) -> Json {
        let mut calls = Vec::new();
        for (index, frame) in self.frames.iter().enumerate().rev() {
            let Frame::Script(script) = frame else { continue };
            let Some(code) = self.program.functions.get(script.function as usize) else {
                continue;
            };
            // The code before a workflow is not a call.
            if index == 0 && !code.is_workflow {
                continue;
            }
            let at = self.program.position(code.source_offset(self.frame_pc(index, script)));
            calls.push(Json::object([
                ("function", &Json::text(&code.name)),
                ("file", &Json::text(&self.program.file)),
                ("line", &Json::from(u64::from(at.line))),
                ("column", &Json::from(u64::from(at.column))),
            ]));
        }
        Json::list(&calls)
    }
}
