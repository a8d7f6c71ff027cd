//! The code of one function under construction.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::op::Op;
use super::program::{Capture, CaptureFrom, Code, LocalSlot, NO_CHAIN, SuspensionPoint};
use super::unwind::JumpScope;
use crate::check::{Analysis, DeclId};
use crate::library::Method;
use crate::vm::{Text, Value};

/// The program under construction: what all functions of a file share.
pub(super) struct ProgramBuilder<'a> {
    pub(super) analysis: &'a Analysis,
    pub(super) constants: Vec<Value>,
    texts: BTreeMap<Arc<str>, u32>,
    pub(super) methods: Vec<Option<Method>>,
    /// By id, which is also their order in the program.
    pub(super) functions: BTreeMap<u32, Option<Code>>,
    numbers: BTreeMap<u32, u32>,
    /// By position of a constructor: whether its class has fields.
    pub(super) fields: BTreeMap<u32, bool>,
}

impl<'a> ProgramBuilder<'a> {
    pub(super) fn new(analysis: &'a Analysis) -> Self {
        let functions = analysis.captures.keys().map(|at| (function_id(*at), None)).collect();
        let (constants, texts, methods) = (Vec::new(), BTreeMap::new(), Vec::new());
        Self {
            analysis,
            constants,
            texts,
            methods,
            functions,
            numbers: BTreeMap::new(),
            fields: BTreeMap::new(),
        }
    }

    /// The index of a function in the program. All ids are known before code is generated.
    pub(super) fn index(&self, id: u32) -> u32 {
        self.numbers.get(&id).copied().unwrap_or(u32::MAX)
    }

    /// Registers an id, before anything is compiled.
    pub(super) fn add_function(&mut self, id: u32) {
        self.functions.insert(id, None);
    }

    /// Assigns indices, when all ids are known.
    pub(super) fn number_functions(&mut self) {
        self.numbers = self.functions.keys().zip(0u32..).map(|(id, at)| (*id, at)).collect();
    }

    pub(super) fn constant(&mut self, value: Value) -> u32 {
        self.constants.push(value);
        self.methods.push(None);
        as_u32(self.constants.len() - 1)
    }

    pub(super) fn text(&mut self, text: &Arc<str>) -> u32 {
        if let Some(known) = self.texts.get(text) {
            return *known;
        }
        let id = self.constant(Value::Text(Text::new(&**text)));
        if let Some(method) = self.methods.last_mut() {
            *method = Method::by_name(text);
        }
        self.texts.insert(text.clone(), id);
        id
    }
}

/// The id of the function at a position. Zero is a bare script.
pub(super) const fn function_id(at: u32) -> u32 {
    at.wrapping_mul(2).wrapping_add(2)
}

/// The id of the code that runs before the workflow at a position.
pub(super) const fn entry_id(at: u32) -> u32 {
    function_id(at) + 1
}

pub(super) const BARE_SCRIPT_ID: u32 = 0;

/// The key of the variable declared at a position; hidden variables at the same position are
/// numbered.
pub(super) const fn slot_key(at: u32, hidden: u32) -> u32 {
    at.wrapping_mul(8).wrapping_add(hidden)
}

/// The key of the input of a bare script, which has no declaration.
pub(super) const INPUT_KEY: u32 = 7;

pub(super) fn as_u32(value: usize) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

/// A jump whose target is not known yet.
#[derive(Debug, Clone, Copy)]
pub(super) struct JumpPatch(usize);

pub(super) struct FunctionBuilder<'s, 'a> {
    pub(super) shared: &'s mut ProgramBuilder<'a>,
    pub(super) code: Code,
    /// The slots of local variables.
    pub(super) locals: BTreeMap<DeclId, u32>,
    /// Shared variables of enclosing functions, in order.
    captured_cells: BTreeMap<DeclId, u32>,
    depth: i64,
    pub(super) chain: u32,
    pub(super) contexts: Vec<JumpScope>,
    /// Its `this`, and the object for `super`, if it needs them.
    pub(super) own_this: Option<DeclId>,
    pub(super) own_home: Option<DeclId>,
    /// Whether it is the constructor of a class.
    pub(super) constructs: bool,
}

impl<'s, 'a> FunctionBuilder<'s, 'a> {
    pub(super) fn new(
        shared: &'s mut ProgramBuilder<'a>,
        id: u32,
        name: Arc<str>,
        captured_cells: &[DeclId],
    ) -> Self {
        let code = Code {
            id,
            name,
            params: 0,
            rest: false,
            length: 0,
            is_workflow: false,
            is_class: false,
            is_named: false,
            is_async: false,
            slots: Vec::new(),
            ops: Vec::new(),
            source_offsets: Vec::new(),
            points: Vec::new(),
            points_by_pc: Vec::new(),
            slots_by_key: Vec::new(),
            handlers: Vec::new(),
            captures: Vec::new(),
            chains: Vec::new(),
            visible: Vec::new(),
        };
        let (locals, contexts) = (BTreeMap::new(), Vec::new());
        let captured_cells = captured_cells.iter().zip(0u32..).map(|(id, up)| (*id, up)).collect();
        Self {
            shared,
            code,
            locals,
            captured_cells,
            depth: 0,
            chain: NO_CHAIN,
            contexts,
            own_this: None,
            own_home: None,
            constructs: false,
        }
    }

    pub(super) fn finish(mut self) -> Code {
        let code = &mut self.code;
        code.points.sort_by_key(|point| point.at);
        let points = code.points.iter().zip(0u32..);
        code.points_by_pc = points.map(|(point, offset)| (point.pc, offset)).collect();
        code.points_by_pc.sort_unstable();
        code.slots_by_key = code.slots.iter().zip(0u32..).map(|(it, at)| (it.key, at)).collect();
        code.slots_by_key.sort_unstable();
        self.code
    }

