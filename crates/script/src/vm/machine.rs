//! The parts of the machine and its basic operations.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use meantime_core::{Fault, InstanceId, Json, Limits, Position, pause_point};

use super::collect::ReachableMarks;
use super::frame::{Frame, ScriptFrame};
use super::heap::{FunctionExtra, Heap};
use super::raise::{Raise, VmResult, corrupt, limit};
use super::record::Record;
use super::regex::Regex;
use super::text::Text;
use super::value::{AwaitableRef, Value};
use crate::awaitable::{Awaitable, Kind, LocalEffectKey};
use crate::compile::{Code, Program};
use crate::host::{EffectKind, Host};
use crate::promise::{CallEnd, Job};

/// The factor by which code without calls or jumps back may exceed the memory limit before the next
/// collection.
const BURST_FACTOR: usize = 4;

/// A running script.
pub struct Machine<'a> {
    pub(crate) program: &'a Program,
    pub(crate) host: &'a mut dyn Host,
    pub(crate) limits: &'a Limits,
    /// The instance that runs.
    pub(crate) instance: InstanceId,
    pub(crate) heap: Heap,
    pub(crate) stack: Vec<Value>,
    pub(crate) frames: Vec<Frame>,
    /// Pending effects, by their step.
    pub(crate) steps: BTreeMap<LocalEffectKey, AwaitableRef>,
    /// Effects to cancel as soon as the turn has room.
    pub(crate) cancellations: VecDeque<(EffectKind, LocalEffectKey)>,
    /// What is to be done before the script can wait, in order.
    pub(crate) jobs: VecDeque<Job>,
    /// Promises with an error that nobody has handled yet, and where it was thrown.
    pub(crate) rejections: Vec<(AwaitableRef, Option<Text>)>,
    /// The number of frames of the workflow while it waits or has returned; otherwise 0.
    pub(crate) parked: usize,
    /// Async calls that have not ended.
    pub(crate) coroutines: usize,
    /// The number of the next combinator.
    pub(crate) next_number: u32,
    /// Operations used in this turn.
    pub(crate) ops: u64,
    /// The number of operations after which this turn yields.
    pub(crate) slice_end: u64,
    /// The current operation, for the positions of errors.
    pub(crate) pc: usize,
    /// The trace of an error that a `finally` held up.
    pub(crate) held_trace: Option<Json>,
    /// Calls from inside an operation that have not returned.
    pub(crate) nested: u32,
    /// `this` and the constructed class of the function that is being entered.
    pub(crate) this_arg: Value,
    pub(crate) new_target: Value,
    /// In place of what a function that does not exist has.
    pub(super) no_extra: FunctionExtra,
    /// Compiled regular expressions, by source and flags.
    pub(crate) regexes: BTreeMap<(Text, Text), Arc<Regex>>,
}

impl<'a> Machine<'a> {
    pub(crate) fn new(program: &'a Program, host: &'a mut dyn Host, limits: &'a Limits) -> Self {
        let instance = host.instance();
        Self {
            program,
            host,
            limits,
            instance,
            heap: Heap::default(),
            stack: Vec::new(),
            frames: Vec::new(),
            steps: BTreeMap::new(),
            cancellations: VecDeque::new(),
            jobs: VecDeque::new(),
            rejections: Vec::new(),
            parked: 0,
            coroutines: 0,
            next_number: 1,
            ops: 0,
            slice_end: limits.ops_per_slice.max(1),
            pc: 0,
            held_trace: None,
            nested: 0,
            this_arg: Value::Undefined,
            new_target: Value::Undefined,
            no_extra: FunctionExtra::default(),
            regexes: BTreeMap::new(),
        }
    }

    /// Operations used so far in this turn.
    #[must_use]
    pub fn ops(&self) -> u64 {
        self.ops
    }

