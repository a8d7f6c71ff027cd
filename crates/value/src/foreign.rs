//! Values that only one language understands: functions, types.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use super::Kind;

/// The interface that a language implements for its own values.
pub trait Opaque: Any + fmt::Debug + Send + Sync {
    /// The kind of such values, for messages and dispatch.
    fn kind(&self) -> Kind;

    /// Lets the language get its own type back.
    fn as_any(&self) -> &dyn Any;

    /// Whether another value of the same language is equal to this one.
    fn is_equal(&self, other: &dyn Opaque) -> bool;

    /// Levels of nested values.
    fn depth(&self) -> u32;
}

/// A shared value of one language, such as a function.
#[derive(Clone)]
pub struct Foreign(Arc<dyn Opaque>);

impl Foreign {
    /// Wraps a value of a language.
    pub fn new(value: impl Opaque) -> Self {
        Self(Arc::new(value))
    }

    /// The kind of such values.
    pub fn kind(&self) -> Kind {
        self.0.kind()
    }

    /// Levels of nested values.
    pub fn depth(&self) -> u32 {
        self.0.depth()
    }

    /// The value, if it is of that type.
    pub fn get<T: Opaque>(&self) -> Option<&T> {
        self.0.as_any().downcast_ref()
    }
}

impl PartialEq for Foreign {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.is_equal(&*other.0)
    }
}

impl fmt::Debug for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
