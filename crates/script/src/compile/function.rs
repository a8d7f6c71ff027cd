//! Functions, workflows and whole files.

use std::sync::Arc;

use super::builder::{
    BARE_SCRIPT_ID, FunctionBuilder, INPUT_KEY, ProgramBuilder, as_u32, entry_id, function_id,
    slot_key,
};
use super::op::Op;
use super::program::{Program, Workflow};
use crate::ast::Workflow as WorkflowNode;
use crate::ast::{Block, Body, File, Function, FunctionKind, Pattern, PatternKind, Stmt, StmtKind};
use crate::check::{Analysis, Decl, DeclId, DeclKind};
use crate::span::SourceMap;

/// Compiles a checked file.
pub(crate) fn compile(file: &File, analysis: Analysis, map: SourceMap, name: &str) -> Program {
    let mut shared = ProgramBuilder::new(&analysis);
    let has_prelude = !file.statements.is_empty();
    let needs_entry = |it: &WorkflowNode| has_prelude || it.takes_context();
    if file.workflows.is_empty() {
        shared.add_function(BARE_SCRIPT_ID);
    } else {
        for workflow in file.workflows.iter().filter(|it| needs_entry(it)) {
            shared.add_function(entry_id(workflow.function.span.start));
        }
    }
    shared.number_functions();
    let mut workflows = Vec::new();
    if file.workflows.is_empty() {
        compile_bare(&mut shared, &file.statements, as_u32(map.text().len()));
        let entry = shared.index(BARE_SCRIPT_ID) as usize;
        workflows.push(Workflow { name: None, at: 0, entry });
    }
    for workflow in &file.workflows {
        let at = workflow.function.span.start;
        compile_workflow(&mut shared, workflow);
        let has_entry = needs_entry(workflow);
        let id = if has_entry { entry_id(at) } else { function_id(at) };
        if has_entry {
            compile_entry(&mut shared, &file.statements, workflow);
        }
        let name = workflow.name.as_ref().map(|name| name.name.clone());
        let entry = shared.index(id) as usize;
        workflows.push(Workflow { name, at, entry });
    }
    let ProgramBuilder { constants, methods, functions, .. } = shared;
    let functions = functions.into_values().flatten().collect();
    let fingerprint = fingerprint(map.text());
    let (file, timers) = (name.to_owned(), analysis.timers);
    Program { map, file, functions, constants, methods, workflows, fingerprint, timers }
}

/// FNV-1a over the source: detects a saved state of another text.
fn fingerprint(text: &str) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, step)
}

fn compile_bare(shared: &mut ProgramBuilder<'_>, statements: &[Stmt], end: u32) {
    let mut builder = FunctionBuilder::new(shared, BARE_SCRIPT_ID, Arc::from("workflow"), &[]);
    builder.code.is_workflow = true;
    builder.code.params = 1;
    let inputs: Vec<DeclId> = builder.inputs();
    let captured = inputs.iter().any(|id| builder.is_captured(*id));
    let slot = builder.new_slot(INPUT_KEY, captured);
    builder.bring_into_scope(slot);
    for id in inputs {
        builder.locals.insert(id, slot);
    }
    if captured {
        builder.emit(Op::BoxCell(slot));
    }
    builder.declare_implicit(u32::MAX);
    builder.statements(statements);
    builder.mark_visible_variables(statements, u32::MAX);
    builder.emit(Op::Undefined);
    builder.leave_function(end);
    let code = builder.finish();
    shared.functions.insert(BARE_SCRIPT_ID, Some(code));
}

/// The workflow itself: a function that finishes instead of returning.
fn compile_workflow(shared: &mut ProgramBuilder<'_>, workflow: &WorkflowNode) {
    let function = &workflow.function;
    let captured_cells = captures(shared, function);
    let id = function_id(function.span.start);
    let mut builder = FunctionBuilder::new(shared, id, workflow.display_name(), &captured_cells);
    builder.code.is_workflow = true;
    builder.function(function);
    if let Body::Block(block) = &function.body {
        for param in &function.params {
            param.pattern.each_name(&mut |name| builder.mark_visible(name.span));
        }
        builder.mark_visible_variables(&block.statements, function.span.start);
    }
    let code = builder.finish();
    shared.functions.insert(id, Some(code));
}

