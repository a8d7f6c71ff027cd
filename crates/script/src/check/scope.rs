//! Scopes, declarations, and what every use of a name refers to.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::argument::LiteralTimer;
use crate::library::Global;
use crate::span::Span;

/// A declaration, numbered within its file.
pub(crate) type DeclId = usize;
pub(super) type ScopeId = usize;
/// A function, numbered within its file in the order in which they were looked at.
pub(super) type FunctionId = usize;

/// How a name came into being.
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
}

/// A declared name.
#[derive(Debug)]
pub(crate) struct Decl {
    pub(crate) name: Arc<str>,
    pub(crate) kind: DeclKind,
    pub(crate) span: Span,
    pub(super) function: FunctionId,
    /// From where on it has its value.
    pub(super) ready_at: u32,
    /// Whether an inner function uses it, so that it must outlive its block.
    pub(crate) captured: bool,
    pub(super) read: bool,
    /// How many arguments it takes, if it is known to be a function for good.
    pub(super) arity: Option<(usize, Option<usize>)>,
}

/// What a name means where it stands.
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
}

/// What is known of a file.
#[derive(Debug, Default)]
pub(crate) struct Analysis {
    pub(crate) decls: Vec<Decl>,
    /// By the position of the name: declarations, reads and assignments alike.
    pub(crate) uses: BTreeMap<u32, NameUse>,
    /// By the position of the function: what it uses of its surroundings.
    pub(crate) captures: BTreeMap<u32, BTreeSet<DeclId>>,
    /// By the position of the function: what it declares by assignment. The file itself has the
    /// position `u32::MAX`.
    pub(crate) implicit: BTreeMap<u32, Vec<DeclId>>,
    /// Names that are read and declared nowhere.
    pub(crate) undefined: BTreeSet<String>,
    /// Timers whose time is written in the script.
    pub(crate) timers: Vec<LiteralTimer>,
}

impl Analysis {
    /// What the name at a position means.
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
