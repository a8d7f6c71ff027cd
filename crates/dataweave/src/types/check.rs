//! Whether a value is of a type.

use std::sync::Arc;

use meantime_value::{Key, Kind, Object, Value};

use super::{Field, Shape, Type, TypeTable};

/// Whether the value is of the type; none if the operations do not suffice. The elements of arrays
/// are not checked.
pub(crate) fn is_instance_of(
    value: &Value,
    kind: &Arc<Type>,
    table: &TypeTable,
    ops: &mut u64,
) -> Option<bool> {
    *ops = ops.checked_sub(1)?;
    let kind = kind.resolved(table);
    let value = value.bare();
    Some(match &kind.shape {
        Shape::Any => true,
        Shape::Nothing | Shape::Reference(..) => false,
        Shape::Array(_) => value.kind() == Kind::Array,
        Shape::Kind(kind) => value.kind() == *kind,
        Shape::Object { fields, closed } => match value {
            Value::Object(object) => has_fields(object, fields, *closed, table, ops)?,
            _ => false,
        },
        Shape::Function { .. } => value.kind() == Kind::Function,
        Shape::Union(members) => {
            for member in members {
                if is_instance_of(value, member, table, ops)? {
                    return Some(true);
                }
            }
            false
        }
        Shape::Intersection(members) => {
            for member in members {
                if !is_instance_of(value, member, table, ops)? {
                    return Some(false);
                }
            }
            true
        }
        Shape::Literal(literal) => value == literal,
    })
}

fn has_fields(
    object: &Object,
    fields: &[Field],
    closed: bool,
    table: &TypeTable,
    ops: &mut u64,
) -> Option<bool> {
    let pairs = (object.len() as u64).saturating_mul(fields.len() as u64);
    *ops = ops.checked_sub(pairs / 8)?;
    for field in fields {
        let mut is_there = field.optional || field.name.is_none();
        for entry in object.entries().iter().filter(|entry| is_key(&entry.key, field)) {
            is_there = true;
            if !is_instance_of(&entry.value, &field.kind, table, ops)? {
                return Some(false);
            }
        }
        if !is_there {
            return Some(false);
        }
    }
    let is_known = |key: &Key| fields.iter().any(|field| is_key(key, field));
    Some(!closed || object.entries().iter().all(|entry| is_known(&entry.key)))
}

fn is_key(key: &Key, field: &Field) -> bool {
    let same_space = match (&field.namespace, key.namespace()) {
        (Some(wanted), Some(found)) => wanted.uri == found.uri,
        (Some(_), None) => false,
        (None, _) => true,
    };
    same_space && field.name.as_ref().is_none_or(|name| name == key.name())
}
