//! Random values. Their bits come from the seed of the evaluation, so the same evaluation gives the
//! same values.

use meantime_value::{Number, Value};

use crate::eval::Evaluator;

/// Digits of a random number.
const RANDOM_DIGITS: u32 = 15;

/// From 0, inclusive, to 1, exclusive.
pub(super) fn number(evaluator: &mut Evaluator<'_>, values: &[Value]) -> Option<Value> {
    let [] = values else { return None };
    let fraction = evaluator.random() % 10_u64.pow(RANDOM_DIGITS);
    let text = format!("0.{fraction:0width$}", width = RANDOM_DIGITS as usize);
    text.parse::<Number>().ok().map(Value::Number)
}

/// A UUID of version 4.
pub(super) fn uuid(evaluator: &mut Evaluator<'_>, values: &[Value]) -> Option<Value> {
    let [] = values else { return None };
    let bits = (u128::from(evaluator.random()) << 64) | u128::from(evaluator.random());
    // Sets the bits of version and variant.
    let bits = (bits & !(0xf << 76) | (4 << 76)) & !(0b11 << 62) | (0b10 << 62);
    let text = format!("{bits:032x}");
    let parts = [0..8, 8..12, 12..16, 16..20, 20..32].map(|part| text.get(part).unwrap_or(""));
    Some(Value::from(parts.join("-")))
}
