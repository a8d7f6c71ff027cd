//! The size of a value when everything in it is visited: shared parts count every time.
//!
//! A small expression can create a value that contains one list a billion times. Comparing, copying
//! or writing such a value visits the list every time, so that is what budgets count.

use super::{Number, Value};

/// The cost of visiting a whole value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ValueSize {
    /// Operations.
    pub ops: u64,
    /// Bytes of its texts, and a few for each other value.
    pub bytes: u64,
}

/// Bytes that a value without text is counted with.
const VALUE_BYTES: u64 = 16;

impl ValueSize {
    /// The size of a value. Counting stops when the operations exceed a limit.
    pub fn of(value: &Value, limit: u64) -> Self {
        let mut extent = Self::default();
        extent.visit(value, limit);
        extent
    }

    fn add(&mut self, ops: u64, bytes: u64) {
        self.ops = self.ops.saturating_add(ops);
        self.bytes = self.bytes.saturating_add(bytes);
    }

    fn visit(&mut self, value: &Value, limit: u64) {
        if self.ops > limit {
            return;
        }
        match value.bare() {
            Value::Text(text) | Value::Uri(text) => {
                self.add((text.len() as u64 / 64).saturating_add(1), text.len() as u64);
            }
            Value::Number(number) => {
                self.add(number_ops(number).saturating_add(1), number_bytes(number));
            }
            Value::Array(items) => {
                self.add(1, VALUE_BYTES);
                for item in items.iter() {
                    self.visit(item, limit);
                    if self.ops > limit {
                        return;
                    }
                }
            }
            Value::Object(object) => {
                self.add(1, VALUE_BYTES);
                for entry in object.entries() {
                    // A lookup compares the keys one by one.
                    let name = entry.key.name().len() as u64;
                    self.add((object.len() as u64 / 16).saturating_add(name / 64), name);
                    self.visit(&entry.value, limit);
                    if self.ops > limit {
                        return;
                    }
                }
            }
            Value::Binary(bytes) => {
                self.add((bytes.len() as u64 / 64).saturating_add(1), bytes.len() as u64);
            }
            _ => self.add(1, VALUE_BYTES),
        }
    }
}

fn number_ops(number: &Number) -> u64 {
    number.pair_ops(number)
}

fn number_bytes(number: &Number) -> u64 {
    match number {
        Number::Int(_) => VALUE_BYTES,
        Number::Big(_) => {
            let (unscaled, scale) = number.to_parts();
            (unscaled.bits() / 3).saturating_add(scale.unsigned_abs()).saturating_add(VALUE_BYTES)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_parts_count_every_time() {
        let mut value = Value::array(vec![Value::from(1_i64)]);
        for _ in 0..60 {
            value = Value::array(vec![value.clone(), value]);
        }
        let extent = ValueSize::of(&value, 10_000);
        assert!(extent.ops > 10_000 && extent.ops < 10_200, "{extent:?}");
        assert_eq!(ValueSize::of(&Value::from("abc"), 10), ValueSize { ops: 1, bytes: 3 });
    }
}
