//! Exits: `break`, `continue`, `return`, errors, and the `finally` blocks they pass.
//!
//! A `finally` block is compiled once. Code that enters it first stores in hidden variables how to
//! continue: 0 normally, 1 returning a value, 2 with a jump, identified by its position, 3 with an
//! error. After the block this value is read.

use std::sync::Arc;

use super::builder::{FunctionBuilder, JumpPatch};
use super::op::Op;
use super::program::{Handler, HandlerKind};
use crate::ast::{Block, Catch, Ident};

const COMPLETED_NORMALLY: i32 = 0;
const COMPLETED_BY_RETURN: i32 = 1;
const COMPLETED_BY_JUMP: i32 = 2;
const COMPLETED_BY_THROW: i32 = 3;

/// A construct that jumps can target or must pass.
#[derive(Debug)]
pub(super) struct JumpScope {
    kind: Kind,
    breaks: Vec<JumpPatch>,
    continues: Vec<JumpPatch>,
}

#[derive(Debug)]
enum Kind {
    Loop,
    Switch,
    /// A label, and whether it is a loop's, which `continue` may name.
    Label(Arc<str>, bool),
    Finally(FinallyBlock),
}

/// A `finally` block that exits must pass.
#[derive(Debug)]
struct FinallyBlock {
    note: u32,
    value: u32,
    returns: bool,
    /// Jumps that pass through it, by source position.
    jumps: Vec<(u32, Option<Ident>, bool)>,
}

impl JumpScope {
    const fn of(kind: Kind) -> Self {
        Self { kind, breaks: Vec::new(), continues: Vec::new() }
    }

    pub(super) const fn enclosing_loop() -> Self {
        Self::of(Kind::Loop)
    }

    pub(super) const fn switch() -> Self {
        Self::of(Kind::Switch)
    }

    pub(super) const fn label(name: Arc<str>, is_loop: bool) -> Self {
        Self::of(Kind::Label(name, is_loop))
    }

    pub(super) fn into_breaks(self) -> Vec<JumpPatch> {
        self.breaks
    }
}

impl FunctionBuilder<'_, '_> {
    /// Jumps to the next iteration of the innermost loop and of its labels.
    pub(super) fn take_continues(&mut self) -> Vec<JumpPatch> {
        let Some((innermost, around)) = self.contexts.split_last_mut() else { return Vec::new() };
        let mut patches = std::mem::take(&mut innermost.continues);
        for context in around.iter_mut().rev() {
            match context.kind {
                Kind::Label(_, true) => patches.append(&mut context.continues),
                _ => break,
            }
        }
        patches
    }

    /// `break` or `continue`.
    pub(super) fn leave(&mut self, at: u32, label: Option<&Ident>, goes_on: bool) {
        let fits = |kind: &Kind| match (kind, label) {
            (Kind::Label(name, is_loop), Some(label)) => {
                *name == label.name && (*is_loop || !goes_on)
            }
            (Kind::Loop, None) => true,
            (Kind::Switch, None) => !goes_on,
            _ => false,
        };
        for offset in (0..self.contexts.len()).rev() {
            let Some(context) = self.contexts.get_mut(offset) else { return };
            if let Kind::Finally(finally) = &mut context.kind {
                let (note, value) = (finally.note, finally.value);
                if !finally.jumps.iter().any(|(known, ..)| *known == at) {
                    finally.jumps.push((at, label.cloned(), goes_on));
                }
                self.emit(Op::Int(i32::try_from(at).unwrap_or(i32::MAX)));
                return self.enter_finally(offset, note, value, COMPLETED_BY_JUMP);
            }
            if fits(&context.kind) {
                let patch = self.jump(Op::Jump(0));
                if let Some(context) = self.contexts.get_mut(offset) {
                    let list = if goes_on { &mut context.continues } else { &mut context.breaks };
                    list.push(patch);
                }
                return;
            }
        }
    }

    /// Returns the value on the stack.
    pub(super) fn return_value(&mut self, at: u32) {
        for offset in (0..self.contexts.len()).rev() {
            let Some(context) = self.contexts.get_mut(offset) else { continue };
            if let Kind::Finally(finally) = &mut context.kind {
                finally.returns = true;
                let (note, value) = (finally.note, finally.value);
                return self.enter_finally(offset, note, value, COMPLETED_BY_RETURN);
            }
        }
        self.leave_function(at);
    }

