//! Paths through data, used by `dw::util::Values` and `dw::util::Tree`.

use std::sync::Arc;

use meantime_value::{Key, Namespace, Object, Text, Value};

use super::super::eval::{Eval, Result};

pub(super) const OBJECT: &str = "Object";
pub(super) const ARRAY: &str = "Array";
pub(super) const ATTRIBUTE: &str = "Attribute";

/// One step.
#[derive(Debug, Clone)]
pub(super) enum PathStep {
    Field(Text, Option<Namespace>),
    Attribute(Text, Option<Namespace>),
    Index(usize),
}

impl PathStep {
    pub(super) fn field(key: &Key) -> Self {
        Self::Field(key.name().clone(), key.namespace().cloned())
    }

    pub(super) fn attribute(key: &Key) -> Self {
        Self::Attribute(key.name().clone(), key.namespace().cloned())
    }

    /// A step from a name, a number or a description of a step.
    pub(super) fn from_value(value: &Value) -> Option<Self> {
        match value.bare() {
            Value::Text(name) => Some(Self::Field(name.clone(), None)),
            Value::Key(key) => Some(Self::field(key)),
            Value::Number(number) => {
                Some(Self::Index(usize::try_from(number.to_i64()?).unwrap_or(usize::MAX)))
            }
            Value::Object(step) => {
                let selector = Self::from_value(step.get("selector")?)?;
                let namespace = match step.get("namespace").map(Value::bare) {
                    Some(Value::Namespace(namespace)) => Some((**namespace).clone()),
                    _ => None,
                };
                match (step.get("kind")?.bare(), selector) {
                    (Value::Text(kind), Self::Field(name, _)) if &**kind == ATTRIBUTE => {
                        Some(Self::Attribute(name, namespace))
                    }
                    (_, Self::Field(name, _)) => Some(Self::Field(name, namespace)),
                    (_, selector) => Some(selector),
                }
            }
            _ => None,
        }
    }

    /// `{kind, selector, namespace}`.
    fn describe(&self) -> Object {
        let (kind, selector, namespace) = match self {
            Self::Field(name, namespace) => (OBJECT, Value::Text(name.clone()), namespace.as_ref()),
            Self::Attribute(name, namespace) => {
                (ATTRIBUTE, Value::Text(name.clone()), namespace.as_ref())
            }
            Self::Index(index) => (ARRAY, Value::from(*index), None),
        };
        let mut step = Object::with_capacity(3);
        step.insert("kind", kind);
        step.insert("selector", selector);
        step.insert("namespace", namespace_value(namespace));
        step
    }
}

pub(super) fn namespace_value(namespace: Option<&Namespace>) -> Value {
    match namespace {
        Some(namespace) => Value::Namespace(Arc::new(namespace.clone())),
        None => Value::Null,
    }
}

/// The path as a value.
pub(super) fn path_value(eval: &mut Eval<'_>, path: &[PathStep]) -> Result {
    let mut steps = Vec::with_capacity(path.len());
    for step in path {
        steps.push(eval.object(step.describe())?);
    }
    eval.array(steps)
}
