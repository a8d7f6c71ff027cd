//! Encodes the saved form.

use std::collections::BTreeMap;

use meantime_core::Fault;
use minicbor::data::Tag;
use minicbor::encode::{Encoder, Error};

use super::heap::Numbering;
use super::layout::{
    ACCESSOR, AWAITABLE, BUILTIN, CELL, FUNCTION, ITERATION_FRAME, LIST, MIN_SHARED_BYTES, RECORD,
    SCRIPT_FRAME, SHARED, SORT_FRAME, STRINGIFY_FRAME, VERBATIM, what_number,
};
use crate::compile::{Code, SuspensionPoint};
use crate::vm::{
    Frame, IterationFrame, Machine, ScriptFrame, SortFrame, StringifyFrame, Text, Value,
};

pub(super) type EncodeResult = Result<(), Error<std::convert::Infallible>>;

/// Writes values; equal long strings are written once.
pub(super) struct Writer<'n> {
    pub(super) out: Encoder<Vec<u8>>,
    pub(super) numbering: &'n Numbering,
    strings: BTreeMap<Text, u64>,
}

impl Machine<'_> {
    /// The saved form of a script that waits or has yielded.
    pub fn save(&mut self) -> Result<Vec<u8>, Fault> {
        self.forget_handled_errors();
        let numbering = self.number_reachable();
        self.cancel_unreachable(&numbering.marks.awaitables);
        self.flush_cancellations();
        let mut writer = Writer {
            out: Encoder::new(Vec::new()),
            numbering: &numbering,
            strings: BTreeMap::new(),
        };
        match self.write(&mut writer) {
            Ok(()) => Ok(writer.out.into_writer()),
            Err(error) => Err(Fault::new("corrupt_state", error.to_string())),
        }
    }

    fn write(&self, writer: &mut Writer<'_>) -> EncodeResult {
        let is_busy = self.has_work() || self.running_from().is_some();
        writer.out.array(if is_busy { 9 } else { 6 })?.u64(self.program.fingerprint)?;
        writer.out.bytes(&self.instance.to_bytes())?.u32(self.next_number)?;
        writer.out.array(self.cancellations.len() as u64 * 3)?;
        for (what, step) in &self.cancellations {
            writer.out.u64(what_number(*what))?.u64(step.turn)?.u32(step.ordinal)?;
        }
        self.write_heap(writer)?;
        let [main, running] = self.segments();
        self.write_frames(writer, main)?;
        if is_busy {
            self.write_jobs(writer)?;
            self.write_frames(writer, running)?;
        }
        Ok(())
    }

    pub(super) fn write_frames(
        &self,
        writer: &mut Writer<'_>,
        segment: Segment<'_>,
    ) -> EncodeResult {
        writer.out.array(segment.frames.len() as u64)?;
        for (index, frame) in segment.frames.iter().enumerate() {
            match frame {
                Frame::Script(script) => self.write_script(writer, segment, index, script)?,
                Frame::Iteration(frame) => write_iteration(writer, frame)?,
                Frame::Sort(frame) => write_sort(writer, frame)?,
                Frame::Stringify(frame) => write_stringify(writer, frame)?,
                Frame::Coroutine(frame) => writer.coroutine_frame(frame)?,
                Frame::Native => return Err(Error::message("an operation is not finished")),
            }
        }
        Ok(())
    }

    /// The first frame and the first value of a coroutine that runs above the parked workflow.
    fn running_from(&self) -> Option<(usize, usize)> {
        if self.parked == 0 {
            return None;
        }
        let mut above = self.frames.iter().skip(self.parked);
        let first = above.find_map(|frame| match frame {
            Frame::Script(script) => Some(script.base.saturating_sub(1)),
            _ => None,
        });
        first.map(|floor| (self.parked, floor))
    }

    /// The workflow, and the coroutine that runs above it.
    fn segments(&self) -> [Segment<'_>; 2] {
        let (frames, stack) = (&self.frames[..], &self.stack[..]);
        match self.running_from() {
            None => [Segment { frames, stack }, Segment { frames: &[], stack: &[] }],
            Some((parked, floor)) => {
                let (below, above) = frames.split_at(parked.min(frames.len()));
                let main = stack.get(..floor).unwrap_or_default();
                [Segment { frames: below, stack: main }, Segment { frames: above, stack }]
            }
        }
    }

    fn write_script(
        &self,
        writer: &mut Writer<'_>,
        segment: Segment<'_>,
        index: usize,
        frame: &ScriptFrame,
    ) -> EncodeResult {
        let Some((code, point)) = self.suspension_point(segment, index, frame) else {
            return Err(Error::message("a frame is at a position where it cannot be saved"));
        };
        writer.out.array(6)?.u64(SCRIPT_FRAME)?.u32(code.id)?.u32(point.at)?;
        match frame.closure {
            Some(closure) => writer.out.u32(writer.numbering.of(&Value::Function(closure)))?,
            None => writer.out.null()?,
        };
        let variables = variables_in_scope(segment, frame, code, point);
        writer.out.array(variables.len() as u64 * 2)?;
        for (key, value) in variables.iter().rev() {
            writer.out.u32(*key)?;
            writer.value(value)?;
        }
        let operands = segment.operands(index, frame, code);
        writer.out.array(operands.len() as u64)?;
        operands.iter().try_for_each(|value| writer.value(value))
    }

    /// The values on the stack that are saved: without variables of blocks that were left.
    pub(crate) fn saved_roots(&self) -> Vec<Value> {
        let mut roots = Vec::new();
        for segment in self.segments() {
            for (index, frame) in segment.frames.iter().enumerate() {
                let Frame::Script(frame) = frame else { continue };
                if let Some((code, point)) = self.suspension_point(segment, index, frame) {
                    let variables = variables_in_scope(segment, frame, code, point);
                    roots.extend(variables.into_iter().map(|(_, value)| value.clone()));
                    roots.extend(segment.operands(index, frame, code).iter().cloned());
                }
            }
        }
        roots
    }

    /// The code of a frame and its suspension point.
    fn suspension_point(
        &self,
        segment: Segment<'_>,
        index: usize,
        frame: &ScriptFrame,
    ) -> Option<(&Code, SuspensionPoint)> {
        let code = self.program.functions.get(frame.function as usize)?;
        let is_top = index + 1 == segment.frames.len();
        let pc = if is_top { frame.pc } else { frame.pc.checked_sub(1)? };
        Some((code, *code.point_at(pc)?))
    }
}

