//! Functions as values.

use std::any::Any;
use std::sync::Arc;

use meantime_value::{Foreign, Kind, Opaque, Value};

use super::super::library::{Native, NativeFn};
use super::super::program::{LambdaId, SetId};

/// A function value. It belongs to one evaluation and never leaves it.
#[derive(Debug, Clone)]
pub(crate) enum Function {
    Native(&'static Native),
    Lambda {
        id: LambdaId,
        captured: Arc<[Value]>,
        depth: u32,
    },
    Set {
        id: SetId,
        captured: Arc<[Value]>,
        depth: u32,
    },
    /// A library function without its last argument, such as `replace` before `with`.
    Partial(PartialCall),
}

#[derive(Debug, Clone)]
pub(crate) struct PartialCall {
    pub(crate) name: &'static str,
    pub(crate) args: Arc<[Value]>,
    /// Called with the arguments and the last one.
    pub(crate) run: NativeFn,
}

impl Function {
    pub(crate) fn into_value(self) -> Value {
        Value::Foreign(Foreign::new(self))
    }

    pub(crate) fn from_value(value: &Value) -> Option<&Self> {
        match value.bare() {
            Value::Foreign(foreign) => foreign.get::<Self>(),
            _ => None,
        }
    }

    /// The nesting depth of the values that a function captures.
    pub(crate) fn captured_depth(captured: &[Value]) -> u32 {
        captured.iter().map(Value::depth).max().unwrap_or(0).saturating_add(1)
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
            Self::Native(_) => 0,
            Self::Lambda { depth, .. } | Self::Set { depth, .. } => *depth,
            Self::Partial(waiting) => Self::captured_depth(&waiting.args),
        }
    }
}
