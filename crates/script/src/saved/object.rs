//! The saved form of objects with classes, of functions with properties, and of lists with
//! properties besides their elements. Plain ones are saved without these parts.

use minicbor::data::Type;

use super::decode::{DecodeResult, Reader, malformed};
use super::encode::{EncodeResult, Writer};
use super::layout::{
    DATE_OBJECT, ERROR_OBJECT, ITERATOR_OBJECT, MAP_OBJECT, REGEX_OBJECT, SET_OBJECT,
};
use crate::library::Builtin;
use crate::vm::{
    Collection, Extra, FunctionExtra, Inner, Integrity, IteratorState, Part, Proto, RecordRef,
    RegexState, Value,
};

const INTEGRITIES: [Integrity; 4] =
    [Integrity::Open, Integrity::NotExtensible, Integrity::Sealed, Integrity::Frozen];
const PARTS: [Part; 3] = [Part::Key, Part::Value, Part::Entry];

fn number_of<T: PartialEq>(all: &[T], one: &T) -> u64 {
    all.iter().position(|known| known == one).and_then(|at| u64::try_from(at).ok()).unwrap_or(0)
}

impl Writer<'_> {
    /// `[prototype, data, hidden names, integrity]`
    pub(super) fn extra(&mut self, extra: &Extra) -> EncodeResult {
        self.out.array(4)?;
        match extra.proto {
            Proto::Object => self.out.null()?.ok()?,
            Proto::Nothing => self.out.undefined()?.ok()?,
            Proto::Record(at) => self.value(&Value::Record(at))?,
            Proto::Class(class) => self.value(&Value::Builtin(class))?,
        }
        self.inner(&extra.inner)?;
        self.out.array(extra.hidden.len() as u64)?;
        extra.hidden.iter().try_for_each(|name| self.text(name))?;
        self.out.u64(number_of(&INTEGRITIES, &extra.integrity))?.ok()
    }

    fn inner(&mut self, inner: &Inner) -> EncodeResult {
        match inner {
            Inner::None => self.out.null()?.ok(),
            Inner::Error => self.out.array(1)?.u64(ERROR_OBJECT)?.ok(),
            Inner::Map(items) => {
                self.out.array(1 + items.len() as u64 * 3)?.u64(MAP_OBJECT)?;
                items.entries().try_for_each(|(number, key, value)| {
                    self.out.u32(number)?;
                    self.value(key)?;
                    self.value(value)
                })
            }
            Inner::Set(items) => {
                self.out.array(1 + items.len() as u64 * 2)?.u64(SET_OBJECT)?;
                items.entries().try_for_each(|(number, key, _)| {
                    self.out.u32(number)?;
                    self.value(key)
                })
            }
            Inner::Date(time) => self.out.array(2)?.u64(DATE_OBJECT)?.f64(*time)?.ok(),
            Inner::Regex(state) => {
                self.out.array(4)?.u64(REGEX_OBJECT)?;
                self.text(&state.source)?;
                self.text(&state.flags)?;
                self.value(&state.last_index)
            }
            Inner::Iterator(state) => {
                self.out.array(4)?.u64(ITERATOR_OBJECT)?;
                self.value(&state.over)?;
                self.out.u64(state.next as u64)?.u64(number_of(&PARTS, &state.part))?.ok()
            }
        }
    }

    /// `[prototype, properties, parent, object of super, function of the fields]`
    pub(super) fn function_extra(&mut self, extra: &FunctionExtra) -> EncodeResult {
        self.out.array(5)?;
        for record in [extra.prototype, extra.statics] {
            self.value(&record.map_or(Value::Undefined, Value::Record))?;
        }
        self.value(&extra.parent)?;
        self.value(&extra.home)?;
        self.value(&extra.fields)
    }
}

impl Reader<'_> {
    pub(super) fn extra(&mut self) -> DecodeResult<Extra> {
        self.expect_array(4)?;
        let proto = match self.value()? {
            Value::Null => Proto::Object,
            Value::Undefined => Proto::Nothing,
            Value::Record(at) => Proto::Record(at),
            Value::Builtin(class) if class.is_class() => Proto::Class(class),
            _ => return malformed("not a prototype"),
        };
        let inner = self.inner()?;
        let count = self.array()?;
        let hidden = (0..count).map(|_| self.text()).collect::<DecodeResult<Vec<_>>>()?;
        let integrity = self.one_of(&INTEGRITIES)?;
        Ok(Extra { proto, inner, hidden, integrity })
    }

    pub(super) fn one_of<T: Copy>(&mut self, all: &[T]) -> DecodeResult<T> {
        let number = usize::try_from(self.from.u64()?).unwrap_or(usize::MAX);
        all.get(number).copied().map_or_else(|| malformed("an unknown number"), Ok)
    }

    fn inner(&mut self) -> DecodeResult<Inner> {
        if self.from.datatype()? == Type::Null {
            self.from.null()?;
            return Ok(Inner::None);
        }
        let fields = self.array()?;
        let kind = self.from.u64()?;
        Ok(match (kind, fields) {
            (ERROR_OBJECT, 1) => Inner::Error,
            (MAP_OBJECT, _) => {
                let mut items = Collection::default();
                for _ in 0..fields.saturating_sub(1) / 3 {
                    let number = self.from.u32()?;
                    let key = self.value()?;
                    let value = self.value()?;
                    items.restore(number, key, value);
                }
                Inner::Map(items)
            }
            (SET_OBJECT, _) => {
                let mut items = Collection::default();
                for _ in 0..fields.saturating_sub(1) / 2 {
                    let number = self.from.u32()?;
                    let key = self.value()?;
                    items.restore(number, key.clone(), key);
                }
                Inner::Set(items)
            }
            (DATE_OBJECT, 2) => Inner::Date(self.from.f64()?),
            (REGEX_OBJECT, 4) => {
                let (source, flags) = (self.text()?, self.text()?);
                Inner::Regex(RegexState { source, flags, last_index: self.value()? })
            }
            (ITERATOR_OBJECT, 4) => {
                let over = self.value()?;
                let next = usize::try_from(self.from.u64()?).unwrap_or(usize::MAX);
                Inner::Iterator(IteratorState { over, next, part: self.one_of(&PARTS)? })
            }
            _ => return malformed("an unknown kind of object"),
        })
    }

    pub(super) fn function_extra(&mut self) -> DecodeResult<FunctionExtra> {
        self.expect_array(5)?;
        let record = |value: Value| -> DecodeResult<Option<RecordRef>> {
            match value {
                Value::Record(at) => Ok(Some(at)),
                Value::Undefined => Ok(None),
                _ => malformed("not an object"),
            }
        };
        let (prototype, statics) = (self.value()?, self.value()?);
        let parent = match self.value()? {
            Value::Builtin(class) if !class.is_class() => return malformed("not a class"),
            parent => parent,
        };
        Ok(FunctionExtra {
            prototype: record(prototype)?,
            statics: record(statics)?,
            parent,
            home: self.value()?,
            fields: self.value()?,
            native: None,
        })
    }

    pub(super) fn builtin(&mut self) -> DecodeResult<Value> {
        let function = Builtin::by_full_name(self.from.str()?);
        function.map_or_else(|| malformed("no such library function"), |it| Ok(Value::Builtin(it)))
    }
}
