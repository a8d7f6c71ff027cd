//! `as`: conversion to a written type.

use std::sync::Arc;

use meantime_value::{Kind, Object, Value};

use super::super::eval::{Eval, Fault, Result};
use super::super::types::{Shape, Type};
use super::kind;
use super::schema::Schema;

impl Eval<'_> {
    /// The value as the type. The schema controls the conversion and stays with the value.
    pub(crate) fn convert_to(
        &mut self,
        value: &Value,
        target: &Arc<Type>,
        mut metadata: Object,
    ) -> Result {
        let target = target.resolved(self.types());
        for entry in target.metadata.entries() {
            if metadata.find(entry.key.name()).is_none() {
                metadata.add(entry.clone());
            }
        }
        let schema = Schema::new(&metadata);
        self.charge_conversion(value)?;
        let converted = self.shaped(value, target, &schema)?;
        match &converted {
            Value::Text(text) => self.reserve_text(text.len())?,
            Value::Regex(pattern) if value.kind() != Kind::Regex => {
                self.charge(pattern.compile_ops())?;
            }
            _ => {}
        }
        Ok(if metadata.is_empty() { converted } else { Value::annotated(converted, metadata) })
    }

    /// Charges for texts, bytes and numbers, whose conversion reads all of them; other kinds are
    /// free.
    fn charge_conversion(&mut self, value: &Value) -> Result<()> {
        match value.bare() {
            Value::Text(text) => self.charge(text.len() as u64 / 16),
            Value::Binary(bytes) => self.charge(bytes.len() as u64 / 16),
            Value::Number(number) => self.charge(number.pair_ops(number)),
            _ => Ok(()),
        }
    }

    fn shaped(&mut self, value: &Value, target: &Arc<Type>, schema: &Schema<'_>) -> Result {
        let fail = || Fault::coercion(value, &target.to_string());
        match &target.shape {
            Shape::Any => Ok(value.clone()),
            Shape::Kind(wanted) => kind::convert(value, *wanted, schema),
            Shape::Array(_) => kind::convert(value, Kind::Array, schema),
            Shape::Union(members) => {
                if self.is_instance_of(value, target)? {
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
                if self.is_instance_of(value, target)? {
                    Ok(value.clone())
                } else {
                    Err(fail())
                }
            }
        }
    }
}
