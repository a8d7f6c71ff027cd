//! The saved form of promises, of what waits for them, and of jobs.

use minicbor::data::{Tag, Type};

use super::decode::{DecodeResult, Reader, malformed};
use super::encode::{EncodeResult, Segment, Writer};
use super::layout::{AWAITABLE, COROUTINE_FRAME, NATIVE, PROMISE, STATE_FACTOR, WITH_REACTIONS};
use crate::awaitable::{Awaitable, Kind};
use crate::compile::Op;
use crate::promise::{
    CallEnd, Coroutine, CoroutineFrame, GATHER_MODES, Gather, Job, NativeFunction, Promise,
    Reaction, Settled,
};
use crate::vm::{AwaitableRef, Frame, Heap, Machine, NATIVE_FUNCTION, Value};

/// Kinds of reactions.
const IGNORED: u64 = 0;
const MAIN: u64 = 1;
const RESUME: u64 = 2;
const THEN: u64 = 3;
const FINALLY: u64 = 4;
const PASS: u64 = 5;
const ADOPT: u64 = 6;
const MEMBER: u64 = 7;

/// Kinds of jobs.
const REACT: u64 = 0;
const FOLLOW: u64 = 1;
const BEGIN: u64 = 2;

/// The reactions of an awaitable that are saved. Those that can cause nothing are not, but one of
/// them shows that its error is not lost. A workflow that alone waits is found by its frame.
pub(super) fn saved_reactions<'h>(heap: &'h Heap, awaitable: &'h Awaitable) -> Vec<&'h Reaction> {
    let mut live: Vec<&Reaction> =
        awaitable.reactions.iter().filter(|it| it.is_live(heap)).collect();
    if matches!(live[..], [Reaction::Main]) {
        live.clear();
    } else if live.is_empty() && awaitable.handled && awaitable.is_pending() {
        let is_waited_for = awaitable.reactions.iter().any(|it| matches!(it, Reaction::Main));
        if matches!(awaitable.kind, Kind::Promise(_)) && !is_waited_for {
            live.push(&Reaction::Ignored);
        }
    }
    live
}

