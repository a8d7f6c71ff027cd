//! Exact decimal numbers, as `java.math.BigDecimal` computes them.
//!
//! Sums and products are exact; quotients are exact if they terminate and have 34 digits otherwise.
//! Integers that fit are machine words. Written without an exponent, a number has at most 5,000
//! digits after the point and 10,000 in total, so that no operation takes unbounded time or memory,
//! and every written number can be read again.

use std::cmp::Ordering;
use std::sync::Arc;

use bigdecimal::num_bigint::{BigInt, Sign};
use bigdecimal::{BigDecimal, RoundingMode, Signed, ToPrimitive, Zero};

/// Digits a number may have after the point, and half of what it may have in all: those of a
/// number in a document.
#[expect(clippy::cast_possible_wrap, reason = "a few thousand")]
pub(super) const MAX_DIGITS: i64 = meantime_core::json::MAX_PLACES as i64;

/// Digits of a quotient that does not terminate, as in IEEE 754 decimal128.
const QUOTIENT_DIGITS: i64 = 34;

/// An exact decimal number.
#[derive(Debug, Clone)]
pub enum Number {
    /// An integer of machine size.
    Int(i64),
    /// Any other number. An integer that fits `i64` is here only with an exponent, such as `1E+3`,
    /// which is written differently.
    Big(Arc<BigDecimal>),
}

/// Why there is no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NumberError {
    /// A division by zero.
    #[error("division by zero")]
    DivisionByZero,
    /// More digits than a number may have.
    #[error("the number has more than {MAX_DIGITS} digits")]
    TooManyDigits,
    /// The result is not a number, such as the root of a negative one.
    #[error("the result is not a number")]
    NotANumber,
    /// A power with a negative whole exponent.
    #[error("negative exponent: {0}")]
    NegativeExponent(i64),
}

type Result<T = Number> = std::result::Result<T, NumberError>;

impl Number {
    /// Zero.
    pub const ZERO: Self = Self::Int(0);

    /// From an unscaled value and the number of digits after the point.
    pub fn from_parts(unscaled: BigInt, scale: i64) -> Result {
        let number = BigDecimal::new(unscaled, scale);
        if scale.unsigned_abs() > MAX_DIGITS.unsigned_abs() || is_long(&number) {
            return Err(NumberError::TooManyDigits);
        }
        Ok(Self::from_big(number))
    }

    /// From a binary floating point number, by its shortest decimal form.
    pub fn from_f64(value: f64) -> Result {
        if !value.is_finite() {
            return Err(NumberError::NotANumber);
        }
        format!("{value:e}").parse().map_err(|_| NumberError::NotANumber)
    }

    /// The nearest binary floating point number.
    pub fn to_f64(&self) -> f64 {
        match self {
            #[expect(clippy::cast_precision_loss, reason = "the nearest is what is asked for")]
            Self::Int(value) => *value as f64,
            Self::Big(value) => value.to_f64().unwrap_or(f64::NAN),
        }
    }

    /// The integer part; `None` if it does not fit.
    pub fn to_i64(&self) -> Option<i64> {
        match self {
            Self::Int(value) => Some(*value),
            Self::Big(value) => value.to_i64(),
        }
    }

    /// The whole part of any size.
    pub fn to_big_int(&self) -> BigInt {
        match self {
            Self::Int(value) => BigInt::from(*value),
            Self::Big(value) => value.with_scale(0).into_bigint_and_scale().0,
        }
    }

    /// Whether there is nothing after the point.
    pub fn is_integer(&self) -> bool {
        match self {
            Self::Int(_) => true,
            Self::Big(value) => value.is_integer(),
        }
    }

    /// Whether it is zero.
    pub fn is_zero(&self) -> bool {
        matches!(self, Self::Int(0)) || matches!(self, Self::Big(value) if value.is_zero())
    }

    /// Whether it is below zero.
    pub fn is_negative(&self) -> bool {
        match self {
            Self::Int(value) => *value < 0,
            Self::Big(value) => value.is_negative(),
        }
    }

    /// The sum.
    pub fn add(&self, other: &Self) -> Result {
        if let (Self::Int(a), Self::Int(b)) = (self, other)
            && let Some(sum) = a.checked_add(*b)
        {
            return Ok(Self::Int(sum));
        }
        Self::checked(&*self.to_big() + &*other.to_big())
    }

    /// The difference.
    pub fn sub(&self, other: &Self) -> Result {
        if let (Self::Int(a), Self::Int(b)) = (self, other)
            && let Some(difference) = a.checked_sub(*b)
        {
            return Ok(Self::Int(difference));
        }
        Self::checked(&*self.to_big() - &*other.to_big())
    }

