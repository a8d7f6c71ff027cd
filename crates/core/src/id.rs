//! Ids: opaque, time-ordered, not guessable.
//!
//! An [`InstanceId`] has 128 bits: the upper 63 below the sign bit are its *order* (48 bits of
//! milliseconds and 15 bits that make it unique and increasing within a node), the lower 64 are
//! random. Stores append rows in this order. Everything that an instance creates is identified by
//! an [`EffectKey`], which is deterministic: the same turn gives the same keys.

use std::fmt;
use std::str::FromStr;

use minicbor::decode::{Decoder, Error as DecodeError};
use minicbor::encode::{Encoder, Error as EncodeError, Write};

/// The text is not an id of the expected kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not {expected}")]
pub struct InvalidId {
    text: String,
    expected: &'static str,
}

impl InvalidId {
    /// The stable code of this error.
    pub fn code(&self) -> &'static str {
        "invalid_id"
    }
}

/// Identifies an instance.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InstanceId(u128);

impl InstanceId {
    /// Combines an order (63 bits) and 64 random bits.
    pub const fn new(order: u64, random: u64) -> Self {
        Self(((order & (u64::MAX >> 1)) as u128) << 64 | random as u128)
    }

    /// The increasing part: unique within a store, usable as an integer row key.
    pub const fn order(self) -> u64 {
        (self.0 >> 64) as u64
    }

    /// The random part, which makes the id hard to guess.
    #[expect(clippy::cast_possible_truncation, reason = "the lower half is wanted")]
    pub const fn random(self) -> u64 {
        self.0 as u64
    }

    /// The key of the effect `ordinal` of turn `turn_no`.
    pub const fn effect(self, turn_no: u64, ordinal: u32) -> EffectKey {
        EffectKey { instance: self, turn_no, ordinal }
    }

    /// The timer of the instance's deadline. No turn has number 0.
    pub const fn deadline_timer(self) -> TimerId {
        TimerId(self.effect(0, 0))
    }
}

/// Identifies an effect: instance, turn and ordinal. Timers, tasks, subscriptions and children are
/// identified by the key of the effect that created them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EffectKey {
    /// The instance whose turn requested the effect.
    pub instance: InstanceId,
    /// The turn, counted from 1.
    pub turn_no: u64,
    /// The position in the turn's list of effects, from 0.
    pub ordinal: u32,
}

/// Identifies a task.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId(pub EffectKey);

/// Identifies a timer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, minicbor::Encode, minicbor::Decode)]
#[cbor(transparent)]
pub struct TimerId(#[n(0)] pub EffectKey);

/// Identifies an incident.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IncidentId(u128);

impl IncidentId {
    /// Combines an order (63 bits) and 64 random bits, like an instance id.
    pub const fn new(order: u64, random: u64) -> Self {
        Self(InstanceId::new(order, random).0)
    }
}

/// A deployed version of a definition, numbered within one store.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, minicbor::Encode, minicbor::Decode,
)]
#[cbor(transparent)]
pub struct DefinitionId(#[n(0)] pub u64);

const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

fn write_base32(f: &mut fmt::Formatter<'_>, value: u128) -> fmt::Result {
    for position in (0..26).rev() {
        let digit = usize::try_from((value >> (position * 5)) & 31).unwrap_or_default();
        f.write_str(char::from(ALPHABET[digit]).encode_utf8(&mut [0; 4]))?;
    }
    Ok(())
}

fn read_base32(text: &str) -> Option<u128> {
    if text.len() != 26 {
        return None;
    }
    text.bytes().try_fold(0u128, |value, byte| {
        let digit = ALPHABET.iter().position(|known| *known == byte.to_ascii_lowercase())?;
        value.checked_mul(32)?.checked_add(digit as u128)
    })
}

fn read_key(text: &str) -> Option<EffectKey> {
    let mut parts = text.splitn(3, '-');
    let instance = InstanceId(read_base32(parts.next()?)?);
    let turn_no = read_number(parts.next()?)?;
    let ordinal = read_number(parts.next()?)?;
    Some(EffectKey { instance, turn_no, ordinal })
}

/// A number as it is written: the parser of the standard library also takes signs and zeros in
/// front of it, and an id would have several texts.
fn read_number<T: FromStr>(text: &str) -> Option<T> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
    let is_padded = text.len() > 1 && text.starts_with('0');
    text.parse().ok().filter(|_| is_plain && !is_padded)
}

impl fmt::Display for EffectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_base32(f, self.instance.0)?;
        write!(f, "-{}-{}", self.turn_no, self.ordinal)
    }
}