    pub(super) fn emit(&mut self, op: Op) {
        self.depth += op.effect();
        self.code.ops.push(op);
    }

    /// The following operations belong to this source position.
    pub(super) fn at(&mut self, offset: u32) {
        let pc = as_u32(self.code.ops.len());
        match self.code.source_offsets.last_mut() {
            Some((from, at)) if *from == pc => *at = offset,
            Some((_, at)) if *at == offset => {}
            _ => self.code.source_offsets.push((pc, offset)),
        }
    }

    /// An operation at which the function may be suspended, identified by a source position.
    pub(super) fn emit_suspension_point(&mut self, offset: u32, op: Op) {
        self.emit_suspension_point_at(offset, offset, op);
    }

    /// The same, with another position for messages than the one that identifies it.
    pub(super) fn emit_suspension_point_at(&mut self, shown: u32, offset: u32, op: Op) {
        self.at(shown);
        let pc = as_u32(self.code.ops.len());
        let depth = u32::try_from(self.depth).unwrap_or(0);
        self.emit(op);
        let after = u32::try_from(self.depth - 1).unwrap_or(0);
        let chain = self.chain;
        self.code.points.push(SuspensionPoint { at: offset, pc, depth, after, chain });
    }

    /// A jump whose target is filled in later.
    pub(super) fn jump(&mut self, op: Op) -> JumpPatch {
        self.emit(op);
        JumpPatch(self.code.ops.len() - 1)
    }

    /// Sets the target of the jump to the current position.
    pub(super) fn patch_here(&mut self, patch: JumpPatch) {
        self.patch_to(patch, self.next_pc());
    }

    /// Sets the target of the jump to a known position.
    pub(super) fn patch_to(&mut self, patch: JumpPatch, target: u32) {
        if let Some(op) = self.code.ops.get_mut(patch.0) {
            *op = op.to(target);
        }
    }

    pub(super) fn patch_all_here(&mut self, patches: Vec<JumpPatch>) {
        for patch in patches {
            self.patch_here(patch);
        }
    }

    pub(super) fn next_pc(&self) -> u32 {
        as_u32(self.code.ops.len())
    }

    /// The current height of the operand stack.
    pub(super) fn stack_height(&self) -> i64 {
        self.depth
    }

    pub(super) fn set_stack_height(&mut self, height: i64) {
        self.depth = height;
    }

    /// A new local variable. It is in scope once it is added to the chain.
    pub(super) fn new_slot(&mut self, key: u32, cell: bool) -> u32 {
        self.code.slots.push(LocalSlot { key, cell });
        as_u32(self.code.slots.len() - 1)
    }

    /// A hidden variable of a statement, in scope from here on.
    pub(super) fn hidden(&mut self, at: u32, hidden: u32) -> u32 {
        let slot = self.new_slot(slot_key(at, hidden), false);
        self.bring_into_scope(slot);
        slot
    }

    pub(super) fn bring_into_scope(&mut self, slot: u32) {
        self.code.chains.push((slot, self.chain));
        self.chain = as_u32(self.code.chains.len() - 1);
    }

    pub(super) fn is_captured(&self, id: DeclId) -> bool {
        self.shared.analysis.decls.get(id).is_some_and(|decl| decl.captured)
    }

    /// The slot of a declaration of this function, created on first use.
    pub(super) fn slot_of(&mut self, id: DeclId) -> u32 {
        if let Some(slot) = self.locals.get(&id) {
            return *slot;
        }
        let decl = self.shared.analysis.decls.get(id);
        let hidden = decl.map_or(0, |decl| decl.kind.hidden_number());
        let (at, captured) = decl.map_or((0, false), |decl| (decl.span.start, decl.captured));
        let slot = self.new_slot(slot_key(at, hidden), captured);
        self.locals.insert(id, slot);
        slot
    }

    pub(super) fn load(&mut self, id: DeclId) {
        let captured = self.is_captured(id);
        match self.locals.get(&id).copied() {
            Some(slot) if captured => self.emit(Op::LoadCell(slot)),
            Some(slot) => self.emit(Op::Load(slot)),
            None => match self.captured_cell_of(id) {
                Some(up) => self.emit(Op::LoadUp(up)),
                // Used before its declaration, where it has no value yet.
                None => self.emit(Op::Undefined),
            },
        }
    }

    pub(super) fn store(&mut self, id: DeclId) {
        let captured = self.is_captured(id);
        match self.locals.get(&id).copied() {
            Some(slot) if captured => self.emit(Op::StoreCell(slot)),
            Some(slot) => self.emit(Op::Store(slot)),
            None => match self.captured_cell_of(id) {
                Some(up) => self.emit(Op::StoreUp(up)),
                None => self.emit(Op::Pop),
            },
        }
    }

    fn captured_cell_of(&self, id: DeclId) -> Option<u32> {
        self.captured_cells.get(&id).copied()
    }

    /// Where a function created here finds the variables it shares.
    pub(super) fn captures_of(&self, ids: &[DeclId]) -> Vec<Capture> {
        let capture = |id: &DeclId| {
            let decl = self.shared.analysis.decls.get(*id);
            let is_input = decl.is_some_and(|decl| decl.span.start == u32::MAX);
            let at = decl.map_or(0, |decl| decl.span.start);
            let hidden = decl.map_or(0, |decl| decl.kind.hidden_number());
            let key = if is_input { INPUT_KEY } else { slot_key(at, hidden) };
            let from = match self.locals.get(id) {
                Some(slot) => CaptureFrom::Local(*slot),
                None => CaptureFrom::Up(self.captured_cell_of(*id).unwrap_or(u32::MAX)),
            };
            Capture { key, from }
        };
        ids.iter().map(capture).collect()
    }
}
