//! Names and their meanings.

use meantime_value::{Namespace, Text, Value};

use super::super::library::{Module, Native};
use super::super::program::SetId;

/// The meaning of a name.
#[derive(Debug, Clone)]
pub(super) enum Binding {
    Global(usize),
    /// A slot in the frame.
    Slot(usize),
    Set(SetId),
    Native(&'static Native),
    Constant(Value),
    /// A declared type, by its index in the table.
    Type(usize),
    /// A type parameter, which accepts any type.
    TypeParam,
    Namespace(Namespace),
    /// A variable that has no value yet at this point.
    NotYetDeclared,
}

/// The frame of a function: captured slots, then its own.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Frame {
    pub(super) captured: usize,
    pub(super) slots: usize,
}

/// All visible names.
#[derive(Debug, Default)]
pub(super) struct Scope {
    bindings: Vec<(Text, Binding)>,
    pub(super) frame: Frame,
    pub(super) globals: usize,
    /// Modules whose functions are visible without a prefix; the first one wins.
    pub(super) open_modules: Vec<&'static Module>,
    /// Modules with a name.
    pub(super) named_modules: Vec<(Text, &'static Module)>,
}

impl Scope {
    pub(super) fn bind(&mut self, name: Text, bound: Binding) {
        self.bindings.push((name, bound));
    }

    /// Assigns the next slot of the frame to a name.
    pub(super) fn bind_slot(&mut self, name: Text) -> usize {
        let slot = self.reserve_slot();
        self.bind(name, Binding::Slot(slot));
        slot
    }

    /// Reserves a slot without a name.
    pub(super) fn reserve_slot(&mut self) -> usize {
        let slot = self.frame.slots;
        self.frame.slots += 1;
        slot
    }

    pub(super) fn find(&self, name: &str) -> Option<&Binding> {
        self.bindings.iter().rev().find(|(bound, _)| &**bound == name).map(|(_, bound)| bound)
    }

    /// The current state, for [`Self::restore`].
    pub(super) fn mark(&self) -> (usize, Frame) {
        (self.bindings.len(), self.frame)
    }

    pub(super) fn restore(&mut self, (bindings, frame): (usize, Frame)) {
        self.bindings.truncate(bindings);
        self.frame = frame;
    }

    /// Enters a function: all existing slots are captured.
    pub(super) fn enter_function(&mut self) {
        self.frame.captured = self.frame.slots;
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.bindings.iter().map(|(name, _)| &**name)
    }
}

/// The export of a module with a name.
pub(super) fn export(module: &'static Module, name: &str) -> Option<Binding> {
    let native = module.native(name).map(Binding::Native);
    native.or_else(|| module.constant(name).map(Binding::Constant))
}