impl Machine<'_> {
    /// Writes an awaitable's reactions, if it has any, before it.
    pub(super) fn write_reactions(
        &self,
        writer: &mut Writer<'_>,
        reactions: &[&Reaction],
    ) -> EncodeResult {
        if reactions.is_empty() {
            return Ok(());
        }
        writer.out.tag(Tag::new(WITH_REACTIONS))?.array(2)?;
        writer.out.array(reactions.len() as u64)?;
        reactions.iter().try_for_each(|reaction| self.write_reaction(writer, reaction))
    }

    fn write_reaction(&self, writer: &mut Writer<'_>, reaction: &Reaction) -> EncodeResult {
        match reaction {
            Reaction::Ignored => writer.out.array(1)?.u64(IGNORED)?.ok(),
            Reaction::Main => writer.out.array(1)?.u64(MAIN)?.ok(),
            Reaction::Resume(coroutine) => {
                writer.out.array(2)?.u64(RESUME)?;
                let segment = Segment { frames: &coroutine.frames, stack: &coroutine.stack };
                self.write_frames(writer, segment)
            }
            Reaction::Then { fulfilled, rejected, derived } => {
                writer.out.array(4)?.u64(THEN)?;
                writer.value(fulfilled)?;
                writer.value(rejected)?;
                writer.awaitable(*derived)
            }
            Reaction::Finally { callback, derived } => {
                writer.out.array(3)?.u64(FINALLY)?;
                writer.value(callback)?;
                writer.awaitable(*derived)
            }
            Reaction::Pass { with, derived } => {
                writer.out.array(4)?.u64(PASS)?;
                writer.settled(with)?;
                writer.awaitable(*derived)
            }
            Reaction::Adopt { promise, resolves } => {
                writer.out.array(3)?.u64(ADOPT)?;
                writer.awaitable(*promise)?;
                writer.out.u32(*resolves)?.ok()
            }
            Reaction::Member { of, index } => {
                writer.out.array(3)?.u64(MEMBER)?;
                writer.awaitable(*of)?;
                writer.out.u32(*index)?.ok()
            }
        }
    }

    /// `[jobs], [errors that nobody handled]`
    pub(super) fn write_jobs(&self, writer: &mut Writer<'_>) -> EncodeResult {
        writer.out.array(self.jobs.len() as u64)?;
        for job in &self.jobs {
            match job {
                Job::React { reaction, with } => {
                    writer.out.array(4)?.u64(REACT)?;
                    self.write_reaction(writer, reaction)?;
                    writer.settled(with)?;
                }
                Job::Follow { promise, resolves, thenable, then } => {
                    writer.out.array(5)?.u64(FOLLOW)?;
                    writer.awaitable(*promise)?;
                    writer.out.u32(*resolves)?;
                    writer.value(thenable)?;
                    writer.value(then)?;
                }
                Job::Begin { of, index } => {
                    writer.out.array(3)?.u64(BEGIN)?;
                    writer.awaitable(*of)?;
                    writer.out.u32(*index)?;
                }
            }
        }
        writer.out.array(self.rejections.len() as u64)?;
        for (promise, trace) in &self.rejections {
            writer.out.array(2)?;
            writer.awaitable(*promise)?;
            writer.value(&trace.clone().map_or(Value::Null, Value::Text))?;
        }
        Ok(())
    }

    pub(super) fn read_reactions(
        &mut self,
        reader: &mut Reader<'_>,
    ) -> DecodeResult<Vec<Reaction>> {
        let count = reader.array()?;
        (0..count).map(|_| self.read_reaction(reader)).collect()
    }

    fn read_reaction(&mut self, reader: &mut Reader<'_>) -> DecodeResult<Reaction> {
        let fields = reader.array()?;
        Ok(match (reader.from.u64()?, fields) {
            (IGNORED, 1) => Reaction::Ignored,
            (MAIN, 1) => Reaction::Main,
            (RESUME, 2) => Reaction::Resume(Box::new(self.read_coroutine(reader, true)?)),
            (THEN, 4) => Reaction::Then {
                fulfilled: reader.value()?,
                rejected: reader.value()?,
                derived: reader.awaitable_ref()?,
            },
            (FINALLY, 3) => {
                Reaction::Finally { callback: reader.value()?, derived: reader.awaitable_ref()? }
            }
            (PASS, 4) => {
                Reaction::Pass { with: reader.settled()?, derived: reader.awaitable_ref()? }
            }
            (ADOPT, 3) => {
                Reaction::Adopt { promise: reader.awaitable_ref()?, resolves: reader.from.u32()? }
            }
            (MEMBER, 3) => {
                Reaction::Member { of: reader.awaitable_ref()?, index: reader.from.u32()? }
            }
            _ => return malformed("an unknown reaction"),
        })
    }

    pub(super) fn read_jobs(&mut self, reader: &mut Reader<'_>) -> DecodeResult<()> {
        for _ in 0..reader.array()? {
            let fields = reader.array()?;
            let job = match (reader.from.u64()?, fields) {
                (REACT, 4) => {
                    Job::React { reaction: self.read_reaction(reader)?, with: reader.settled()? }
                }
                (FOLLOW, 5) => Job::Follow {
                    promise: reader.awaitable_ref()?,
                    resolves: reader.from.u32()?,
                    thenable: reader.value()?,
                    then: reader.value()?,
                },
                (BEGIN, 3) => Job::Begin { of: reader.awaitable_ref()?, index: reader.from.u32()? },
                _ => return malformed("an unknown job"),
            };
            self.jobs.push_back(job);
        }
        for _ in 0..reader.array()? {
            reader.expect_array(2)?;
            let promise = reader.awaitable_ref()?;
            let trace = match reader.value()? {
                Value::Text(trace) => Some(trace),
                _ => None,
            };
            self.rejections.push((promise, trace));
        }
        Ok(())
    }

    /// A coroutine: one that waits at an `await`, or the one that was running.
    pub(super) fn read_coroutine(
        &mut self,
        reader: &mut Reader<'_>,
        waits: bool,
    ) -> DecodeResult<Coroutine> {
        let main = (std::mem::take(&mut self.frames), std::mem::take(&mut self.stack));
        let read = self.read_frames(reader);
        let next = self.next_op();
        let coroutine = Coroutine {
            frames: std::mem::replace(&mut self.frames, main.0),
            stack: std::mem::replace(&mut self.stack, main.1),
        };
        read?;
        let begins = matches!(
            coroutine.frames[..],
            [Frame::Coroutine(CoroutineFrame { is_first: false, .. }), _, ..]
        );
        if !begins || (waits && next != Some(Op::Await)) {
            return malformed("an async call that does not wait");
        }
        Ok(coroutine)
    }

    /// Whether something will continue the workflow.
    pub(super) fn find_main(&self) -> bool {
        let is_main = |it: &Reaction| matches!(it, Reaction::Main);
        let in_jobs = self
            .jobs
            .iter()
            .any(|job| matches!(job, Job::React { reaction, .. } if is_main(reaction)));
        let mut all = self.heap.awaitables.iter::<AwaitableRef>();
        in_jobs || all.any(|(_, it)| it.reactions.iter().any(is_main))
    }
}