/// Initializes the functions and constants of the file, then runs the workflow.
fn compile_entry(shared: &mut ProgramBuilder<'_>, statements: &[Stmt], workflow: &WorkflowNode) {
    let at = workflow.function.span.start;
    let id = entry_id(at);
    let mut builder = FunctionBuilder::new(shared, id, workflow.display_name(), &[]);
    builder.code.params = 1;
    let slot = builder.new_slot(slot_key(at, 1), false);
    builder.bring_into_scope(slot);
    builder.declare_implicit(u32::MAX);
    builder.statements(statements);
    builder.closure(&workflow.function);
    builder.emit(Op::Load(slot));
    let mut given = 1;
    if workflow.takes_context() {
        builder.context();
        given = 2;
    }
    builder.emit_suspension_point(at, Op::Call(given));
    builder.emit(Op::Return);
    let code = builder.finish();
    shared.functions.insert(id, Some(code));
}

fn captures(shared: &ProgramBuilder<'_>, function: &Function) -> Vec<DeclId> {
    shared.analysis.captures.get(&function.span.start).into_iter().flatten().copied().collect()
}

impl FunctionBuilder<'_, '_> {
    /// The second argument of a default export.
    fn context(&mut self) {
        self.emit(Op::NewRecord);
        for (name, op) in [("id", Op::InstanceId), ("key", Op::InstanceKey)] {
            self.emit(op);
            let name = self.shared.text(&Arc::from(name));
            self.emit(Op::Put(name));
        }
    }

    /// The two names of the input of a bare script.
    fn inputs(&self) -> Vec<DeclId> {
        let decls = self.shared.analysis.decls.iter().enumerate();
        decls.filter(|(_, decl)| decl.span.start == u32::MAX).map(|(id, _)| id).collect()
    }

    /// Variables that this function declares by assignment.
    fn declare_implicit(&mut self, at: u32) {
        let ids = self.shared.analysis.implicit.get(&at).cloned().unwrap_or_default();
        for id in ids {
            self.declare_without_value(id);
        }
    }

    /// Declares a variable without a value.
    pub(super) fn declare_without_value(&mut self, id: DeclId) {
        let slot = self.slot_of(id);
        self.bring_into_scope(slot);
        if self.is_captured(id) {
            self.emit(Op::NewCell(slot));
        }
    }

    /// Creates a function and leaves it on the stack.
    pub(super) fn closure(&mut self, function: &Function) {
        let id = function_id(function.span.start);
        let captured_cells = captures(self.shared, function);
        if self.shared.functions.get(&id).is_none_or(Option::is_none) {
            let name =
                function.name.as_ref().map_or_else(|| "anonymous".into(), |it| it.name.clone());
            let mut builder = FunctionBuilder::new(self.shared, id, name, &captured_cells);
            builder.function(function);
            let code = builder.finish();
            self.shared.functions.insert(id, Some(code));
        }
        let captures = self.captures_of(&captured_cells);
        if let Some(Some(code)) = self.shared.functions.get_mut(&id) {
            code.captures = captures;
        }
        self.emit(Op::Closure(self.shared.index(id)));
    }

    /// Parameters and body.
    fn function(&mut self, function: &Function) {
        let rest = function.rest.iter();
        let patterns: Vec<_> =
            function.params.iter().map(|param| &param.pattern).chain(rest).collect();
        self.code.params = as_u32(function.params.len());
        self.code.rest = function.rest.is_some();
        let required = function.params.iter().take_while(|param| param.default.is_none());
        self.code.length = as_u32(required.count());
        let mut slots = Vec::new();
        for pattern in &patterns {
            let slot = match &pattern.kind {
                PatternKind::Name(name) => match self.shared.analysis.decl(name.span) {
                    Some(id) => self.slot_of(id),
                    None => self.new_slot(slot_key(name.span.start, 0), false),
                },
                _ => self.new_slot(slot_key(pattern.span.start, 1), false),
            };
            self.bring_into_scope(slot);
            slots.push(slot);
        }
        for slot in &slots {
            if self.code.slots.get(*slot as usize).is_some_and(|slot| slot.cell) {
                self.emit(Op::BoxCell(*slot));
            }
        }
        self.declare_implicit(function.span.start);
        self.constructs =
            matches!(function.kind, FunctionKind::Constructor | FunctionKind::DerivedConstructor);
        self.code.is_class = self.constructs;
        self.code.is_async = function.is_async;
        let is_bound = function.name.as_ref().is_some_and(|name| name.span.start != u32::MAX);
        self.code.is_named = is_bound || self.constructs;
        self.declare_specials(function);
        // A closure may share a variable that a pattern declares.
        for pattern in patterns.iter().filter(|pattern| !pattern.is_name()) {
            pattern.each_name(&mut |name| {
                let id = self.shared.analysis.decl(name.span);
                if let Some(id) = id.filter(|id| self.is_captured(*id)) {
                    self.declare_without_value(id);
                }
            });
        }
        // From left to right: a default may use what an earlier pattern declares.
        for (param, slot) in function.params.iter().zip(&slots) {
            if let Some(default) = &param.default {
                let given = self.jump(Op::JumpIfGiven { slot: *slot, to: 0 });
                self.expr(default);
                match &param.pattern.kind {
                    PatternKind::Name(name) => self.store_name(name.span),
                    _ => self.emit(Op::Store(*slot)),
                }
                self.patch_here(given);
            }
            self.take_apart(&param.pattern, *slot);
        }
        if let (Some(pattern), Some(slot)) = (&function.rest, slots.last()) {
            self.take_apart(pattern, *slot);
        }
        match &function.body {
            Body::Block(block) => {
                self.statements(&block.statements);
                self.emit(Op::Undefined);
            }
            Body::Expr(expr) => self.expr(expr),
        }
        // The position of the closing brace, where no other operation is.
        self.leave_function(function.span.end.saturating_sub(1));
    }