macro_rules! text_form {
    ($type:ident, $prefix:literal, $expected:literal, $read:expr, $write:expr) => {
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str($prefix)?;
                $write(self, f)
            }
        }
        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
        impl FromStr for $type {
            type Err = InvalidId;
            fn from_str(text: &str) -> Result<Self, InvalidId> {
                text.strip_prefix($prefix)
                    .and_then($read)
                    .ok_or_else(|| InvalidId { text: text.to_owned(), expected: $expected })
            }
        }
    };
}

text_form!(
    InstanceId,
    "in_",
    "an instance id (in_…)",
    |text| read_base32(text).map(InstanceId),
    |id: &InstanceId, f: &mut fmt::Formatter<'_>| write_base32(f, id.0)
);
text_form!(
    IncidentId,
    "ic_",
    "an incident id (ic_…)",
    |text| read_base32(text).map(IncidentId),
    |id: &IncidentId, f: &mut fmt::Formatter<'_>| write_base32(f, id.0)
);
text_form!(
    TaskId,
    "tk_",
    "a task id (tk_…)",
    |text| read_key(text).map(TaskId),
    |id: &TaskId, f: &mut fmt::Formatter<'_>| fmt::Display::fmt(&id.0, f)
);
text_form!(
    TimerId,
    "tm_",
    "a timer id (tm_…)",
    |text| read_key(text).map(TimerId),
    |id: &TimerId, f: &mut fmt::Formatter<'_>| fmt::Display::fmt(&id.0, f)
);

impl fmt::Debug for EffectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

macro_rules! bytes_form {
    ($type:ident) => {
        impl $type {
            /// The sixteen bytes of the id, most significant first.
            pub const fn to_bytes(self) -> [u8; 16] {
                self.0.to_be_bytes()
            }
            /// Reads what [`Self::to_bytes`] wrote.
            pub const fn from_bytes(bytes: [u8; 16]) -> Self {
                Self(u128::from_be_bytes(bytes))
            }
        }
        impl<C> minicbor::Encode<C> for $type {
            fn encode<W: Write>(
                &self,
                e: &mut Encoder<W>,
                _: &mut C,
            ) -> Result<(), EncodeError<W::Error>> {
                e.bytes(&self.to_bytes())?.ok()
            }
        }
        impl<'b, C> minicbor::Decode<'b, C> for $type {
            fn decode(d: &mut Decoder<'b>, _: &mut C) -> Result<Self, DecodeError> {
                let bytes = d.bytes()?.try_into();
                Ok(Self::from_bytes(bytes.map_err(|_| DecodeError::message("id length"))?))
            }
        }
    };
}

bytes_form!(InstanceId);
bytes_form!(IncidentId);

impl<C> minicbor::Encode<C> for EffectKey {
    fn encode<W: Write>(&self, e: &mut Encoder<W>, c: &mut C) -> Result<(), EncodeError<W::Error>> {
        e.array(3)?.encode_with(self.instance, c)?.u64(self.turn_no)?.u32(self.ordinal)?.ok()
    }
}

impl<'b, C> minicbor::Decode<'b, C> for EffectKey {
    fn decode(d: &mut Decoder<'b>, c: &mut C) -> Result<Self, DecodeError> {
        if d.array()? != Some(3) {
            return Err(DecodeError::message("effect key of three parts"));
        }
        let instance = d.decode_with(c)?;
        Ok(Self { instance, turn_no: d.u64()?, ordinal: d.u32()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_sort_by_time_and_survive_their_text_form() {
        let early = InstanceId::new(5, u64::MAX);
        let late = InstanceId::new(6, 0);
        assert!(early < late && early.to_string() < late.to_string());
        assert_eq!(early.to_string().parse::<InstanceId>().unwrap(), early);
        let task = TaskId(late.effect(7, 3));
        assert_eq!(task.to_string().parse::<TaskId>().unwrap(), task);
        assert_eq!(early.order(), 5);
    }

    #[test]
    fn an_id_has_one_text() {
        let key = InstanceId::new(6, 0).effect(0, 30);
        let text = TaskId(key).to_string();
        assert_eq!(text.parse::<TaskId>().unwrap(), TaskId(key));
        let instance = text.strip_suffix("-0-30").unwrap();
        for rest in ["-+0-30", "-0-+30", "-00-30", "-0-030", "--0-30", "-0-", "--30"] {
            assert!(format!("{instance}{rest}").parse::<TaskId>().is_err(), "{rest}");
        }
    }

    #[test]
    fn another_kind_of_id_is_refused_by_name() {
        let error = "tk_abc".parse::<InstanceId>().unwrap_err();
        assert_eq!(error.to_string(), "\"tk_abc\" is not an instance id (in_…)");
        assert_eq!(error.code(), "invalid_id");
    }
}
