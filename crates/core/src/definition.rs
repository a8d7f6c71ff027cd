//! Definitions: the compiled form of a source.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use crate::Diagnostic;
use crate::time::{Span, Zone};

/// A text to deploy, with the files it refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The name of the file; it names a definition that has no name of its own.
    pub name: String,
    /// The text, kept byte for byte.
    pub text: Arc<str>,
    /// Files that the text refers to, in order of their names.
    pub files: Vec<SourceFile>,
}

impl Source {
    /// Whether its name says that it is TypeScript.
    #[must_use]
    pub fn is_typescript(&self) -> bool {
        matches!(self.name.rsplit_once('.'), Some((_, "ts")))
    }
}

/// A file that a source refers to.
#[derive(Debug, Clone, PartialEq, Eq, minicbor::Encode, minicbor::Decode)]
pub struct SourceFile {
    /// The name by which the source refers to it.
    #[n(0)]
    pub name: String,
    /// Its text.
    #[n(1)]
    pub text: String,
}

/// The result of a compilation: all valid definitions, and all problems.
#[derive(Debug, Default)]
pub struct Compiled {
    /// The definitions, in source order.
    pub definitions: Vec<Definition>,
    /// Every problem.
    pub diagnostics: Vec<Diagnostic>,
}

/// A compiled definition. Immutable, shared by all instances that run it.
#[derive(Clone)]
pub struct Definition {
    /// The name by which instances and children are started.
    pub name: String,
    /// The author's own version text, such as a semver.
    pub label: Option<String>,
    /// Triggers that start instances without a caller.
    pub triggers: Vec<Trigger>,
    /// The execution deadline, if the definition declares one (D1).
    pub execution: Option<Execution>,
    /// Part of the engine itself: no default deadline and no cap applies to its instances.
    pub system: bool,
    /// The compiled form, known only to its notation.
    pub body: Arc<dyn Any + Send + Sync>,
}

impl Definition {
    /// The compiled form, as the notation's own type.
    pub fn body<T: 'static>(&self) -> Option<&T> {
        self.body.downcast_ref()
    }
}

impl fmt::Debug for Definition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Definition").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A declared execution deadline and how the instance ends when it is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Execution {
    /// Counted from the acceptance of the start.
    pub max_duration: Span,
    /// The zone in which calendar parts are added.
    pub zone: Zone,
    /// The code of the failure.
    pub code: String,
    /// Its message.
    pub reason: String,
}

/// Starts instances of a definition without a caller. Armed with the deployment.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, minicbor::Encode, minicbor::Decode)]
pub enum Trigger {
    /// A message with this name. At most one live instance exists per correlation key.
    #[n(0)]
    Message {
        /// The message's name.
        #[n(0)]
        name: String,
        /// The element where the instance begins.
        #[n(1)]
        element: String,
    },
    /// A broadcast with this name.
    #[n(1)]
    Signal {
        /// The name of the broadcast.
        #[n(0)]
        name: String,
        /// The element where the instance begins.
        #[n(1)]
        element: String,
    },
    /// A recurrence. Armed with the deployment; a new version replaces it, the same content does
    /// not (B8).
    #[n(2)]
    Timer {
        /// The element where the instance begins.
        #[n(0)]
        element: String,
        /// When instances start.
        #[n(1)]
        recurrence: crate::Recurrence,
    },
}
