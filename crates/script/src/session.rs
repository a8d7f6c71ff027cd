//! Compiles a file, starts a workflow, and inspects a running one.

use std::sync::Arc;

use meantime_core::{Diagnostic, EffectKey, Failure, Fault, Json, Limits, Position, Timestamp};

use super::ast::File;
use super::awaitable::{Awaitable, Kind, LocalEffectKey};
use super::check::{LiteralTimer, TimerLiteral, check};
use super::compile::{Code, Op, Program, compile};
use super::host::{EffectKind, Host, Settlement};
use super::parse::{Language, parse};
use super::problem::Problems;
use super::span::SourceMap;
use super::vm::{
    AwaitableRef, Frame, Machine, Proto, RaiseKind, ScriptFrame, Text, Value, VmResult,
    property_to_display_json, to_display_json,
};

/// The result of compilation: a program unless there are errors, and all diagnostics.
#[derive(Debug)]
pub struct Compiled {
    /// The program.
    pub program: Option<Program>,
    /// All problems, in source order.
    pub diagnostics: Vec<Diagnostic>,
}

/// Compiles a file. `name` is for messages and traces; that of a TypeScript file ends with `.ts`.
#[must_use]
pub fn compile_script(text: &Arc<str>, name: &str) -> Compiled {
    let mut problems = Problems::default();
    let map = SourceMap::new(text.clone());
    let is_typescript = matches!(name.rsplit_once('.'), Some((_, "ts")));
    let language = if is_typescript { Language::TypeScript } else { Language::JavaScript };
    let file: File = parse(text, language, &mut problems);
    let analysis = check(&file, &mut problems);
    let program = (!problems.has_errors()).then(|| compile(&file, analysis, map.clone(), name));
    Compiled { program, diagnostics: problems.diagnostics(&map) }
}

/// A timer with a literal time, and its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceTimer {
    /// The byte offset of the time.
    pub at: u32,
    /// A delay or an instant.
    pub time: SourceTimerTime,
}

/// The time of a literal timer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SourceTimerTime {
    /// A duration.
    After(meantime_core::time::Span),
    /// An instant.
    At(Timestamp),
}

impl Program {
    /// Timers with a literal time.
    #[must_use]
    pub fn source_timers(&self) -> Vec<SourceTimer> {
        let written = |timer: &LiteralTimer| SourceTimer {
            at: timer.at,
            time: match &timer.time {
                TimerLiteral::After(span) => SourceTimerTime::After(*span),
                TimerLiteral::At(at) => SourceTimerTime::At(*at),
            },
        };
        self.timers.iter().map(written).collect()
    }
}

/// A pending effect of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingAwaitable {
    /// Its kind.
    pub what: EffectKind,
    /// Its key.
    pub key: EffectKey,
    /// Its name.
    pub name: String,
    /// The byte offset of the call that started it.
    pub at: u32,
    /// The time at which it was started.
    pub since: Timestamp,
}

impl<'a> Machine<'a> {
    /// A workflow before its first operation.
    pub fn start(
        program: &'a Program,
        workflow: usize,
        input: &Json,
        host: &'a mut dyn Host,
        limits: &'a Limits,
    ) -> Result<Self, Fault> {
        let mut machine = Self::new(program, host, limits);
        let entry = program.workflows.get(workflow).map_or(0, |it| it.entry);
        let Some(code) = program.functions.get(entry) else {
            return Err(Fault::new("corrupt_state", "the program has no such workflow"));
        };
        let input = machine.read_json(input);
        let input = machine.or_fault(input)?;
        machine.stack.push(input);
        machine.stack.resize(code.slots.len(), Value::Undefined);
        let function = u32::try_from(entry).unwrap_or(u32::MAX);
        machine.frames.push(Frame::Script(ScriptFrame { function, pc: 0, base: 0, closure: None }));
        Ok(machine)
    }

    /// Settles the awaitable of an effect. False if it is stale: no longer pending.
    pub fn settle_effect(&mut self, key: EffectKey, with: Settlement) -> Result<bool, Fault> {
        let taken = self.settle(key, with);
        self.or_fault(taken)
    }

    /// The kind of a pending effect.
    pub fn kind_of(&self, key: EffectKey) -> Option<EffectKind> {
        let at = *self.steps.get(&LocalEffectKey::of(key))?;
        match &self.heap.awaitables.get(at)?.kind {
            Kind::Leaf(leaf) => Some(leaf.what),
            Kind::Combinator(_) | Kind::Promise(_) => None,
        }
    }

    /// The result of a finished workflow; or why it cannot be a document, with the position of the
    /// `return`.
    pub fn result(&mut self) -> Result<Result<Json, Failure>, Fault> {
        let value = self.stack.last().cloned().unwrap_or_default();
        let message = match self.write_document(&value) {
            Ok(json) => return Ok(Ok(json)),
            Err(raise) => match *raise.0 {
                RaiseKind::Error { message, .. } => message,
                RaiseKind::Fault(fault) => return Err(self.located(fault)),
                RaiseKind::Throw(_) => "it cannot be written".to_owned(),
            },
        };
        let failure = Failure::new("TypeError", format!("the result: {message}"));
        Ok(Err(Failure { trace: Some(self.trace()), ..failure }))
    }

    /// A property of the uncaught error, as a document.
    #[must_use]
    pub fn error_part(&self, name: &str) -> Option<Json> {
        let Some(Value::Record(at)) = self.stack.last() else { return None };
        let value = match self.lookup(*at, &Text::new(name)) {
            Ok(Value::Accessor(_)) => return None,
            Ok(value) => value,
            Err(Proto::Class(class)) if class.is_error() && name == "name" => {
                Value::text(class.full_name())
            }
            Err(Proto::Class(class)) if class.is_error() && name == "message" => Value::text(""),
            Err(_) => return None,
        };
        Some(to_display_json(&self.heap, &value, self.limits.payload_bytes))
    }

