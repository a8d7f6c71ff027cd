//! Decodes the saved form. Total: invalid bytes are a fault, never a panic.

use std::collections::BTreeMap;

use meantime_core::{Fault, InstanceId, Json, Limits, Timestamp};
use minicbor::data::Type;
use minicbor::decode::{Decoder, Error};

use super::layout::{
    ACCESSOR, AWAITABLE, BUILTIN, CANCELLED, CELL, COROUTINE_FRAME, DONE, EFFECT_KINDS, FAILED,
    FIRST_COMBINATOR, FUNCTION, ITERATION_FRAME, LIST, LIST_WITH_PROPERTIES, MIN_SHARED_BYTES,
    PENDING, PROMISE, RAW, RECORD, SCRIPT_FRAME, SHARED, SORT_FRAME, STATE_FACTOR, STRINGIFY_FRAME,
    VERBATIM, WITH_REACTIONS,
};
use crate::awaitable::{
    Awaitable, AwaitableState, COMBINATOR_MODES, Combinator, Kind, Leaf, LocalEffectKey,
};
use crate::compile::{Op, Program};
use crate::host::{EffectKind, Host};
use crate::library::Method;
use crate::promise::{Coroutine, Reaction};
use crate::vm::{
    AwaitableRef, CellRef, Closure, Frame, FunctionExtra, FunctionRef, IterationFrame, ListRef,
    Machine, NATIVE_FUNCTION, Record, RecordRef, ScriptFrame, SortFrame, StringifyFrame, Text,
    Value,
};

pub(super) type DecodeResult<T> = Result<T, Error>;

pub(super) fn malformed<T>(what: &'static str) -> DecodeResult<T> {
    Err(Error::message(what))
}

/// Reads values and checks them against the sizes of the tables.
pub(super) struct Reader<'b> {
    pub(super) from: Decoder<'b>,
    strings: Vec<Text>,
    sizes: [u32; 5],
    /// Bytes of all strings, for the memory budget.
    text_bytes: usize,
}

impl<'a> Machine<'a> {
    /// Restores a machine from the bytes of [`Machine::save`].
    pub fn load(
        program: &'a Program,
        bytes: &[u8],
        host: &'a mut dyn Host,
        limits: &'a Limits,
    ) -> Result<Self, Fault> {
        let mut machine = Self::new(program, host, limits);
        let mut reader =
            Reader { from: Decoder::new(bytes), strings: Vec::new(), sizes: [0; 5], text_bytes: 0 };
        match machine.read(&mut reader) {
            Ok(running) => {
                machine.rebuild_links();
                if let Some(running) = running {
                    machine.parked = machine.frames.len();
                    machine.put_back(running);
                }
                machine.count_coroutines();
                machine.heap.grow_text(reader.text_bytes);
                if let Some(Frame::Script(frame)) = machine.frames.last() {
                    machine.pc = frame.pc;
                }
                Ok(machine)
            }
            Err(error) => Err(Fault::new("corrupt_state", format!("the saved state: {error}"))),
        }
    }

    /// Reads the state into the machine; returns the coroutine that runs above the workflow.
    fn read(&mut self, reader: &mut Reader<'_>) -> DecodeResult<Option<Coroutine>> {
        let fields = reader.array()?;
        if !matches!(fields, 6 | 9) {
            return malformed("an array of another length");
        }
        if reader.from.u64()? != self.program.fingerprint {
            return malformed("it belongs to another source");
        }
        let Ok(instance) = reader.from.bytes()?.try_into() else { return malformed("no instance") };
        self.instance = InstanceId::from_bytes(instance);
        self.next_number = reader.from.u32()?;
        let count = reader.array()?;
        for _ in 0..count / 3 {
            let what = reader.what()?;
            self.cancellations.push_back((what, reader.step()?));
        }
        self.read_heap(reader)?;
        self.read_frames(reader)?;
        if fields == 6 {
            return Ok(None);
        }
        self.read_jobs(reader)?;
        let running = reader.from.probe().array()?.unwrap_or_default();
        if running == 0 {
            return reader.expect_array(0).map(|()| None);
        }
        self.read_coroutine(reader, false).map(Some)
    }

    pub(super) fn read_frames(&mut self, reader: &mut Reader<'_>) -> DecodeResult<()> {
        let frames = reader.array()?;
        if frames == 0 {
            return malformed("no frames");
        }
        for position in 0..frames {
            self.read_frame(reader, position + 1 == frames)?;
        }
        Ok(())
    }

