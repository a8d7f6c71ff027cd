//! Whether a value is of a type.

use std::sync::Arc;

use super::{Field, Shape, Type, TypeTable};
use crate::value::{Key, Kind, Object, Value};

/// Whether the value is of the type. The elements of arrays are not looked at.
pub(crate) fn is_of(value: &Value, kind: &Arc<Type>, table: &TypeTable) -> bool {
    let kind = kind.resolved(table);
    let value = value.bare();
    match &kind.shape {
        Shape::Any => true,
        Shape::Nothing | Shape::Reference(..) => false,
        Shape::Array(_) => value.kind() == Kind::Array,
        Shape::Kind(kind) => value.kind() == *kind,
        Shape::Object { fields, closed } => match value {
            Value::Object(object) => has_fields(object, fields, *closed, table),
            _ => false,
        },
        Shape::Function { .. } => value.kind() == Kind::Function,
        Shape::Union(members) => members.iter().any(|member| is_of(value, member, table)),
        Shape::Intersection(members) => members.iter().all(|member| is_of(value, member, table)),
        Shape::Literal(literal) => value == literal,
    }
}

fn has_fields(object: &Object, fields: &[Field], closed: bool, table: &TypeTable) -> bool {
    let complete = fields.iter().all(|field| {
        let mut found =
            object.entries().iter().filter(|entry| is_key(&entry.key, field)).peekable();
        let is_there = found.peek().is_some();
        (is_there || field.optional || field.name.is_none())
            && found.all(|entry| is_of(&entry.value, &field.kind, table))
    });
    let is_known = |key: &Key| fields.iter().any(|field| is_key(key, field));
    complete && (!closed || object.entries().iter().all(|entry| is_known(&entry.key)))
}

fn is_key(key: &Key, field: &Field) -> bool {
    let same_space = match (&field.namespace, key.namespace()) {
        (Some(wanted), Some(found)) => wanted.uri == found.uri,
        (Some(_), None) => false,
        (None, _) => true,
    };
    same_space && field.name.as_ref().is_none_or(|name| name == key.name())
}