    pub(crate) fn code(&self, frame: &ScriptFrame) -> VmResult<&'a Code> {
        let code = self.program.functions.get(frame.function as usize);
        code.ok_or_else(|| corrupt("a frame of no function"))
    }

    #[inline]
    pub(crate) fn pop(&mut self) -> Value {
        // Compiled code never pops more than it pushed.
        self.stack.pop().unwrap_or_default()
    }

    /// The last `count` values, in order.
    pub(crate) fn pop_many(&mut self, count: usize) -> Vec<Value> {
        let from = self.stack.len().saturating_sub(count);
        self.stack.split_off(from)
    }

    /// Charges the work of an operation beyond its own cost.
    pub(crate) fn spend(&mut self, units: usize) {
        let ops = self.ops.saturating_add(units as u64);
        pause_point::pass(self.ops, ops);
        self.ops = ops;
    }

    /// Charges for reading or writing this many bytes.
    pub(crate) fn spend_bytes(&mut self, bytes: usize) {
        self.spend(bytes / 32);
    }

    /// Whether the slice of this turn is used up.
    #[inline]
    pub(crate) fn is_slice_over(&self) -> bool {
        self.ops >= self.slice_end && self.nested == 0
    }

    /// The source position of the current operation.
    pub(crate) fn current_offset(&self) -> u32 {
        let script = self.frames.iter().rev().find_map(|frame| match frame {
            Frame::Script(script) => Some(script),
            _ => None,
        });
        let Some(script) = script else { return 0 };
        let code = self.program.functions.get(script.function as usize);
        let is_top = matches!(self.frames.last(), Some(Frame::Script(_)));
        let pc = if is_top { self.pc } else { script.pc.saturating_sub(1) };
        code.map_or(0, |code| code.source_offset(pc))
    }

    pub(crate) fn position(&self) -> Position {
        self.program.position(self.current_offset())
    }

    /// Sets line and column of a position in an error.
    pub(crate) fn set_position(&self, record: &mut Record, at: u32) {
        let position = self.program.position(at);
        record.set("line".into(), Value::Int(i64::from(position.line)));
        record.set("column".into(), Value::Int(i64::from(position.column)));
    }

    /// Collects garbage if too much memory is in use. Only at points where all values are on the
    /// stack.
    pub(crate) fn check_memory(&mut self) -> VmResult<()> {
        if self.heap.bytes <= self.limits.value_bytes {
            return Ok(());
        }
        if self.nested > 0 {
            // Operations in progress hold values that are not on the stack.
            return self.check_burst();
        }
        let marks = self.mark();
        self.cancel_unreachable(&marks.awaitables);
        self.spend(self.heap.bytes / 256);
        self.heap.sweep(&marks);
        self.count_coroutines();
        if self.heap.bytes > self.limits.value_bytes { Err(self.out_of_memory()) } else { Ok(()) }
    }

    /// Fails if memory use is far above the limit between two collections.
    pub(crate) fn check_burst(&self) -> VmResult<()> {
        let most = self.limits.value_bytes.saturating_mul(BURST_FACTOR);
        if self.heap.bytes > most { Err(self.out_of_memory()) } else { Ok(()) }
    }

    fn out_of_memory(&self) -> Raise {
        let text = format!("values take more than {} bytes", self.limits.value_bytes);
        limit("value_limit", text)
    }

    /// Rejects a list or object with too many entries.
    pub(crate) fn check_entries(&self, count: usize) -> VmResult<()> {
        if count <= self.limits.entries {
            return Ok(());
        }
        let text = format!("a list or object has more than {} entries", self.limits.entries);
        Err(limit("entries_limit", text))
    }

    /// Rejects a string that is too long, and charges for it.
    pub(crate) fn check_text(&mut self, bytes: usize) -> VmResult<()> {
        if bytes > self.limits.string_bytes {
            let text = format!("a string has more than {} bytes", self.limits.string_bytes);
            return Err(limit("string_limit", text));
        }
        self.spend_bytes(bytes);
        self.heap.grow_text(bytes);
        self.check_burst()
    }

    /// A new string.
    pub(crate) fn new_text(&mut self, text: impl Into<Box<str>>) -> VmResult<Value> {
        let text = text.into();
        self.check_text(text.len())?;
        Ok(Value::text(text))
    }

    /// A new list.
    pub(crate) fn new_list(&mut self, items: Vec<Value>) -> VmResult<Value> {
        self.check_entries(items.len())?;
        self.spend(items.len() / 8);
        let list = self.heap.new_list(items);
        self.check_burst()?;
        Ok(list)
    }

    /// Everything reachable from the stack, the frames and pending combinators.
    fn mark(&self) -> ReachableMarks {
        self.mark_from(self.stack.clone())
    }

    /// The same from other roots than the stack.
    pub(crate) fn mark_from(&self, mut roots: Vec<Value>) -> ReachableMarks {
        for frame in &self.frames {
            frame_roots(frame, &mut roots);
        }
        for (at, awaitable) in self.heap.awaitables.iter::<AwaitableRef>() {
            // A pending combinator is kept even if unreachable: when it is decided, its losers are
            // cancelled.
            let is_root = match awaitable.kind {
                Kind::Combinator(_) => true,
                // An event of the engine will cause something.
                Kind::Leaf(_) => awaitable.reactions.iter().any(|it| it.is_live(&self.heap)),
                Kind::Promise(_) => false,
            };
            if is_root && Awaitable::is_pending(awaitable) {
                roots.push(Value::Awaitable(at));
            }
        }
        for job in &self.jobs {
            job.references(&mut roots);
        }
        roots.extend(self.rejections.iter().map(|(at, _)| Value::Awaitable(*at)));
        ReachableMarks::from_roots(&self.heap, roots)
    }

    /// A fault with the line at which it occurred.
    pub(crate) fn located(&self, mut fault: Fault) -> Fault {
        if fault.element.is_none() {
            let position = self.position();
            fault.message = format!(
                "{} ({}:{}:{})",
                fault.message, self.program.file, position.line, position.column
            );
            fault.element = Some(format!("{}:{}", position.line, position.column));
        }
        fault
    }
}

/// The values that a frame holds besides those on the stack.
pub(crate) fn frame_roots(frame: &Frame, roots: &mut Vec<Value>) {
    match frame {
        Frame::Script(script) => roots.extend(script.closure.map(Value::Function)),
        Frame::Iteration(it) => {
            roots.push(Value::List(it.list));
            roots.extend([it.callback.clone(), it.current.clone(), it.result.clone()]);
        }
        Frame::Sort(it) => {
            roots.extend([it.list, it.from, it.to].map(Value::List));
            roots.push(it.callback.clone());
        }
        Frame::Stringify(it) => {
            roots.push(Value::List(it.levels));
            let values = [&it.replacer, &it.names, &it.indent, &it.copy, &it.key];
            roots.extend(values.map(Value::clone));
        }
        Frame::Coroutine(it) => {
            roots.push(Value::Awaitable(it.promise));
            if let CallEnd::Finally(Ok(value) | Err(value)) = &it.end {
                roots.push(value.clone());
            }
        }
        Frame::Native => {}
    }
}