    fn read_heap(&mut self, reader: &mut Reader<'_>) -> DecodeResult<()> {
        let fields = reader.array()?;
        let mut total: u64 = 6;
        for position in 0..5 {
            let size = reader.from.u32()?;
            total += u64::from(size);
            if let Some(slot) = reader.sizes.get_mut(position) {
                *slot = size;
            }
        }
        if total != fields {
            return malformed("sizes that do not add up");
        }
        let since = reader.from.i64()?;
        let [lists, records, functions, cells, awaitables] = reader.sizes;
        for _ in 0..lists {
            let mut props = None;
            if reader.from.datatype()? == Type::Tag {
                if reader.from.tag()?.as_u64() != LIST_WITH_PROPERTIES {
                    return malformed("not a list");
                }
                reader.expect_array(2)?;
                match reader.value()? {
                    Value::Record(at) => props = Some(at),
                    _ => return malformed("properties that are no object"),
                }
            }
            let items = reader.values()?;
            let list = self.heap.list(items);
            self.heap.list_props.extend(props.map(|props| (list, props)));
        }
        for _ in 0..records {
            let count = reader.array()?;
            let mut record = Record::default();
            if count % 2 == 1 {
                record.set_extra(reader.extra()?);
            }
            for _ in 0..count / 2 {
                let name = reader.text()?;
                let value = reader.value()?;
                record.set(name, value);
            }
            self.heap.record(record);
        }
        for _ in 0..functions {
            let closure = self.read_function(reader)?;
            self.heap.function(closure);
        }
        for _ in 0..cells {
            let value = reader.value()?;
            self.heap.cell(value);
        }
        for _ in 0..awaitables {
            let awaitable = self.read_awaitable(reader, since)?;
            self.heap.awaitable(awaitable);
        }
        Ok(())
    }

    fn read_awaitable(&mut self, reader: &mut Reader<'_>, since: i64) -> DecodeResult<Awaitable> {
        if reader.from.datatype()? != Type::Tag {
            return reader.awaitable(since);
        }
        if reader.from.tag()?.as_u64() != WITH_REACTIONS {
            return malformed("not an awaitable");
        }
        reader.expect_array(2)?;
        let reactions = self.read_reactions(reader)?;
        let awaitable = reader.awaitable(since)?;
        Ok(Awaitable { reactions, handled: true, ..awaitable })
    }

    fn read_function(&mut self, reader: &mut Reader<'_>) -> DecodeResult<Closure> {
        if let Some(native) = reader.native()? {
            let extra = FunctionExtra { native: Some(native), ..FunctionExtra::default() };
            let (cells, extra) = (Vec::new(), Some(Box::new(extra)));
            return Ok(Closure { function: NATIVE_FUNCTION, cells, extra });
        }
        let count = reader.array()?;
        if count == 0 {
            return malformed("a function without an end");
        }
        let id = reader.from.u32()?;
        let mut shared = BTreeMap::new();
        for _ in 0..(count - 1) / 2 {
            let key = reader.from.u32()?;
            let number = reader.from.u32()?;
            shared.insert(key, CellRef(reader.checked_index(CELL, number)?));
        }
        let index = self.program.function(id);
        let code = index.and_then(|index| self.program.functions.get(index));
        let (Some(index), Some(code)) = (index, code) else { return malformed("no such function") };
        let cells: Option<Vec<CellRef>> =
            code.captures.iter().map(|capture| shared.get(&capture.key).copied()).collect();
        let Some(cells) = cells else { return malformed("a shared variable is missing") };
        let extra = if count % 2 == 0 { Some(Box::new(reader.function_extra()?)) } else { None };
        Ok(Closure { function: u32::try_from(index).unwrap_or(u32::MAX), cells, extra })
    }

