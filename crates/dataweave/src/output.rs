//! The output of an evaluation: values with their formats applied, without functions.

use meantime_value::{Kind, Object, Value};

use super::coerce;
use super::eval::{Eval, Fault, Result};
use super::types::Type;

impl Eval<'_> {
    /// The value as output; charged, because all of it is visited, shared parts every time.
    pub(crate) fn finished(&mut self, value: &Value) -> Result {
        self.charge_visit(value)?;
        finished(value)
    }
}

/// The value as output. Dates with a format become text, types become their names.
fn finished(value: &Value) -> Result {
    Ok(match value {
        Value::Array(items) if items.iter().any(needs_finishing) => {
            let items: Result<Vec<Value>> = items.iter().map(finished).collect();
            Value::array(items?)
        }
        Value::Object(object)
            if object.entries().iter().any(|entry| needs_finishing(&entry.value)) =>
        {
            let mut out = Object::with_capacity(object.len());
            for entry in object.entries() {
                out.push(entry.key.clone(), finished(&entry.value)?);
            }
            Value::object(out)
        }
        Value::Annotated(annotated) => match annotated.value.kind() {
            Kind::Date | Kind::DateTime | Kind::LocalDateTime | Kind::LocalTime | Kind::Time => {
                written(value, &annotated.metadata)?
            }
            Kind::Binary => Value::Text(coerce::to_text(value)?),
            _ => finished(&annotated.value)?,
        },
        Value::Foreign(_) => match Type::from_value(value) {
            Some(_) => Value::Text(coerce::to_text(value)?),
            None => {
                return Err(Fault::type_error("a function cannot be part of a result"));
            }
        },
        other => other.clone(),
    })
}

/// Whether anything must be changed; most values are returned unchanged.
fn needs_finishing(value: &Value) -> bool {
    match value {
        Value::Annotated(_) | Value::Foreign(_) => true,
        Value::Array(items) => items.iter().any(needs_finishing),
        Value::Object(object) => object.entries().iter().any(|entry| needs_finishing(&entry.value)),
        _ => false,
    }
}

fn written(value: &Value, metadata: &Object) -> Result {
    coerce::with_metadata(value, Kind::String, metadata)
}
