//! Descriptions of library functions: names, overloads, parameter types.

use std::fmt;
use std::sync::Arc;

use meantime_value::{Array, Kind, Number, Object, Pattern, Text, Value};

use super::super::eval::{Eval, Result};

/// The implementation of a library function.
pub(crate) type NativeFn = fn(&mut Eval<'_>, &mut Args) -> Result<Value>;

/// A named value of a module, created when it is used.
pub(crate) type Constant = (&'static str, fn() -> Value);

/// A library function.
pub(crate) struct Native {
    pub(crate) name: &'static str,
    pub(crate) overloads: &'static [Overload],
}

/// One overload.
pub(crate) struct Overload {
    pub(crate) params: &'static [Param],
    /// The number of parameters that may be left out at the end.
    pub(crate) optional: usize,
    pub(crate) run: NativeFn,
}

/// What a parameter accepts: values of some kinds, and others that convert to one of them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Param {
    kinds: u32,
    pub(crate) coerce: Option<Kind>,
    /// For functions: the number of arguments they will be called with.
    pub(crate) callback: Option<usize>,
}

impl Param {
    pub(crate) const ANY: Self = Self { kinds: u32::MAX, coerce: None, callback: None };
    pub(crate) const NULL: Self = Self::only(Kind::Null);
    pub(crate) const TEXT: Self = Self::coerced(Kind::String);
    pub(crate) const NUMBER: Self = Self::coerced(Kind::Number);
    pub(crate) const REGEX: Self = Self::coerced(Kind::Regex);
    pub(crate) const BINARY: Self = Self::coerced(Kind::Binary);
    pub(crate) const ARRAY: Self =
        Self { kinds: Kind::Array.bit() | Kind::Range.bit(), coerce: None, callback: None };
    pub(crate) const OBJECT: Self = Self::only(Kind::Object);
    pub(crate) const DATE: Self = Self::coerced(Kind::Date);
    pub(crate) const DATE_TIME: Self = Self::coerced(Kind::DateTime);
    pub(crate) const LOCAL_DATE_TIME: Self = Self::coerced(Kind::LocalDateTime);
    pub(crate) const TYPE: Self = Self::only(Kind::Type);
    pub(crate) const FUNCTION: Self = Self::only(Kind::Function);

    /// Values of one kind.
    pub(crate) const fn only(kind: Kind) -> Self {
        Self { kinds: kind.bit(), coerce: None, callback: None }
    }

    /// Values of one kind, and values that convert to it.
    pub(crate) const fn coerced(kind: Kind) -> Self {
        Self { kinds: kind.bit(), coerce: Some(kind), callback: None }
    }

    /// Additionally values of another kind.
    pub(crate) const fn or(self, kind: Kind) -> Self {
        Self { kinds: self.kinds | kind.bit(), ..self }
    }

    /// A function that will be called with this number of arguments.
    pub(crate) const fn callback(arity: usize) -> Self {
        Self { kinds: Kind::Function.bit(), coerce: None, callback: Some(arity) }
    }

    pub(crate) fn takes(self, kind: Kind) -> bool {
        self.kinds & kind.bit() != 0
    }

    /// The names of the kinds, for messages.
    pub(crate) fn describe(self) -> String {
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
    pub(crate) const fn new(params: &'static [Param], run: NativeFn) -> Self {
        Self { params, optional: 0, run }
    }

    /// The last parameters may be left out.
    pub(crate) const fn optional(self, optional: usize) -> Self {
        Self { optional, ..self }
    }

    pub(crate) fn takes_count(&self, count: usize) -> bool {
        count <= self.params.len() && count + self.optional >= self.params.len()
    }
}

impl Native {
    pub(crate) const fn new(name: &'static str, overloads: &'static [Overload]) -> Self {
        Self { name, overloads }
    }

    /// The number of arguments with which a function at this index will be called.
    pub(crate) fn callback(&self, index: usize) -> Option<usize> {
        self.overloads.iter().find_map(|overload| overload.params.get(index)?.callback)
    }

    pub(crate) fn takes_count(&self, count: usize) -> bool {
        self.overloads.iter().any(|overload| overload.takes_count(count))
    }

    /// The parameter lists, for messages.
    pub(crate) fn describe(&self) -> String {
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

/// The maximum number of arguments of a library function.
const MAX_ARGS: usize = 4;

/// The arguments of a call; a library function gets them in their declared kinds.
#[derive(Debug, Default)]
pub(crate) struct Args {
    values: [Value; MAX_ARGS],
    len: usize,
}

impl Args {
    pub(crate) fn push(&mut self, value: Value) {
        if let Some(index) = self.values.get_mut(self.len) {
            *index = value;
            self.len += 1;
        }
    }

    pub(crate) fn as_slice(&self) -> &[Value] {
        self.values.get(..self.len).unwrap_or(&self.values)
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The value at an index; null if it was left out.
    pub(crate) fn take(&mut self, index: usize) -> Value {
        self.values.get_mut(index).map(std::mem::take).unwrap_or_default()
    }

    pub(crate) fn get(&self, index: usize) -> &Value {
        self.values.get(index).map_or(&Value::Null, Value::bare)
    }

    pub(crate) fn has(&self, index: usize) -> bool {
        index < self.len && !self.get(index).is_null()
    }

    pub(crate) fn text(&self, index: usize) -> Text {
        match self.get(index) {
            Value::Text(text) | Value::Uri(text) => text.clone(),
            Value::Key(key) => key.name().clone(),
            _ => Text::from(""),
        }
    }

    pub(crate) fn number(&self, index: usize) -> Number {
        match self.get(index) {
            Value::Number(number) => number.clone(),
            _ => Number::ZERO,
        }
    }

    /// A number without its fraction, limited to the range of the type.
    pub(crate) fn int(&self, index: usize) -> i64 {
        let number = self.number(index);
        number.to_i64().unwrap_or(if number.is_negative() { i64::MIN } else { i64::MAX })
    }

    /// A number that counts something; negative ones become zero.
    pub(crate) fn count(&self, index: usize) -> usize {
        usize::try_from(self.int(index)).unwrap_or(0)
    }

    /// The same, rounded up.
    pub(crate) fn count_up(&self, index: usize) -> usize {
        let number = self.number(index);
        let fraction = usize::from(!number.is_integer() && !number.is_negative());
        self.count(index).saturating_add(fraction)
    }

    pub(crate) fn object(&self, index: usize) -> Arc<Object> {
        match self.get(index) {
            Value::Object(object) => Arc::clone(object),
            _ => Arc::default(),
        }
    }

    /// An array; a range is expanded, and the caller is charged for it.
    pub(crate) fn array(&self, index: usize, eval: &mut Eval<'_>) -> Result<Arc<Array>> {
        match self.get(index) {
            Value::Array(items) => Ok(Arc::clone(items)),
            Value::Range(range) => {
                eval.charge(range.len())?;
                let items: Vec<Value> = range.iter().map(Value::from).collect();
                Ok(Arc::new(Array::from(items)))
            }
            _ => Ok(Arc::default()),
        }
    }

    pub(crate) fn regex(&self, index: usize) -> Option<Arc<Pattern>> {
        match self.get(index) {
            Value::Regex(pattern) => Some(Arc::clone(pattern)),
            _ => None,
        }
    }

    pub(crate) fn binary(&self, index: usize) -> Arc<[u8]> {
        match self.get(index) {
            Value::Binary(bytes) => Arc::clone(bytes),
            _ => Arc::from([]),
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