    /// The error itself, as a document and as text.
    pub fn error(&mut self) -> (Json, String) {
        let value = self.stack.last().cloned().unwrap_or_default();
        let json = to_display_json(&self.heap, &value, self.limits.payload_bytes);
        let text = self.log_text(&value).unwrap_or_default();
        (json, text)
    }

    /// Whether effects remain to be cancelled in a later turn.
    #[must_use]
    pub fn has_pending_cancellations(&self) -> bool {
        !self.cancellations.is_empty()
    }

    /// Cancels as many effects as the turn has room for.
    pub(crate) fn flush_cancellations(&mut self) {
        let instance = self.instance;
        while let Some((what, step)) = self.cancellations.front().copied() {
            if !self.host.has_room(1) {
                return;
            }
            self.cancellations.pop_front();
            self.host.cancel(what, step.key(instance));
        }
    }

    /// Cancels losers before the next event can reach them (F2).
    pub fn cancel_losers_now(&mut self) {
        self.flush_cancellations();
    }

    /// Cancels a child whose failure is known before its end.
    pub fn cancel_child(&mut self, key: EffectKey) {
        self.cancellations.push_back((EffectKind::Child, LocalEffectKey::of(key)));
    }

    /// Whether the script is suspended until an awaitable settles.
    pub fn is_waiting(&self) -> bool {
        if !self.is_at_rest() {
            return false;
        }
        match (self.next_op(), self.stack.last()) {
            (Some(Op::Await), Some(Value::Awaitable(at))) => {
                self.heap.awaitables.get(*at).is_some_and(Awaitable::is_pending)
            }
            _ => false,
        }
    }

    /// The source position of the innermost frame.
    pub fn current_position(&self) -> Position {
        self.position()
    }

    /// Adds the current source position to a fault.
    pub fn locate_fault(&self, fault: Fault) -> Fault {
        self.located(fault)
    }

    /// Whether the workflow has a variable with the name.
    pub fn has_variable(&self, name: &str) -> bool {
        let frame = self.workflow_frame();
        frame.is_some_and(|(code, _)| code.visible.iter().any(|(known, _)| **known == *name))
    }

    /// Sets a variable of the workflow; false if it has none with that name.
    pub fn set_variable(&mut self, name: &str, value: &Json) -> Result<bool, Fault> {
        let Some((code, base)) = self.workflow_frame() else { return Ok(false) };
        let found = code.visible.iter().rev().find(|(known, _)| **known == *name);
        let Some((_, slot)) = found else { return Ok(false) };
        let slot = *slot;
        let value = self.read_json(value);
        let value = self.or_fault(value)?;
        match self.local(base, slot) {
            Value::Cell(cell) => {
                let set = self.set_cell(cell, value);
                self.or_fault(set)?;
            }
            _ => self.set_local(base, slot, value),
        }
        Ok(true)
    }

    /// The variables of the workflow's outermost block, as a JSON object.
    #[must_use]
    pub fn variables(&self) -> Json {
        let Some((code, base)) = self.workflow_frame() else { return Json::null() };
        let (mut shown, mut size) = (Vec::new(), 2_usize);
        for (name, slot) in &code.visible {
            let value = match self.local(base, *slot) {
                Value::Cell(cell) => self.heap.cells.get(cell).cloned().unwrap_or_default(),
                value => value,
            };
            let most = self.limits.payload_bytes.saturating_sub(size);
            if let Some(value) = property_to_display_json(&self.heap, &value, most) {
                size = size.saturating_add(name.len()).saturating_add(value.size());
                shown.retain(|(known, _): &(&str, Json)| *known != &**name);
                shown.push((&**name, value));
            }
        }
        Json::object(shown.iter().map(|(name, value)| (*name, value)))
    }

    fn workflow_frame(&self) -> Option<(&'a Code, usize)> {
        self.frames.iter().find_map(|frame| match frame {
            Frame::Script(script) => {
                let code = self.program.functions.get(script.function as usize)?;
                code.is_workflow.then_some((code, script.base))
            }
            _ => None,
        })
    }

    /// The pending effects of the script, oldest first.
    #[must_use]
    pub fn pending(&self) -> Vec<PendingAwaitable> {
        let instance = self.instance;
        let leaves = self.heap.awaitables.iter::<AwaitableRef>().filter_map(|(_, it)| {
            match (&it.kind, it.is_pending()) {
                (Kind::Leaf(leaf), true) => Some(leaf),
                _ => None,
            }
        });
        let mut pending: Vec<PendingAwaitable> = leaves
            .map(|leaf| PendingAwaitable {
                what: leaf.what,
                key: leaf.step.key(instance),
                name: leaf.name.as_str().to_owned(),
                at: leaf.at,
                since: leaf.since,
            })
            .collect();
        pending.sort_by_key(|it| it.key);
        pending
    }

    fn or_fault<T>(&mut self, outcome: VmResult<T>) -> Result<T, Fault> {
        outcome.map_err(|raise| match *raise.0 {
            RaiseKind::Fault(fault) => self.located(fault),
            RaiseKind::Error { message, .. } => self.located(Fault::new("corrupt_state", message)),
            RaiseKind::Throw(_) => {
                self.located(Fault::new("corrupt_state", "an error out of place"))
            }
        })
    }
}