/// Frames that are saved together, and the stack to which they refer.
#[derive(Clone, Copy)]
pub(super) struct Segment<'m> {
    pub(super) frames: &'m [Frame],
    pub(super) stack: &'m [Value],
}

impl<'m> Segment<'m> {
    /// Unfinished operands of a frame.
    fn operands(self, index: usize, frame: &ScriptFrame, code: &Code) -> &'m [Value] {
        let from = frame.base + code.slots.len();
        let to = self.frame_end(index).min(self.stack.len());
        self.stack.get(from..to).unwrap_or_default()
    }

    /// The end of a frame's values: below the function that it called.
    fn frame_end(self, index: usize) -> usize {
        let above = self.frames.get(index + 1..).unwrap_or_default();
        let next = above.iter().find_map(|frame| match frame {
            Frame::Script(script) => Some(script.base.saturating_sub(1)),
            _ => None,
        });
        next.unwrap_or(self.stack.len())
    }
}

/// Variables with a value that are in scope at the frame's suspension point, innermost first.
fn variables_in_scope<'m>(
    segment: Segment<'m>,
    frame: &ScriptFrame,
    code: &Code,
    point: SuspensionPoint,
) -> Vec<(u32, &'m Value)> {
    let variable = |slot: u32| {
        let value = segment.stack.get(frame.base + slot as usize)?;
        let key = code.slots.get(slot as usize)?.key;
        (!matches!(value, Value::Undefined)).then_some((key, value))
    };
    code.in_scope(point.chain).filter_map(variable).collect()
}

fn write_iteration(writer: &mut Writer<'_>, frame: &IterationFrame) -> EncodeResult {
    writer.out.array(8)?.u64(ITERATION_FRAME)?.str(frame.method.name())?;
    writer.value(&Value::List(frame.list))?;
    writer.value(&frame.callback)?;
    writer.out.u64(frame.next as u64)?.u64(frame.length as u64)?;
    writer.value(&frame.current)?;
    writer.value(&frame.result)
}

fn write_sort(writer: &mut Writer<'_>, frame: &SortFrame) -> EncodeResult {
    writer.out.array(9)?.u64(SORT_FRAME)?;
    for list in [frame.list, frame.from, frame.to] {
        writer.value(&Value::List(list))?;
    }
    writer.value(&frame.callback)?;
    let numbers = [frame.width, frame.left, frame.right, frame.start];
    numbers.iter().try_for_each(|number| writer.out.u64(*number as u64)?.ok())
}

fn write_stringify(writer: &mut Writer<'_>, frame: &StringifyFrame) -> EncodeResult {
    writer.out.array(8)?.u64(STRINGIFY_FRAME)?;
    for value in [&frame.replacer, &frame.names, &frame.indent] {
        writer.value(value)?;
    }
    writer.value(&Value::List(frame.levels))?;
    writer.value(&frame.copy)?;
    writer.value(&frame.key)?;
    writer.out.bool(frame.asked_to_json)?.ok()
}

impl Writer<'_> {
    pub(super) fn value(&mut self, value: &Value) -> EncodeResult {
        match value {
            Value::Undefined => self.out.undefined()?.ok(),
            Value::Null => self.out.null()?.ok(),
            Value::Bool(value) => self.out.bool(*value)?.ok(),
            Value::Int(value) => self.out.i64(*value)?.ok(),
            Value::Float(value) => self.out.f64(*value)?.ok(),
            Value::Text(text) => self.text(text),
            Value::Verbatim(text) => self.out.tag(Tag::new(VERBATIM))?.str(text.as_str())?.ok(),
            Value::Builtin(function) => {
                self.out.tag(Tag::new(BUILTIN))?.str(&function.full_name())?.ok()
            }
            Value::List(_) => self.reference(LIST, value),
            Value::Record(_) => self.reference(RECORD, value),
            Value::Function(_) => self.reference(FUNCTION, value),
            Value::Cell(_) => self.reference(CELL, value),
            Value::Accessor(_) => self.reference(ACCESSOR, value),
            Value::Awaitable(_) => self.reference(AWAITABLE, value),
        }
    }

    fn reference(&mut self, tag: u64, value: &Value) -> EncodeResult {
        let number = self.numbering.of(value);
        self.out.tag(Tag::new(tag))?.u32(number)?.ok()
    }

    pub(super) fn text(&mut self, text: &Text) -> EncodeResult {
        if text.bytes() >= MIN_SHARED_BYTES {
            if let Some(number) = self.strings.get(text) {
                return self.out.tag(Tag::new(SHARED))?.u64(*number)?.ok();
            }
            self.strings.insert(text.clone(), self.strings.len() as u64);
        }
        self.out.str(text.as_str())?.ok()
    }
}