    /// The product.
    pub fn mul(&self, other: &Self) -> Result {
        if let (Self::Int(a), Self::Int(b)) = (self, other)
            && let Some(product) = a.checked_mul(*b)
        {
            return Ok(Self::Int(product));
        }
        Self::checked(&*self.to_big() * &*other.to_big())
    }

    /// The quotient: exact if it terminates, otherwise with 34 digits.
    pub fn div(&self, other: &Self) -> Result {
        if other.is_zero() {
            return Err(NumberError::DivisionByZero);
        }
        if let (Self::Int(a), Self::Int(b)) = (self, other)
            && a.checked_rem(*b) == Some(0)
            && let Some(quotient) = a.checked_div(*b)
        {
            return Ok(Self::Int(quotient));
        }
        let (a, a_scale) = self.to_parts();
        let (b, b_scale) = other.to_parts();
        divide(&a, &b, a_scale - b_scale)
    }

    /// The remainder of a division, with the sign of the dividend.
    pub fn rem(&self, other: &Self) -> Result {
        if other.is_zero() {
            return Err(NumberError::DivisionByZero);
        }
        if let (Self::Int(a), Self::Int(b)) = (self, other) {
            return Ok(Self::Int(a.checked_rem(*b).unwrap_or(0)));
        }
        Self::checked(&*self.to_big() % &*other.to_big())
    }

    /// The power: exact for integers, with 34 digits for other bases with an integer exponent, and
    /// by floating point otherwise.
    pub fn pow(&self, exponent: &Self) -> Result {
        let Some(whole) = exponent.to_i64().filter(|_| exponent.is_integer()) else {
            if exponent.is_negative() {
                return Err(NumberError::NegativeExponent(exponent.to_i64().unwrap_or(i64::MIN)));
            }
            return Self::from_f64(libm::pow(self.to_f64(), exponent.to_f64()));
        };
        if whole < 0 {
            return Err(NumberError::NegativeExponent(whole));
        }
        let (base, scale) = self.to_parts();
        if base.bits() > 1 {
            let bits = base.bits().saturating_mul(whole.unsigned_abs());
            if bits > 4 * MAX_DIGITS.unsigned_abs() {
                return Err(NumberError::TooManyDigits);
            }
        }
        let exponent = u32::try_from(whole).unwrap_or(if whole % 2 == 0 { 2 } else { 1 });
        let power = Self::from_parts(base.pow(exponent), scale.saturating_mul(whole))?;
        Ok(if self.is_integer() { power } else { power.with_precision(RoundingMode::HalfEven) })
    }

    /// Rounds to the digits of a quotient.
    fn with_precision(self, rounding: RoundingMode) -> Self {
        match (&self, std::num::NonZeroU64::new(QUOTIENT_DIGITS.unsigned_abs())) {
            (Self::Big(value), Some(digits)) => {
                Self::from_big(value.with_precision_round(digits, rounding))
            }
            _ => self,
        }
    }

    /// The square root, by floating point.
    pub fn sqrt(&self) -> Result {
        Self::from_f64(libm::sqrt(self.to_f64()))
    }

    /// The number with the sign changed.
    #[must_use]
    pub fn neg(&self) -> Self {
        match self {
            Self::Int(value) => match value.checked_neg() {
                Some(value) => Self::Int(value),
                None => Self::from_big(-BigDecimal::from(*value)),
            },
            Self::Big(value) => Self::from_big(-&**value),
        }
    }

    /// The number without its sign.
    #[must_use]
    pub fn abs(&self) -> Self {
        if self.is_negative() { self.neg() } else { self.clone() }
    }

    /// Rounds to this many digits after the point.
    #[must_use]
    pub fn round_to(&self, scale: i64, rounding: RoundingMode) -> Self {
        match self {
            Self::Int(_) if scale >= 0 => self.clone(),
            _ => Self::from_big(self.to_big().with_scale_round(scale, rounding)),
        }
    }

    /// Operations of a sum, product or quotient of two numbers, beyond one; zero for small numbers.
    /// The time of division and writing grows with the square of the digits.
    pub fn pair_ops(&self, other: &Self) -> u64 {
        if let (Self::Int(_), Self::Int(_)) = (self, other) {
            return 0;
        }
        let words = self.words().saturating_add(other.words());
        words.saturating_add(words.saturating_mul(words) / 64)
    }

    /// Machine words of its digits, including those that its exponent adds.
    fn words(&self) -> u64 {
        match self {
            Self::Int(_) => 1,
            Self::Big(value) => {
                let (unscaled, scale) = value.as_bigint_and_scale();
                unscaled.bits().saturating_add(scale.unsigned_abs().saturating_mul(3)) / 64
            }
        }
    }