    /// The end of the function or workflow. A workflow may be suspended here once more to cancel
    /// remaining effects; this point is identified by the second character of the exit.
    pub(super) fn leave_function(&mut self, at: u32) {
        if self.code.is_workflow {
            self.emit_suspension_point_at(at, at.wrapping_add(1), Op::Finish);
        } else {
            self.at(at);
            self.constructed();
            self.emit(Op::Return);
        }
    }

    /// Stores the value and how to continue, and jumps to the `finally` block.
    fn enter_finally(&mut self, offset: usize, note: u32, value: u32, how: i32) {
        self.emit(Op::Store(value));
        self.emit(Op::Int(how));
        self.emit(Op::Store(note));
        let patch = self.jump(Op::Jump(0));
        if let Some(context) = self.contexts.get_mut(offset) {
            context.breaks.push(patch);
        }
    }

    pub(super) fn try_statement(
        &mut self,
        at: u32,
        block: &Block,
        catch: Option<&Catch>,
        finally: Option<&Block>,
    ) {
        let Some(finally) = finally else {
            self.try_catch(block, catch);
            return;
        };
        let chain = self.chain;
        let note = self.hidden(at, 1);
        let value = self.hidden(at, 2);
        let trace = self.hidden(at, 3);
        let (returns, jumps) = (false, Vec::new());
        self.contexts.push(JumpScope::of(Kind::Finally(FinallyBlock {
            note,
            value,
            returns,
            jumps,
        })));
        let from = self.next_pc();
        self.try_catch(block, catch);
        self.emit(Op::Int(COMPLETED_NORMALLY));
        self.emit(Op::Store(note));
        let to = self.next_pc();
        let over = self.jump(Op::Jump(0));
        let target = self.next_pc();
        let kind = HandlerKind::Finally { trace };
        self.code.handlers.push(Handler { from, to, target, kind });
        self.set_stack_height(1);
        self.emit(Op::Store(value));
        self.emit(Op::Int(COMPLETED_BY_THROW));
        self.emit(Op::Store(note));
        self.patch_here(over);
        let passed = self.contexts.pop();
        let Some(JumpScope { kind: Kind::Finally(passed), breaks, .. }) = passed else { return };
        self.patch_all_here(breaks);
        self.block(finally);
        self.resume_after_finally(at, &passed, trace);
        self.chain = chain;
    }

    /// After a `finally` block: resumes the completion that entered it.
    fn resume_after_finally(&mut self, at: u32, passed: &FinallyBlock, trace: u32) {
        let (note, value) = (passed.note, passed.value);
        let over = self.jump_unless_equal(note, COMPLETED_BY_THROW);
        self.at(at);
        self.emit(Op::Rethrow { value, trace });
        self.patch_here(over);
        if passed.returns {
            let over = self.jump_unless_equal(note, COMPLETED_BY_RETURN);
            self.emit(Op::Load(value));
            self.return_value(at);
            self.set_stack_height(0);
            self.patch_here(over);
        }
        for (jump, label, goes_on) in &passed.jumps {
            let over = self.jump_unless_equal(note, COMPLETED_BY_JUMP);
            let other = self.jump_unless_equal(value, i32::try_from(*jump).unwrap_or(i32::MAX));
            self.leave(*jump, label.as_ref(), *goes_on);
            self.set_stack_height(0);
            self.patch_here(over);
            self.patch_here(other);
        }
    }

    fn jump_unless_equal(&mut self, slot: u32, number: i32) -> JumpPatch {
        self.emit(Op::Load(slot));
        self.emit(Op::Int(number));
        self.emit(Op::Eq);
        self.jump(Op::JumpIfFalse(0))
    }

    fn try_catch(&mut self, block: &Block, catch: Option<&Catch>) {
        let from = self.next_pc();
        self.block(block);
        let to = self.next_pc();
        let Some(catch) = catch else { return };
        let over = self.jump(Op::Jump(0));
        let target = self.next_pc();
        self.code.handlers.push(Handler { from, to, target, kind: HandlerKind::Catch });
        self.set_stack_height(1);
        let chain = self.chain;
        match &catch.param {
            Some(param) => {
                param.each_name(&mut |name| {
                    let id = self.shared.analysis.decl(name.span);
                    id.filter(|id| self.is_captured(*id))
                        .into_iter()
                        .for_each(|id| self.declare_without_value(id));
                });
                self.declare_pattern(param);
            }
            None => self.emit(Op::Pop),
        }
        self.block(&catch.body);
        self.chain = chain;
        self.patch_here(over);
    }
}
