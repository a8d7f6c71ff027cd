//! Values that only FEEL knows: intervals and functions.

use std::any::Any;
use std::sync::Arc;

use meantime_value::{Foreign, Kind, Opaque, Value};

use super::eval::LexicalScope;
use super::syntax::Expr;

/// An interval with open or closed ends; a missing end is unbounded.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Interval {
    pub(super) start: Value,
    pub(super) end: Value,
    pub(super) start_included: bool,
    pub(super) end_included: bool,
}

/// A function: defined in FEEL, with the names around its definition, or part of the library.
#[derive(Debug, Clone)]
pub(super) enum Function {
    Written { parameters: Vec<String>, body: Arc<Expr>, names: LexicalScope },
    Library(&'static str),
}

impl Opaque for Interval {
    fn kind(&self) -> Kind {
        Kind::Range
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn is_equal(&self, other: &dyn Opaque) -> bool {
        other.as_any().downcast_ref::<Self>() == Some(self)
    }

    fn depth(&self) -> u32 {
        self.start.depth().max(self.end.depth()).saturating_add(1)
    }
}

impl Opaque for Function {
    fn kind(&self) -> Kind {
        Kind::Function
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn is_equal(&self, _: &dyn Opaque) -> bool {
        false
    }

    fn depth(&self) -> u32 {
        match self {
            Self::Written { names, .. } => names.depth().saturating_add(1),
            Self::Library(_) => 1,
        }
    }
}

/// A value as an interval.
pub(super) fn interval(value: &Value) -> Option<&Interval> {
    match value {
        Value::Foreign(foreign) => foreign.get(),
        _ => None,
    }
}

/// An interval as a value.
pub(super) fn interval_text(interval: Interval) -> Value {
    Value::Foreign(Foreign::new(interval))
}
