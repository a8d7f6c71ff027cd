//! Errors: creates them, finds their handlers, computes their traces.

use meantime_core::Json;

use super::frame::{Frame, ScriptFrame};
use super::machine::Machine;
use super::raise::VmResult;
use super::record::{Extra, Inner, Proto, Record};
use super::run::{LoopControl, StopReason};
use super::value::Value;
use crate::compile::{Handler, HandlerKind};
use crate::library::Builtin;
use crate::promise::CoroutineFrame;

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

    /// `new Error(message, { cause, code, data })`.
    pub(crate) fn make_error(&mut self, function: Builtin, args: &[Value]) -> VmResult<Value> {
        let mut record = Record::default();
        let (proto, inner) = (Proto::Class(function), Inner::Error);
        record.set_extra(Extra { proto, inner, ..Extra::default() });
        let mut args = args;
        if let (Builtin::MakeAggregateError, Some((errors, rest))) = (function, args.split_first())
        {
            let errors = self.elements(errors)?;
            record.set_hidden("errors".into(), self.new_list(errors)?);
            args = rest;
        }
        if let Some(value) = args.first().filter(|it| !matches!(it, Value::Undefined)) {
            let message = self.text_of(value)?;
            record.set_hidden("message".into(), self.new_text(message)?);
        }
        if let Some(options @ Value::Record(_)) = args.get(1) {
            for (key, value) in self.properties(options)? {
                if key.as_str() == "cause" {
                    record.set_hidden(key, value);
                } else {
                    record.set(key, value);
                }
            }
        }
        let at = self.current_offset();
        let position = self.program.position(at);
        record.set_hidden("line".into(), Value::Int(i64::from(position.line)));
        record.set_hidden("column".into(), Value::Int(i64::from(position.column)));
        self.heap.grow(8);
        Ok(self.heap.new_record(record))
    }

    /// Unwinds to the handler of an error; without one, stops with all frames as they are.
    pub(crate) fn unwind(&mut self, error: Value) -> VmResult<LoopControl> {
        self.spend(10);
        let trace = self.held_trace.take();
        let is_own =
            |(_, frame): &(usize, &Frame)| !matches!(frame, Frame::Native | Frame::Coroutine(_));
        let frames = self.frames.iter().enumerate().rev().take_while(is_own);
        let found = frames.into_iter().find_map(|(index, frame)| match frame {
            Frame::Script(script) => self.handler(index, script).map(|handler| (index, handler)),
            _ => None,
        });
        let Some((index, handler)) = found else {
            let trace = trace.unwrap_or_else(|| self.trace());
            return self.leave_coroutine(error, trace);
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
        Ok(LoopControl::Frame)
    }

    /// An error that no handler of an async call catches rejects its promise; outside of all of
    /// them it stops the script.
    fn leave_coroutine(&mut self, error: Value, trace: Json) -> VmResult<LoopControl> {
        let mut frames = self.frames.iter().enumerate().rev();
        let around = frames.find(|(_, it)| matches!(it, Frame::Native | Frame::Coroutine(_)));
        let Some((index, Frame::Coroutine(_))) = around else {
            self.stack.push(error);
            return Ok(LoopControl::Stop(StopReason::Uncaught { trace }));
        };
        if let Some(Frame::Script(first)) = self.frames.get(index + 1) {
            self.stack.truncate(first.base.saturating_sub(1));
        }
        self.frames.truncate(index + 1);
        self.held_trace = Some(trace);
        let next = self.end_coroutine(Err(error));
        self.held_trace = None;
        next
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
            let script = match frame {
                Frame::Script(script) => script,
                // What is below an async call that was continued did not call it.
                Frame::Coroutine(CoroutineFrame { is_first: false, .. }) => break,
                _ => continue,
            };
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