    fn read_frame(&mut self, reader: &mut Reader<'_>, is_top: bool) -> DecodeResult<()> {
        let fields = reader.array()?;
        let frame = match (reader.from.u64()?, fields) {
            (SCRIPT_FRAME, 6) => return self.read_script(reader, is_top),
            (ITERATION_FRAME, 8) => Frame::Iteration(reader.iteration()?),
            (SORT_FRAME, 9) => Frame::Sort(reader.sort()?),
            (STRINGIFY_FRAME, 8) => Frame::Stringify(reader.stringify()?),
            (COROUTINE_FRAME, fields) => {
                let frame = reader.coroutine_frame(fields)?;
                // Inside of another call it has not waited yet.
                if is_top || frame.is_first == self.frames.is_empty() {
                    return malformed("an async call out of place");
                }
                self.frames.push(Frame::Coroutine(frame));
                return Ok(());
            }
            _ => return malformed("an unknown frame"),
        };
        if !matches!(self.frames.last(), Some(Frame::Script(_))) {
            return malformed("a method without a caller");
        }
        self.frames.push(frame);
        Ok(())
    }

    fn read_script(&mut self, reader: &mut Reader<'_>, is_top: bool) -> DecodeResult<()> {
        let (id, at) = (reader.from.u32()?, reader.from.u32()?);
        let closure = if reader.from.datatype()? == Type::Null {
            reader.from.null()?;
            None
        } else {
            let number = reader.from.u32()?;
            Some(FunctionRef(reader.checked_index(FUNCTION, number)?))
        };
        let index = self.program.function(id);
        let code = index.and_then(|index| self.program.functions.get(index));
        let (Some(index), Some(code)) = (index, code) else { return malformed("no such function") };
        let Some(point) = code.point(at).copied() else { return malformed("no such point") };
        if !self.frames.is_empty() {
            // The slot below the variables of a called function holds the function itself.
            self.stack.push(closure.map_or(Value::Undefined, Value::Function));
        }
        let base = self.stack.len();
        self.stack.resize(base + code.slots.len(), Value::Undefined);
        let count = reader.array()?;
        for _ in 0..count / 2 {
            let key = reader.from.u32()?;
            let value = reader.value()?;
            let slot = code.slot(key);
            let position = slot.and_then(|slot| self.stack.get_mut(base + slot));
            match position {
                Some(position) => *position = value,
                None => return malformed("no such variable"),
            }
        }
        let operands = reader.values()?;
        let wanted = if is_top { point.depth } else { point.after };
        if operands.len() != wanted as usize {
            return malformed("operands that do not fit their place");
        }
        self.stack.extend(operands);
        let pc = point.pc as usize + usize::from(!is_top);
        let function = u32::try_from(index).unwrap_or(u32::MAX);
        self.frames.push(Frame::Script(ScriptFrame { function, pc, base, closure }));
        Ok(())
    }

    /// Rebuilds links that are not saved because they can be computed.
    fn rebuild_links(&mut self) {
        let mut parents: Vec<(AwaitableRef, AwaitableRef)> = Vec::new();
        for (at, awaitable) in self.heap.awaitables.iter::<AwaitableRef>() {
            if !awaitable.is_pending() {
                continue;
            }
            match &awaitable.kind {
                Kind::Leaf(leaf) => {
                    self.steps.insert(leaf.step, at);
                    self.steps.extend(leaf.timer.map(|timer| (timer, at)));
                }
                Kind::Combinator(combinator) => {
                    let members = combinator.members.iter().filter_map(|member| match member {
                        Value::Awaitable(member) => Some((*member, at)),
                        _ => None,
                    });
                    parents.extend(members);
                }
                Kind::Promise(_) => {}
            }
        }
        for (member, parent) in parents {
            let pending = self.heap.awaitables.get_mut(member).filter(|it| it.is_pending());
            let Some(member) = pending else { continue };
            member.parents.push(parent);
            if let Some(Kind::Combinator(combinator)) =
                self.heap.awaitables.get_mut(parent).map(|it| &mut it.kind)
            {
                combinator.left += 1;
            }
        }
        self.park();
    }

    /// The workflow waits if something will continue it, or if it is at an `await` of something
    /// pending, or if it has returned before its jobs were done.
    fn park(&mut self) {
        let pending = match (self.next_op(), self.stack.last()) {
            (Some(Op::Await), Some(Value::Awaitable(at))) => {
                let at = *at;
                let is_pending = self.heap.awaitables.get(at).is_some_and(Awaitable::is_pending);
                is_pending.then_some(at)
            }
            _ => None,
        };
        if self.find_main() {
            self.parked = self.frames.len();
        } else if let Some(at) = pending {
            self.set_handled(at);
            self.add_reaction(at, Reaction::Main);
            self.parked = self.frames.len();
        } else if self.next_op() == Some(Op::Finish) && self.has_work() {
            self.parked = self.frames.len();
        }
    }

