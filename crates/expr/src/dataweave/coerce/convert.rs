//! `as`: conversion to a written type.

use std::sync::Arc;

use super::super::eval::{Eval, Fault, Result};
use super::super::types::{Shape, Type, is_of};
use super::kind;
use super::schema::Schema;
use crate::value::{Kind, Object, Value};

impl Eval<'_> {
    /// The value as the type; the schema says how, and stays with the value.
    pub(crate) fn convert_to(
        &mut self,
        value: &Value,
        target: &Arc<Type>,
        mut notes: Object,
    ) -> Result {
        let target = target.resolved(self.types());
        for entry in target.notes.entries() {
            if notes.find(entry.key.name()).is_none() {
                notes.add(entry.clone());
            }
        }
        let schema = Schema::new(&notes);
        let converted = self.to_shape(value, target, &schema)?;
        if let Value::Text(text) = &converted {
            self.reserve_text(text.len())?;
        }
        Ok(if notes.is_empty() { converted } else { Value::tagged(converted, notes) })
    }

    fn to_shape(&self, value: &Value, target: &Arc<Type>, schema: &Schema<'_>) -> Result {
        let fail = || Fault::coercion(value, &target.to_string());
        match &target.shape {
            Shape::Any => Ok(value.clone()),
            Shape::Kind(wanted) => kind::convert(value, *wanted, schema),
            Shape::Array(_) => kind::convert(value, Kind::Array, schema),
            Shape::Union(members) => {
                if is_of(value, target, self.types()) {
                    return Ok(value.clone());
                }
                let convert = |member: &Arc<Type>| {
                    let member = member.resolved(self.types());
                    match &member.shape {
                        Shape::Kind(wanted) => kind::convert(value, *wanted, schema).ok(),
                        _ => None,
                    }
                };
                members.iter().find_map(convert).ok_or_else(fail)
            }
            Shape::Nothing
            | Shape::Object { .. }
            | Shape::Function { .. }
            | Shape::Intersection(_)
            | Shape::Literal(_)
            | Shape::Reference(..) => {
                if is_of(value, target, self.types()) {
                    Ok(value.clone())
                } else {
                    Err(fail())
                }
            }
        }
    }
}