impl Writer<'_> {
    pub(super) fn awaitable(&mut self, at: AwaitableRef) -> EncodeResult {
        let number = self.numbering.of(&Value::Awaitable(at));
        self.out.u32(number)?.ok()
    }

    /// Whether it failed, and the value or the error: two fields.
    fn settled(&mut self, with: &Settled) -> EncodeResult {
        let (Ok(value) | Err(value)) = with;
        self.out.bool(with.is_err())?;
        self.value(value)
    }

    /// `[kind, promise, is first, …]`
    pub(super) fn coroutine_frame(&mut self, frame: &CoroutineFrame) -> EncodeResult {
        let fields = match &frame.end {
            CallEnd::Settle => 3,
            CallEnd::RejectOnly(_) => 4,
            CallEnd::Finally(_) => 5,
        };
        self.out.array(fields)?.u64(COROUTINE_FRAME)?;
        self.awaitable(frame.promise)?;
        self.out.bool(frame.is_first)?;
        match &frame.end {
            CallEnd::Settle => Ok(()),
            CallEnd::RejectOnly(resolves) => self.out.u32(*resolves)?.ok(),
            CallEnd::Finally(with) => self.settled(with),
        }
    }

    /// `[kind and state, resolves, …]`
    pub(super) fn promise(
        &mut self,
        promise: &Promise,
        state: u64,
        has_value: bool,
    ) -> EncodeResult {
        let fields = 2 + u64::from(promise.gather.is_some()) + u64::from(has_value);
        self.out.array(fields)?.u64(PROMISE * STATE_FACTOR + state)?.u32(promise.resolves)?;
        let Some(gather) = &promise.gather else { return Ok(()) };
        let mode = GATHER_MODES.iter().position(|it| *it == gather.mode).unwrap_or_default();
        self.out.array(6)?.u64(mode as u64)?.u32(gather.left)?.u32(gather.next)?;
        for values in [&gather.values, &gather.items] {
            self.out.array(values.len() as u64)?;
            values.iter().try_for_each(|value| self.value(value))?;
        }
        self.value(&gather.function)
    }

    /// `[promise, resolves, rejects]`
    pub(super) fn native(&mut self, native: &NativeFunction) -> EncodeResult {
        let NativeFunction::Resolving { promise, resolves, rejects } = native;
        self.out.tag(Tag::new(NATIVE))?.array(3)?;
        self.awaitable(*promise)?;
        self.out.u32(*resolves)?.bool(*rejects)?.ok()
    }
}

impl Reader<'_> {
    pub(super) fn awaitable_ref(&mut self) -> DecodeResult<AwaitableRef> {
        let number = self.from.u32()?;
        Ok(AwaitableRef(self.checked_index(AWAITABLE, number)?))
    }

    fn settled(&mut self) -> DecodeResult<Settled> {
        let failed = self.from.bool()?;
        let value = self.value()?;
        Ok(if failed { Err(value) } else { Ok(value) })
    }

    pub(super) fn coroutine_frame(&mut self, fields: u64) -> DecodeResult<CoroutineFrame> {
        let (promise, is_first) = (self.awaitable_ref()?, self.from.bool()?);
        let end = match fields {
            3 => CallEnd::Settle,
            4 => CallEnd::RejectOnly(self.from.u32()?),
            5 => CallEnd::Finally(self.settled()?),
            _ => return malformed("an unknown frame"),
        };
        Ok(CoroutineFrame { promise, is_first, end })
    }

    pub(super) fn promise(&mut self, fields: u64, has_value: bool) -> DecodeResult<Promise> {
        let resolves = self.from.u32()?;
        let gather = match fields.checked_sub(2 + u64::from(has_value)) {
            Some(0) => None,
            Some(1) => Some(Box::new(self.gather()?)),
            _ => return malformed("a promise of another length"),
        };
        Ok(Promise { resolves, gather })
    }

    fn gather(&mut self) -> DecodeResult<Gather> {
        self.expect_array(6)?;
        let mode = self.one_of(&GATHER_MODES)?;
        Ok(Gather {
            mode,
            left: self.from.u32()?,
            next: self.from.u32()?,
            values: self.values()?,
            items: self.values()?,
            function: self.value()?,
        })
    }

    /// A function that the machine performs, if one follows.
    pub(super) fn native(&mut self) -> DecodeResult<Option<NativeFunction>> {
        if self.from.datatype()? != Type::Tag {
            return Ok(None);
        }
        if self.from.tag()?.as_u64() != NATIVE {
            return malformed("not a function");
        }
        self.expect_array(3)?;
        let promise = self.awaitable_ref()?;
        let (resolves, rejects) = (self.from.u32()?, self.from.bool()?);
        Ok(Some(NativeFunction::Resolving { promise, resolves, rejects }))
    }
}

/// Whether a closure is no function of the script.
pub(super) const fn is_native(function: u32) -> bool {
    function == NATIVE_FUNCTION
}