    /// Declares the variables of a parameter that is a pattern.
    fn take_apart(&mut self, pattern: &Pattern, slot: u32) {
        if !pattern.is_name() {
            self.emit(Op::Load(slot));
            self.declare_pattern(pattern);
        }
    }

    /// A block with its own scope.
    pub(super) fn block(&mut self, block: &Block) {
        let chain = self.chain;
        self.statements(&block.statements);
        self.chain = chain;
    }

    /// The statements of one scope: first the shared variables, then the functions, then the rest.
    pub(super) fn statements(&mut self, statements: &[Stmt]) {
        self.hoist(statements);
        for statement in statements {
            self.statement(statement);
        }
    }

    pub(super) fn hoist(&mut self, statements: &[Stmt]) {
        for statement in statements {
            match &statement.kind {
                StmtKind::Declare { declarators, .. } => {
                    for declarator in declarators {
                        declarator.pattern.each_name(&mut |name| {
                            let id = self.shared.analysis.decl(name.span);
                            if let Some(id) = id.filter(|id| self.is_captured(*id)) {
                                self.declare_without_value(id);
                            }
                        });
                    }
                }
                StmtKind::Class(class) => {
                    let id = class.name.as_ref();
                    let id = id.and_then(|name| self.shared.analysis.decl(name.span));
                    if let Some(id) = id.filter(|id| self.is_captured(*id)) {
                        self.declare_without_value(id);
                    }
                }
                StmtKind::Function(function) => {
                    let id = function.name.as_ref();
                    let id = id.and_then(|name| self.shared.analysis.decl(name.span));
                    if let Some(id) = id {
                        self.declare_without_value(id);
                    }
                }
                _ => {}
            }
        }
        for statement in statements {
            if let StmtKind::Function(function) = &statement.kind {
                self.closure(function);
                match &function.name {
                    Some(name) => self.store_name(name.span),
                    None => self.emit(Op::Pop),
                }
            }
        }
    }

    /// Records the variables that operators see: those of the outermost block, without functions.
    fn mark_visible_variables(&mut self, statements: &[Stmt], at: u32) {
        for statement in statements {
            if let StmtKind::Declare { declarators, .. } = &statement.kind {
                for declarator in declarators {
                    declarator.pattern.each_name(&mut |name| self.mark_visible(name.span));
                }
            }
        }
        let implicit = self.shared.analysis.implicit.get(&at).cloned().unwrap_or_default();
        for id in implicit {
            let decl = self.shared.analysis.decls.get(id);
            let is_shown = |it: &&Decl| matches!(it.kind, DeclKind::Implicit | DeclKind::Var);
            let name = decl.filter(is_shown).map(|it| it.name.clone());
            if let (Some(name), Some(slot)) = (name, self.locals.get(&id)) {
                self.code.visible.push((name, *slot));
            }
        }
    }

    fn mark_visible(&mut self, span: crate::span::Span) {
        let id = self.shared.analysis.decl(span);
        let decl = id.and_then(|id| self.shared.analysis.decls.get(id));
        let slot = id.and_then(|id| self.locals.get(&id));
        if let (Some(decl), Some(slot)) = (decl, slot) {
            self.code.visible.push((decl.name.clone(), *slot));
        }
    }
}
