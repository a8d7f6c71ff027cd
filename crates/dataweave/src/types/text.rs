//! Types as text.

use std::fmt;

use super::{Shape, Type};

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(name) = &self.name {
            return f.write_str(name);
        }
        match &self.shape {
            Shape::Any => f.write_str("Any"),
            Shape::Nothing => f.write_str("Nothing"),
            Shape::Kind(kind) => f.write_str(kind.name()),
            Shape::Array(_) => f.write_str("Array"),
            Shape::Object { .. } => f.write_str("Object"),
            Shape::Function { .. } => f.write_str("Function"),
            Shape::Union(members) => joined(members, " | ", f),
            Shape::Intersection(members) => joined(members, " & ", f),
            Shape::Literal(value) => f.write_str(value.kind().name()),
            Shape::Reference(name, _) => f.write_str(name),
        }
    }
}

fn joined(
    members: &[std::sync::Arc<Type>],
    separator: &str,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    for (index, member) in members.iter().enumerate() {
        if index > 0 {
            f.write_str(separator)?;
        }
        write!(f, "{member}")?;
    }
    Ok(())
}
