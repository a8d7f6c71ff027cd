//! `Math.…`: exact for integers, and the same bits on every machine.

use super::dispatch::arg;
use crate::script::library::Builtin;
use crate::script::vm::arithmetic::need_number;
use crate::script::vm::arithmetic::{Number, finite, power};
use crate::script::vm::compare::compare_numbers;
use crate::script::vm::{Machine, Outcome, Value, range_error, type_error};

impl Machine<'_> {
    pub(super) fn math(&mut self, function: Builtin, args: &[Value]) -> Outcome<Value> {
        if function == Builtin::MathRandom {
            return Ok(self.random());
        }
        let mut numbers = Vec::with_capacity(args.len());
        for value in args {
            numbers.push(need_number(value)?);
        }
        let Some(first) = numbers.first().copied() else {
            return Err(type_error("a number is missing"));
        };
        let float = first.as_float();
        match function {
            Builtin::MathMin | Builtin::MathMax => Ok(extreme(args, function == Builtin::MathMin)),
            Builtin::MathPow => power(first, numbers.get(1).copied().unwrap_or(Number::Int(1))),
            Builtin::MathHypot => {
                let squares = numbers.iter().map(|it| it.as_float() * it.as_float());
                finite(libm::sqrt(squares.sum()))
            }
            Builtin::MathAtan2 => {
                let other = numbers.get(1).copied().unwrap_or(Number::Int(0));
                finite(libm::atan2(float, other.as_float()))
            }
            Builtin::MathAbs | Builtin::MathSign => sign_or_size(function, first),
            Builtin::MathCeil | Builtin::MathFloor | Builtin::MathRound | Builtin::MathTrunc => {
                rounded(function, first)
            }
            Builtin::MathSqrt => finite(libm::sqrt(float)).map(whole),
            Builtin::MathCbrt => finite(libm::cbrt(float)).map(whole),
            Builtin::MathExp => finite(libm::exp(float)),
            Builtin::MathLog => finite(libm::log(float)),
            Builtin::MathLog2 => finite(libm::log2(float)).map(whole),
            Builtin::MathLog10 => finite(libm::log10(float)).map(whole),
            Builtin::MathSin => finite(libm::sin(float)),
            Builtin::MathCos => finite(libm::cos(float)),
            Builtin::MathTan => finite(libm::tan(float)),
            _ => Err(type_error(format!("`{}` cannot be called here", function.full_name()))),
        }
    }

    /// Between 0 and 1, from 53 random bits.
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit into a double")]
    fn random(&mut self) -> Value {
        let bits = self.host.random() >> 11;
        Value::Float(bits as f64 / (1u64 << 53) as f64)
    }

    /// A random identifier, version 4.
    pub(super) fn uuid(&mut self) -> Value {
        let (high, low) = (self.host.random(), self.host.random());
        let high = (high & !0xf000) | 0x4000;
        let low = (low & (u64::MAX >> 2)) | (1 << 63);
        Value::text(format!(
            "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
            high >> 32,
            (high >> 16) & 0xffff,
            high & 0xffff,
            low >> 48,
            low & 0xffff_ffff_ffff
        ))
    }
}

fn sign_or_size(function: Builtin, value: Number) -> Outcome<Value> {
    match (function, value) {
        (Builtin::MathAbs, Number::Int(value)) => value
            .checked_abs()
            .map(Value::Int)
            .ok_or_else(|| range_error("the result does not fit into a 64-bit integer")),
        (Builtin::MathAbs, Number::Float(value)) => Ok(Value::Float(value.abs())),
        (_, Number::Int(value)) => Ok(Value::Int(value.signum())),
        (_, Number::Float(0.0)) => Ok(Value::Int(0)),
        (_, Number::Float(value)) => Ok(Value::Int(if value > 0.0 { 1 } else { -1 })),
    }
}

fn extreme(args: &[Value], smallest: bool) -> Value {
    let mut best = arg(args, 0);
    for value in args {
        let order = compare_numbers(value, &best);
        if order.is_some_and(|order| if smallest { order.is_lt() } else { order.is_gt() }) {
            best = value.clone();
        }
    }
    best
}

fn rounded(function: Builtin, value: Number) -> Outcome<Value> {
    let Number::Float(value) = value else {
        return Ok(match value {
            Number::Int(value) => Value::Int(value),
            Number::Float(value) => Value::Float(value),
        });
    };
    let rounded = match function {
        Builtin::MathCeil => value.ceil(),
        Builtin::MathFloor => value.floor(),
        Builtin::MathTrunc => value.trunc(),
        // Halves go up, as in JavaScript.
        _ => (value + 0.5).floor(),
    };
    finite(rounded).map(whole)
}

/// A double without a fraction becomes an integer, if it is small enough to be exact.
pub(super) fn whole(value: Value) -> Value {
    value.as_int().map_or(value, Value::Int)
}