    pub(crate) fn next_op(&self) -> Option<Op> {
        let Some(Frame::Script(frame)) = self.frames.last() else { return None };
        let code = self.program.functions.get(frame.function as usize)?;
        code.ops.get(frame.pc).copied()
    }
}

impl Reader<'_> {
    pub(super) fn array(&mut self) -> DecodeResult<u64> {
        match self.from.array()? {
            Some(count) => Ok(count),
            None => malformed("an array without a length"),
        }
    }

    pub(super) fn expect_array(&mut self, wanted: u64) -> DecodeResult<()> {
        if self.array()? == wanted { Ok(()) } else { malformed("an array of another length") }
    }

    pub(super) fn values(&mut self) -> DecodeResult<Vec<Value>> {
        let count = self.array()?;
        (0..count).map(|_| self.value()).collect()
    }

    fn step(&mut self) -> DecodeResult<LocalEffectKey> {
        Ok(LocalEffectKey { turn: self.from.u64()?, ordinal: self.from.u32()? })
    }

    fn what(&mut self) -> DecodeResult<EffectKind> {
        let number = self.from.u64()?;
        let what = usize::try_from(number).ok().and_then(|it| EFFECT_KINDS.get(it)).copied();
        what.map_or_else(|| malformed("an unknown kind of effect"), Ok)
    }

    /// A number that is a valid index of its table.
    pub(super) fn checked_index(&self, tag: u64, number: u32) -> DecodeResult<u32> {
        let [lists, records, functions, cells, awaitables] = self.sizes;
        let size = match tag {
            LIST | ACCESSOR => lists,
            RECORD => records,
            FUNCTION => functions,
            CELL => cells,
            _ => awaitables,
        };
        if number < size { Ok(number) } else { malformed("a reference to nothing") }
    }

    pub(super) fn text(&mut self) -> DecodeResult<Text> {
        if self.from.datatype()? == Type::Tag {
            let tag = self.from.tag()?.as_u64();
            if tag != SHARED {
                return malformed("not a string");
            }
            return self.shared();
        }
        let text = Text::new(self.from.str()?);
        self.text_bytes += text.bytes();
        if text.bytes() >= MIN_SHARED_BYTES {
            self.strings.push(text.clone());
        }
        Ok(text)
    }

    fn shared(&mut self) -> DecodeResult<Text> {
        let number = self.from.u64()?;
        let text = usize::try_from(number).ok().and_then(|it| self.strings.get(it)).cloned();
        text.map_or_else(|| malformed("no such string"), Ok)
    }

    pub(super) fn value(&mut self) -> DecodeResult<Value> {
        Ok(match self.from.datatype()? {
            Type::Undefined => {
                self.from.undefined()?;
                Value::Undefined
            }
            Type::Null => {
                self.from.null()?;
                Value::Null
            }
            Type::Bool => Value::Bool(self.from.bool()?),
            Type::F64 => Value::Float(self.from.f64()?),
            Type::String => Value::Text(self.text()?),
            Type::Tag => return self.tagged(),
            _ => Value::Int(self.from.i64()?),
        })
    }

    fn tagged(&mut self) -> DecodeResult<Value> {
        let tag = self.from.tag()?.as_u64();
        match tag {
            SHARED => return self.shared().map(Value::Text),
            VERBATIM => {
                let text = self.from.str()?;
                if !meantime_core::json::is_number(text) {
                    return malformed("a number that is none");
                }
                return Ok(Value::Verbatim(Text::new(text)));
            }
            BUILTIN => return self.builtin(),
            _ => {}
        }
        let number = self.from.u32()?;
        let at = self.checked_index(tag, number)?;
        Ok(match tag {
            LIST => Value::List(ListRef(at)),
            ACCESSOR => Value::Accessor(ListRef(at)),
            RECORD => Value::Record(RecordRef(at)),
            FUNCTION => Value::Function(FunctionRef(at)),
            CELL => Value::Cell(CellRef(at)),
            AWAITABLE => Value::Awaitable(AwaitableRef(at)),
            _ => return malformed("an unknown tag"),
        })
    }

    fn list(&mut self) -> DecodeResult<ListRef> {
        match self.value()? {
            Value::List(at) => Ok(at),
            _ => malformed("not a list"),
        }
    }

    fn size(&mut self) -> DecodeResult<usize> {
        let size = self.from.u32()?;
        Ok(size as usize)
    }

    fn iteration(&mut self) -> DecodeResult<IterationFrame> {
        let Some(method) = Method::by_name(self.from.str()?).filter(|it| it.takes_callback())
        else {
            return malformed("no such method");
        };
        Ok(IterationFrame {
            method,
            list: self.list()?,
            callback: self.value()?,
            next: self.size()?,
            length: self.size()?,
            current: self.value()?,
            result: self.value()?,
        })
    }

    fn sort(&mut self) -> DecodeResult<SortFrame> {
        Ok(SortFrame {
            list: self.list()?,
            from: self.list()?,
            to: self.list()?,
            callback: self.value()?,
            width: self.size()?.max(1),
            left: self.size()?,
            right: self.size()?,
            start: self.size()?,
        })
    }

    fn stringify(&mut self) -> DecodeResult<StringifyFrame> {
        Ok(StringifyFrame {
            replacer: self.value()?,
            names: self.value()?,
            indent: self.value()?,
            levels: self.list()?,
            copy: self.value()?,
            key: self.value()?,
            asked_to_json: self.from.bool()?,
        })
    }

    fn awaitable(&mut self, since: i64) -> DecodeResult<Awaitable> {
        let fields = self.array()?;
        let head = self.from.u64()?;
        let (kind, state) = (head / STATE_FACTOR, head % STATE_FACTOR);
        let kind = if kind == PROMISE {
            let has_value = !matches!(state, PENDING | CANCELLED);
            Kind::Promise(self.promise(fields, has_value)?)
        } else if kind < FIRST_COMBINATOR {
            self.leaf(kind, state, fields, since)?
        } else {
            self.combinator(kind - FIRST_COMBINATOR, state, fields)?
        };
        let state = match state {
            PENDING => AwaitableState::Pending,
            RAW => match Json::parse(self.from.str()?) {
                Ok(json) => AwaitableState::Raw(json),
                Err(_) => return malformed("a result that is no JSON"),
            },
            DONE => AwaitableState::Done(self.value()?),
            FAILED => AwaitableState::Failed(self.value()?),
            CANCELLED => AwaitableState::Cancelled,
            _ => return malformed("an unknown state"),
        };
        Ok(Awaitable::new(kind, state))
    }

    fn leaf(&mut self, kind: u64, state: u64, fields: u64, since: i64) -> DecodeResult<Kind> {
        let what = usize::try_from(kind).ok().and_then(|it| EFFECT_KINDS.get(it)).copied();
        let Some(what) = what else { return malformed("an unknown kind of effect") };
        let step = self.step()?;
        let mut leaf = Leaf {
            what,
            step,
            timer: None,
            name: Text::new(""),
            at: 0,
            since: Timestamp::default(),
        };
        if state == PENDING {
            leaf.at = self.from.u32()?;
            leaf.name = self.text()?;
            leaf.since = Timestamp::from_millis(since.saturating_add(self.from.i64()?));
            leaf.timer = if fields == 8 { Some(self.step()?) } else { None };
        } else if state == CANCELLED {
            leaf.at = self.from.u32()?;
        }
        Ok(Kind::Leaf(leaf))
    }

    fn combinator(&mut self, mode: u64, state: u64, fields: u64) -> DecodeResult<Kind> {
        let mode = usize::try_from(mode).ok().and_then(|it| COMBINATOR_MODES.get(it)).copied();
        let Some(mode) = mode else { return malformed("an unknown combinator") };
        let number = self.from.u32()?;
        let mut combinator =
            Combinator { mode, number, keys: None, members: Vec::new(), at: 0, left: 0 };
        if state == CANCELLED {
            combinator.at = self.from.u32()?;
        }
        if state == PENDING {
            combinator.at = self.from.u32()?;
            combinator.keys = if self.from.datatype()? == Type::Null {
                self.from.null()?;
                None
            } else {
                let count = self.array()?;
                Some((0..count).map(|_| self.text()).collect::<DecodeResult<Vec<Text>>>()?)
            };
            for _ in 4..fields {
                combinator.members.push(self.value()?);
            }
        }
        Ok(Kind::Combinator(combinator))
    }
}
