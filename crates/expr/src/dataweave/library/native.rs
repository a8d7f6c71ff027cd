//! How library functions are described: names, overloads, what each parameter takes.

use std::fmt;
use std::sync::Arc;

use super::super::eval::{Eval, Result};
use crate::value::temporal::Period;
use crate::value::{Array, Kind, Number, Object, Pattern, Text, Value};

/// The code of a library function.
pub(in crate::dataweave) type NativeFn = fn(&mut Eval<'_>, Args) -> Result<Value>;

/// A library function.
pub(in crate::dataweave) struct Native {
    pub(in crate::dataweave) name: &'static str,
    pub(in crate::dataweave) overloads: &'static [Overload],
}

/// One way to call it.
pub(in crate::dataweave) struct Overload {
    pub(in crate::dataweave) params: &'static [Param],
    /// How many of them may be left out at the end.
    pub(in crate::dataweave) optional: usize,
    pub(in crate::dataweave) run: NativeFn,
}

/// What a parameter takes: values of some kinds, and others that can be made into one.
#[derive(Debug, Clone, Copy)]
pub(in crate::dataweave) struct Param {
    kinds: u32,
    pub(in crate::dataweave) coerce: Option<Kind>,
    /// For functions: with how many arguments they will be called.
    pub(in crate::dataweave) callback: Option<usize>,
}

impl Param {
    pub(in crate::dataweave) const ANY: Self =
        Self { kinds: u32::MAX, coerce: None, callback: None };
    pub(in crate::dataweave) const NULL: Self = Self::only(Kind::Null);
    pub(in crate::dataweave) const TEXT: Self = Self::coerced(Kind::String);
    pub(in crate::dataweave) const NUMBER: Self = Self::coerced(Kind::Number);
    pub(in crate::dataweave) const BOOLEAN: Self = Self::coerced(Kind::Boolean);
    pub(in crate::dataweave) const REGEX: Self = Self::coerced(Kind::Regex);
    pub(in crate::dataweave) const BINARY: Self = Self::coerced(Kind::Binary);
    pub(in crate::dataweave) const ARRAY: Self =
        Self { kinds: Kind::Array.bit() | Kind::Range.bit(), coerce: None, callback: None };
    pub(in crate::dataweave) const OBJECT: Self = Self::only(Kind::Object);
    pub(in crate::dataweave) const DATE: Self = Self::coerced(Kind::Date);
    pub(in crate::dataweave) const DATE_TIME: Self = Self::coerced(Kind::DateTime);
    pub(in crate::dataweave) const LOCAL_DATE_TIME: Self = Self::coerced(Kind::LocalDateTime);
    pub(in crate::dataweave) const LOCAL_TIME: Self = Self::coerced(Kind::LocalTime);
    pub(in crate::dataweave) const TIME: Self = Self::coerced(Kind::Time);
    pub(in crate::dataweave) const PERIOD: Self = Self::coerced(Kind::Period);
    pub(in crate::dataweave) const TYPE: Self = Self::only(Kind::Type);
    pub(in crate::dataweave) const FUNCTION: Self = Self::only(Kind::Function);

    /// Values of one kind.
    pub(in crate::dataweave) const fn only(kind: Kind) -> Self {
        Self { kinds: kind.bit(), coerce: None, callback: None }
    }

    /// Values of one kind and whatever can become one.
    pub(in crate::dataweave) const fn coerced(kind: Kind) -> Self {
        Self { kinds: kind.bit(), coerce: Some(kind), callback: None }
    }

    /// The same, or values of another kind.
    pub(in crate::dataweave) const fn or(self, kind: Kind) -> Self {
        Self { kinds: self.kinds | kind.bit(), ..self }
    }

    /// A function that will be called with so many arguments.
    pub(in crate::dataweave) const fn callback(arity: usize) -> Self {
        Self { kinds: Kind::Function.bit(), coerce: None, callback: Some(arity) }
    }

    pub(in crate::dataweave) fn takes(self, kind: Kind) -> bool {
        self.kinds & kind.bit() != 0
    }

    /// The names of the kinds, for messages.
    pub(in crate::dataweave) fn describe(self) -> String {
        if self.kinds == u32::MAX {
            return "Any".to_owned();
        }
        if self.takes(Kind::Array) {
            return "Array".to_owned();
        }
        let names = ALL.iter().filter(|kind| self.takes(**kind)).map(|kind| kind.name());
        names.collect::<Vec<_>>().join(" | ")
    }
}

const ALL: &[Kind] = &[
    Kind::Null,
    Kind::Boolean,
    Kind::Number,
    Kind::String,
    Kind::Object,
    Kind::Key,
    Kind::Date,
    Kind::LocalTime,
    Kind::Time,
    Kind::LocalDateTime,
    Kind::DateTime,
    Kind::TimeZone,
    Kind::Period,
    Kind::Regex,
    Kind::Binary,
    Kind::Uri,
    Kind::Namespace,
    Kind::Function,
    Kind::Type,
];

impl Overload {
    pub(in crate::dataweave) const fn new(params: &'static [Param], run: NativeFn) -> Self {
        Self { params, optional: 0, run }
    }

    /// The last parameters may be left out.
    pub(in crate::dataweave) const fn optional(self, optional: usize) -> Self {
        Self { optional, ..self }
    }

    pub(in crate::dataweave) fn takes_count(&self, count: usize) -> bool {
        count <= self.params.len() && count + self.optional >= self.params.len()
    }
}

impl Native {
    pub(in crate::dataweave) const fn new(
        name: &'static str,
        overloads: &'static [Overload],
    ) -> Self {
        Self { name, overloads }
    }

    /// With how many arguments a function at this place will be called.
    pub(in crate::dataweave) fn callback(&self, place: usize) -> Option<usize> {
        self.overloads.iter().find_map(|overload| overload.params.get(place)?.callback)
    }

    pub(in crate::dataweave) fn takes_count(&self, count: usize) -> bool {
        self.overloads.iter().any(|overload| overload.takes_count(count))
    }

    /// The parameter lists, for messages.
    pub(in crate::dataweave) fn describe(&self) -> String {
        let list = |overload: &Overload| {
            let params: Vec<_> = overload.params.iter().map(|param| param.describe()).collect();
            format!("({})", params.join(", "))
        };
        let mut lists: Vec<_> = self.overloads.iter().map(list).collect();
        lists.dedup();
        lists.join(", ")
    }
}

impl fmt::Debug for Native {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// The most arguments a library function has.
const MAX_ARGS: usize = 4;

/// Arguments of a call; of the declared kinds when a library function gets them.
#[derive(Debug, Default)]
pub(in crate::dataweave) struct Args {
    values: [Value; MAX_ARGS],
    len: usize,
}

impl Args {
    pub(in crate::dataweave) fn push(&mut self, value: Value) {
        if let Some(place) = self.values.get_mut(self.len) {
            *place = value;
            self.len += 1;
        }
    }

    pub(in crate::dataweave) fn as_slice(&self) -> &[Value] {
        self.values.get(..self.len).unwrap_or(&self.values)
    }

    pub(in crate::dataweave) fn as_mut_slice(&mut self) -> &mut [Value] {
        &mut self.values[..self.len]
    }

    pub(in crate::dataweave) fn len(&self) -> usize {
        self.len
    }

    /// The value at a place; null when it was left out.
    pub(in crate::dataweave) fn take(&mut self, place: usize) -> Value {
        self.values.get_mut(place).map(std::mem::take).unwrap_or_default()
    }

    pub(in crate::dataweave) fn get(&self, place: usize) -> &Value {
        self.values.get(place).map_or(&Value::Null, Value::bare)
    }

    pub(in crate::dataweave) fn has(&self, place: usize) -> bool {
        place < self.len && !self.get(place).is_null()
    }

    pub(in crate::dataweave) fn text(&self, place: usize) -> Text {
        match self.get(place) {
            Value::Text(text) | Value::Uri(text) => text.clone(),
            Value::Key(key) => key.name().clone(),
            _ => Text::from(""),
        }
    }

    pub(in crate::dataweave) fn number(&self, place: usize) -> Number {
        match self.get(place) {
            Value::Number(number) => number.clone(),
            _ => Number::ZERO,
        }
    }

    /// A number without its fraction, as near as fits.
    pub(in crate::dataweave) fn int(&self, place: usize) -> i64 {
        let number = self.number(place);
        number.to_i64().unwrap_or(if number.is_negative() { i64::MIN } else { i64::MAX })
    }

    /// A number that counts something: not negative.
    pub(in crate::dataweave) fn count(&self, place: usize) -> usize {
        usize::try_from(self.int(place)).unwrap_or(0)
    }

    pub(in crate::dataweave) fn object(&self, place: usize) -> Arc<Object> {
        match self.get(place) {
            Value::Object(object) => Arc::clone(object),
            _ => Arc::default(),
        }
    }

    /// An array; a range is written out, which the caller pays for.
    pub(in crate::dataweave) fn array(
        &self,
        place: usize,
        eval: &mut Eval<'_>,
    ) -> Result<Arc<Array>> {
        match self.get(place) {
            Value::Array(items) => Ok(Arc::clone(items)),
            Value::Range(range) => {
                eval.charge(range.len())?;
                let items: Vec<Value> = range.iter().map(Value::from).collect();
                Ok(Arc::new(Array::from(items)))
            }
            _ => Ok(Arc::default()),
        }
    }

    pub(in crate::dataweave) fn regex(&self, place: usize) -> Option<Arc<Pattern>> {
        match self.get(place) {
            Value::Regex(pattern) => Some(Arc::clone(pattern)),
            _ => None,
        }
    }

    pub(in crate::dataweave) fn binary(&self, place: usize) -> Arc<[u8]> {
        match self.get(place) {
            Value::Binary(bytes) => Arc::clone(bytes),
            _ => Arc::from([]),
        }
    }

    pub(in crate::dataweave) fn period(&self, place: usize) -> Option<Period> {
        match self.get(place) {
            Value::Period(period) => Some(*period),
            _ => None,
        }
    }
}

impl<const N: usize> From<[Value; N]> for Args {
    fn from(values: [Value; N]) -> Self {
        let mut args = Self::default();
        for value in values {
            args.push(value);
        }
        args
    }
}
