//! The result of compilation: functions with their tables, constants, workflows.

use std::sync::Arc;

use meantime_core::Position;

use super::op::Op;
use crate::check::LiteralTimer;
use crate::library::Method;
use crate::span::SourceMap;
use crate::vm::Value;

/// A compiled file. Immutable, shared by all instances that run it.
#[derive(Debug)]
pub struct Program {
    pub(crate) map: SourceMap,
    pub(crate) file: String,
    pub(crate) functions: Vec<Code>,
    pub(crate) constants: Vec<Value>,
    /// For each constant: the method of that name, if there is one.
    pub(crate) methods: Vec<Option<Method>>,
    pub(crate) workflows: Vec<Workflow>,
    /// Identifies the source, so that a saved state of another source is detected.
    pub(crate) fingerprint: u64,
    pub(crate) timers: Vec<LiteralTimer>,
}

/// A workflow that can be started.
#[derive(Debug, Clone)]
pub struct Workflow {
    /// Its name; none in a bare script.
    pub name: Option<Arc<str>>,
    /// The position of its declaration.
    pub(crate) at: u32,
    /// The first function to run: the workflow itself, or the code before it in the file.
    pub(crate) entry: usize,
}

/// A compiled function.
#[derive(Debug)]
pub(crate) struct Code {
    /// The position of the function in the source; unique, and used in saved frames.
    pub(crate) id: u32,
    pub(crate) name: Arc<str>,
    pub(crate) params: u32,
    pub(crate) rest: bool,
    /// The number of parameters before the first with a default.
    pub(crate) length: u32,
    /// Whether it is the workflow itself, whose variables operators see.
    pub(crate) is_workflow: bool,
    /// Whether it is the constructor of a class.
    pub(crate) is_class: bool,
    /// Whether `name` is certainly the name that JavaScript gives it.
    pub(crate) is_named: bool,
    /// Whether a call returns a promise at its first `await`.
    pub(crate) is_async: bool,
    pub(crate) slots: Vec<LocalSlot>,
    pub(crate) ops: Vec<Op>,
    /// Source positions by the first operation they belong to, in order.
    pub(crate) source_offsets: Vec<(u32, u32)>,
    /// Operations at which it may be suspended, in source order.
    pub(crate) points: Vec<SuspensionPoint>,
    /// The same in order of their operations: the index of each in `points`.
    pub(crate) points_by_pc: Vec<(u32, u32)>,
    /// Slots in order of their keys.
    pub(crate) slots_by_key: Vec<(u32, u32)>,
    pub(crate) handlers: Vec<Handler>,
    pub(crate) captures: Vec<Capture>,
    /// Variables in scope, as linked chains: a slot and the next chain entry.
    pub(crate) chains: Vec<(u32, u32)>,
    /// Variables of the outermost block, by name.
    pub(crate) visible: Vec<(Arc<str>, u32)>,
}

/// A local variable.
#[derive(Debug, Clone)]
pub(crate) struct LocalSlot {
    /// Its source position, with a number for hidden ones; used in saved states.
    pub(crate) key: u32,
    /// Whether it is shared with inner functions.
    pub(crate) cell: bool,
}

/// The end of a chain of variables.
pub(crate) const NO_CHAIN: u32 = u32::MAX;

/// An operation at which a frame may be suspended and saved.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SuspensionPoint {
    /// Its position in the source; unique within the function.
    pub(crate) at: u32,
    pub(crate) pc: u32,
    /// The number of unfinished operands on the stack, including those of the operation.
    pub(crate) depth: u32,
    /// The number that remains when a call made here returns, without its result.
    pub(crate) after: u32,
    /// The variables in scope.
    pub(crate) chain: u32,
}

/// The handler of errors thrown between two operations.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Handler {
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) target: u32,
    pub(crate) kind: HandlerKind,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum HandlerKind {
    Catch,
    /// Throws the error again after the block; the trace is kept in a slot.
    Finally {
        trace: u32,
    },
}

/// Where a new function finds a shared variable.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Capture {
    /// The key of the variable, as in `LocalSlot`.
    pub(crate) key: u32,
    pub(crate) from: CaptureFrom,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum CaptureFrom {
    Local(u32),
    Up(u32),
}

impl Program {
    /// The workflows, in source order.
    #[must_use]
    pub fn workflows(&self) -> &[Workflow] {
        &self.workflows
    }

    /// Line and column of a byte offset.
    #[must_use]
    pub fn position(&self, at: u32) -> Position {
        self.map.position(at)
    }

    /// The position of a workflow's declaration.
    #[must_use]
    pub fn declared_at(&self, workflow: &Workflow) -> Position {
        self.map.position(workflow.at)
    }

    pub(crate) fn function(&self, id: u32) -> Option<usize> {
        self.functions.binary_search_by_key(&id, |code| code.id).ok()
    }
}

impl Code {
    /// The suspension point at a source position.
    pub(crate) fn point(&self, at: u32) -> Option<&SuspensionPoint> {
        let found = self.points.binary_search_by_key(&at, |point| point.at).ok();
        found.and_then(|source_offset| self.points.get(source_offset))
    }

    /// The suspension point of an operation.
    pub(crate) fn point_at(&self, pc: usize) -> Option<&SuspensionPoint> {
        let pc = u32::try_from(pc).ok()?;
        let found = self.points_by_pc.binary_search_by_key(&pc, |(pc, _)| *pc).ok()?;
        let (_, source_offset) = self.points_by_pc.get(found)?;
        self.points.get(*source_offset as usize)
    }

    /// The slot of a key.
    pub(crate) fn slot(&self, key: u32) -> Option<usize> {
        let found = self.slots_by_key.binary_search_by_key(&key, |(key, _)| *key).ok()?;
        self.slots_by_key.get(found).map(|(_, slot)| *slot as usize)
    }

    /// The source position of an operation.
    pub(crate) fn source_offset(&self, pc: usize) -> u32 {
        let after = self.source_offsets.partition_point(|(from, _)| *from as usize <= pc);
        let found =
            after.checked_sub(1).and_then(|source_offset| self.source_offsets.get(source_offset));
        found.map_or(0, |(_, at)| *at)
    }

    /// The slots of a chain, innermost first.
    pub(crate) fn in_scope(&self, chain: u32) -> impl Iterator<Item = u32> {
        let mut at = chain;
        std::iter::from_fn(move || {
            let (slot, rest) = self.chains.get(at as usize).copied()?;
            at = rest;
            Some(slot)
        })
    }
}