    /// The unscaled value and the number of digits after the point.
    pub fn to_parts(&self) -> (BigInt, i64) {
        match self {
            Self::Int(value) => (BigInt::from(*value), 0),
            Self::Big(value) => value.as_bigint_and_exponent(),
        }
    }

    fn to_big(&self) -> Arc<BigDecimal> {
        match self {
            Self::Int(value) => Arc::new(BigDecimal::from(*value)),
            Self::Big(value) => Arc::clone(value),
        }
    }

    fn checked(value: BigDecimal) -> Result {
        let (unscaled, scale) = value.into_bigint_and_scale();
        Self::from_parts(unscaled, scale)
    }

    /// Zeros after the point are dropped; those before it are kept, as in `1E+3`.
    fn from_big(value: BigDecimal) -> Self {
        let (mut unscaled, mut scale) = value.into_bigint_and_scale();
        if unscaled.is_zero() {
            return Self::Int(0);
        }
        while scale > 0 {
            let Some(shorter) = divide_by_ten(&unscaled) else { break };
            unscaled = shorter;
            scale -= 1;
        }
        match unscaled.to_i64() {
            Some(value) if scale == 0 => Self::Int(value),
            _ => Self::Big(Arc::new(BigDecimal::new(unscaled, scale))),
        }
    }
}

/// Whether a number, written without an exponent, has more digits than may be read.
fn is_long(number: &BigDecimal) -> bool {
    let (unscaled, scale) = number.as_bigint_and_scale();
    let zeros = scale.saturating_neg().max(0);
    // A bit is less than a third of a digit: most numbers are far below the limit.
    let at_most = i64::try_from(unscaled.bits() / 3 + 1).unwrap_or(i64::MAX);
    let exactly = || i64::try_from(number.digits()).unwrap_or(i64::MAX).saturating_add(zeros);
    at_most.saturating_add(zeros) > 2 * MAX_DIGITS && exactly() > 2 * MAX_DIGITS
}

fn divide_by_ten(value: &BigInt) -> Option<BigInt> {
    let rest: BigInt = value % 10;
    rest.is_zero().then(|| value / 10)
}

/// `a / b` with `scale` digits after the point already counted.
fn divide(a: &BigInt, b: &BigInt, scale: i64) -> Result {
    if a.is_zero() {
        return Ok(Number::ZERO);
    }
    let (rest, twos, fives) = without_twos_and_fives(b.clone());
    let ten = BigInt::from(10);
    if (a % &rest).is_zero() {
        // The rest of the divisor has only factors of ten: the quotient terminates.
        let digits = twos.max(fives);
        let unscaled = a * ten.pow(digits) / b;
        return Number::from_parts(unscaled, scale + i64::from(digits));
    }
    // One digit more than needed, then rounded. The quotient does not terminate, so a last digit of
    // five means more than a half.
    let shift = QUOTIENT_DIGITS + 1 - (digit_count(a) - digit_count(b));
    let power = |exponent: i64| ten.pow(u32::try_from(exponent).unwrap_or(0));
    let quotient = if shift >= 0 { a * power(shift) / b } else { a / (b * power(-shift)) };
    Ok(Number::from_parts(quotient, scale + shift)?.with_precision(RoundingMode::HalfUp))
}

/// The number without its factors two and five, and how many of each there were.
fn without_twos_and_fives(number: BigInt) -> (BigInt, u32, u32) {
    let twos = u32::try_from(number.trailing_zeros().unwrap_or(0)).unwrap_or(0);
    let mut rest = number >> twos;
    let mut fives = 0;
    while (&rest % 5u32).is_zero() {
        rest /= 5u32;
        fives += 1;
    }
    (rest, twos, fives)
}

fn digit_count(value: &BigInt) -> i64 {
    i64::try_from(value.magnitude().to_str_radix(10).len()).unwrap_or(i64::MAX)
}

impl From<usize> for Number {
    fn from(value: usize) -> Self {
        match i64::try_from(value) {
            Ok(value) => Self::Int(value),
            Err(_) => Self::from_big(BigDecimal::from(value as u64)),
        }
    }
}

impl From<i64> for Number {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<BigInt> for Number {
    fn from(value: BigInt) -> Self {
        Self::from_big(BigDecimal::new(value, 0))
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Number {}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Number {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Int(a), Self::Int(b)) => a.cmp(b),
            _ => self.to_big().cmp(&other.to_big()),
        }
    }
}

/// The sign, for callers that format.
pub(crate) fn sign_of(value: &BigInt) -> &'static str {
    if value.sign() == Sign::Minus { "-" } else { "" }
}
