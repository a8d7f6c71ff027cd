//! Scopes, declarations, and the meaning of every name.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::argument::LiteralTimer;
use crate::library::Global;
use crate::span::Span;

/// A declaration, numbered within its file.
pub(crate) type DeclId = usize;
pub(super) type ScopeId = usize;
/// A function, numbered within its file in the order of the check.
pub(super) type FunctionId = usize;

/// How a name was declared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DeclKind {
    Let,
    Const,
    Function,
    Param,
    /// By an assignment to an unknown name.
    Implicit,
    /// By a `catch`.
    Caught,
    /// By `var`, for the whole function.
    Var,
    /// What `this` is in a function.
    This,
    /// The same in a constructor before it has called `super`.
    DerivedThis,
    /// The object whose methods `super` skips.
    Home,
    /// The class that `new` was called with.
    NewTarget,
}

impl DeclKind {
    /// Whether no name in the source declares it.
    pub(crate) const fn is_special(self) -> bool {
        matches!(self, Self::This | Self::DerivedThis | Self::Home | Self::NewTarget)
    }

    /// Distinguishes variables with the same position, in saved states.
    pub(crate) const fn hidden_number(self) -> u32 {
        match self {
            Self::This | Self::DerivedThis => 4,
            Self::Home => 5,
            Self::NewTarget => 6,
            _ => 0,
        }
    }
}

/// A declared name.
#[derive(Debug)]
pub(crate) struct Decl {
    pub(crate) name: Arc<str>,
    pub(crate) kind: DeclKind,
    pub(crate) span: Span,
    pub(super) function: FunctionId,
    /// The position from which it has its value.
    pub(super) ready_at: u32,
    /// Whether an inner function uses it, so that it must outlive its block.
    pub(crate) captured: bool,
    pub(crate) read: bool,
    /// The number of its arguments, if it is a function that is never replaced.
    pub(super) arity: Option<(usize, Option<usize>)>,
}

/// The meaning of a name at one position.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum NameUse {
    Decl(DeclId),
    Global(Global),
}

#[derive(Debug)]
pub(super) struct Scope {
    pub(super) parent: Option<ScopeId>,
    pub(super) function: FunctionId,
    pub(super) names: BTreeMap<Arc<str>, DeclId>,
    /// The private names of a class, and its position.
    pub(super) privates: Option<(u32, BTreeSet<Arc<str>>)>,
}

/// The results of the analysis of a file.
#[derive(Debug, Default)]
pub(crate) struct Analysis {
    pub(crate) decls: Vec<Decl>,
    /// By position of the name: declarations, reads and assignments.
    pub(crate) uses: BTreeMap<u32, NameUse>,
    /// By position of the function: the outer variables it uses.
    pub(crate) captures: BTreeMap<u32, BTreeSet<DeclId>>,
    /// By position of the function: variables it declares by assignment. The file itself has the
    /// position `u32::MAX`.
    pub(crate) implicit: BTreeMap<u32, Vec<DeclId>>,
    /// Names that are read and never declared.
    pub(crate) undefined: BTreeSet<String>,
    /// By position of a private name: the position of the class that declares it.
    pub(crate) privates: BTreeMap<u32, u32>,
    /// By position of a function: `this`, and further variables that no name declares.
    pub(crate) specials: BTreeMap<u32, Vec<DeclId>>,
    /// Timers with a literal time.
    pub(crate) timers: Vec<LiteralTimer>,
}

impl Analysis {
    /// The meaning of the name at a position.
    pub(crate) fn at(&self, span: Span) -> Option<NameUse> {
        self.uses.get(&span.start).copied()
    }

    /// The declaration at a position.
    pub(crate) fn decl(&self, span: Span) -> Option<DeclId> {
        match self.at(span) {
            Some(NameUse::Decl(id)) => Some(id),
            _ => None,
        }
    }
}
