//! `Math.…`: the same bits on every machine. Only operations that IEEE 754 defines exactly use the
//! processor; all others are computed by `libm`.

use crate::library::Builtin;
use crate::vm::arithmetic::{Number, bits, number, power};
use crate::vm::{Machine, Value, VmResult, type_error};

impl Machine<'_> {
    pub(super) fn math(&mut self, function: Builtin, args: &[Value]) -> VmResult<Value> {
        if function == Builtin::MathRandom {
            return Ok(self.random());
        }
        let mut numbers = Vec::with_capacity(args.len());
        for value in args {
            numbers.push(self.number_of(value)?);
        }
        let nan = Number::Float(f64::NAN);
        let first = numbers.first().copied().unwrap_or(nan);
        let second = numbers.get(1).copied().unwrap_or(nan);
        let float = first.as_float();
        let floats = || numbers.iter().map(|it| it.as_float());
        Ok(number(match function {
            Builtin::MathMin => floats().fold(f64::INFINITY, |one, it| lower(one, it, 1.0)),
            Builtin::MathMax => floats().fold(f64::NEG_INFINITY, |one, it| lower(one, it, -1.0)),
            Builtin::MathPow => return Ok(power(first, second)),
            Builtin::MathHypot => hypot(&floats().collect::<Vec<f64>>()),
            Builtin::MathAtan2 => libm::atan2(float, second.as_float()),
            Builtin::MathAbs => float.abs(),
            Builtin::MathSign if float == 0.0 || float.is_nan() => float,
            Builtin::MathSign => float.signum(),
            Builtin::MathCeil => float.ceil(),
            Builtin::MathFloor => float.floor(),
            Builtin::MathTrunc => float.trunc(),
            Builtin::MathRound => round(float),
            Builtin::MathSqrt => libm::sqrt(float),
            Builtin::MathCbrt => libm::cbrt(float),
            Builtin::MathExp => exp(float),
            Builtin::MathLog => libm::log(float),
            Builtin::MathLog2 => libm::log2(float),
            Builtin::MathLog10 => libm::log10(float),
            Builtin::MathSin => libm::sin(float),
            Builtin::MathCos => libm::cos(float),
            Builtin::MathTan => libm::tan(float),
            Builtin::MathAsin => libm::asin(float),
            Builtin::MathAcos => libm::acos(float),
            Builtin::MathAtan => libm::atan(float),
            Builtin::MathSinh => libm::sinh(float),
            Builtin::MathCosh => libm::cosh(float),
            Builtin::MathTanh => libm::tanh(float),
            Builtin::MathAsinh => libm::asinh(float),
            Builtin::MathAcosh => libm::acosh(float),
            Builtin::MathAtanh => libm::atanh(float),
            Builtin::MathExpm1 => libm::expm1(float),
            Builtin::MathLog1p => libm::log1p(float),
            Builtin::MathFround => single(float),
            Builtin::MathClz32 => f64::from(bits(float).leading_zeros()),
            Builtin::MathImul => f64::from(bits(float).wrapping_mul(bits(second.as_float()))),
            _ => {
                let text = format!("`{}` cannot be called here", function.full_name());
                return Err(type_error(text));
            }
        }))
    }

    /// A number from 0 to below 1, from 53 random bits.
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit into a double")]
    fn random(&mut self) -> Value {
        let bits = self.host.random() >> 11;
        Value::Float(bits as f64 / (1u64 << 53) as f64)
    }

    /// A random UUID of version 4.
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

/// The nearest number of single precision.
#[expect(clippy::cast_possible_truncation, reason = "the rounding is meant")]
fn single(value: f64) -> f64 {
    f64::from(value as f32)
}

/// `Math.exp(1)` must be `Math.E`; the result of `libm` differs in the last bit.
#[expect(clippy::float_cmp, reason = "exactly one is meant")]
fn exp(value: f64) -> f64 {
    if value == 1.0 { std::f64::consts::E } else { libm::exp(value) }
}

/// The smaller of two numbers, or with a negative sign the larger one. NaN if one of them is NaN;
/// negative zero is smaller than zero.
fn lower(one: f64, other: f64, sign: f64) -> f64 {
    if one.is_nan() || other.is_nan() {
        return f64::NAN;
    }
    if one == 0.0 && other == 0.0 {
        return if (one * sign).is_sign_negative() { one } else { other };
    }
    if other * sign < one * sign { other } else { one }
}

/// Halves are rounded up.
fn round(value: f64) -> f64 {
    let up = value.ceil();
    if up - 0.5 > value { up - 1.0 } else { up }
}

/// The square root of the sum of squares, without overflow and with little rounding.
fn hypot(values: &[f64]) -> f64 {
    if values.iter().any(|it| it.is_infinite()) {
        return f64::INFINITY;
    }
    if values.iter().any(|it| it.is_nan()) {
        return f64::NAN;
    }
    let largest = values.iter().fold(0.0, |one: f64, it| one.max(it.abs()));
    if largest == 0.0 {
        return 0.0;
    }
    let (mut sum, mut rest) = (0.0, 0.0);
    for value in values {
        let part = value.abs() / largest;
        let square = part * part - rest;
        let next = sum + square;
        rest = (next - sum) - square;
        sum = next;
    }
    libm::sqrt(sum) * largest
}
