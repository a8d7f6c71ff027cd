//! Dispatch from library functions to their modules only.

use crate::library::{Builtin, Kind, Method};
use crate::vm::{Machine, Record, Value, VmResult};

/// An argument, or `undefined`.
pub(super) fn arg(args: &[Value], index: usize) -> Value {
    args.get(index).cloned().unwrap_or_default()
}

impl Machine<'_> {
    /// Calls a library function.
    pub(crate) fn builtin(&mut self, function: Builtin, args: &[Value]) -> VmResult<Value> {
        check_arity(function, args)?;
        if function.is_effect() {
            return self.effect(function, args);
        }
        if let Some(promise) = self.promise_library(function, args)? {
            return Ok(promise);
        }
        match function {
            Builtin::ToText
            | Builtin::ToNumber
            | Builtin::ToBoolean
            | Builtin::ParseInt
            | Builtin::ParseFloat
            | Builtin::NumberIsInteger
            | Builtin::NumberIsFinite
            | Builtin::NumberIsNaN
            | Builtin::NumberIsSafeInteger
            | Builtin::IsNaN
            | Builtin::IsFinite
            | Builtin::NumberParseInt
            | Builtin::NumberParseFloat => self.convert(function, args),
            _ if function.is_error() => self.make_error(function, args),
            Builtin::MakeObject => match arg(args, 0) {
                Value::Undefined | Value::Null => Ok(self.heap.new_record(Record::default())),
                object @ (Value::Record(_) | Value::List(_) | Value::Function(_)) => Ok(object),
                other => Err(crate::vm::unsupported(format!("an object of {}", other.kind_name()))),
            },
            Builtin::MakeArray => self.new_array(args),
            Builtin::MakeMap | Builtin::MakeSet | Builtin::MakePromise => {
                let name = function.full_name();
                Err(crate::vm::type_error(format!("`{name}` is called without `new`")))
            }
            Builtin::MakeDate => {
                let made = self.new_date(&[])?;
                let text = self.text_of(&made)?;
                self.new_text(text)
            }
            Builtin::MakeRegex => self.new_regex(args),
            Builtin::DateParse | Builtin::DateUtc => self.date_function(function, args),
            Builtin::StructuredClone => self.structured_clone(&arg(args, 0)),
            Builtin::EncodeUriComponent
            | Builtin::DecodeUriComponent
            | Builtin::EncodeUri
            | Builtin::DecodeUri
            | Builtin::Btoa
            | Builtin::Atob => self.encode(function, &arg(args, 0)),
            Builtin::MapGroupBy => self.group_by(args, true),
            Builtin::ObjectGroupBy => self.group_by(args, false),
            Builtin::StringFromCharCode | Builtin::StringFromCodePoint => {
                self.text_from_codes(function, args)
            }
            Builtin::StringRaw => self.raw_template(args),
            Builtin::ObjectHasOwn => {
                let name = self.property_name(&arg(args, 1))?;
                Ok(Value::Bool(self.has_own(&arg(args, 0), &name)))
            }
            Builtin::ObjectFreeze
            | Builtin::ObjectSeal
            | Builtin::ObjectPreventExtensions
            | Builtin::ObjectIsFrozen
            | Builtin::ObjectIsSealed
            | Builtin::ObjectIsExtensible => self.integrity_function(function, &arg(args, 0)),
            Builtin::ObjectCreate => self.object_create(&arg(args, 0)),
            Builtin::ObjectNames => self.own_names(&arg(args, 0)),
            Builtin::TimeNow
            | Builtin::TimeAdd
            | Builtin::TimeDiff
            | Builtin::TimeFormat
            | Builtin::DateNow => self.time(function, args),
            Builtin::CryptoUuid | Builtin::CryptoRandomUuid => Ok(self.uuid()),
            Builtin::JsonParse => {
                let text = self.string_of(&arg(args, 0))?;
                let value = self.json_parse(text.as_str())?;
                match arg(args, 1) {
                    reviver @ Value::Function(_) => self.revive(value, &reviver),
                    _ => Ok(value),
                }
            }
            Builtin::JsonStringify => self.stringify_at_once(args),
            Builtin::ObjectKeys
            | Builtin::ObjectValues
            | Builtin::ObjectEntries
            | Builtin::ObjectAssign
            | Builtin::ObjectFromEntries => self.object_function(function, args),
            Builtin::ObjectIs => {
                let (one, other) = (arg(args, 0), arg(args, 1));
                let is_negative = |it: &Value| match it {
                    Value::Float(it) => *it == 0.0 && it.is_sign_negative(),
                    _ => false,
                };
                let same = self.is_same(&one, &other) && is_negative(&one) == is_negative(&other);
                Ok(Value::Bool(same))
            }
            Builtin::ArrayIsArray => Ok(Value::Bool(matches!(arg(args, 0), Value::List(_)))),
            Builtin::ArrayOf => self.new_list(args.to_vec()),
            Builtin::ArrayFrom => self.array_from(&arg(args, 0), &arg(args, 1)),
            _ => self.math(function, args),
        }
    }

    /// Calls a method of a list, string, number or object; none if it does not exist.
    pub(crate) fn method(
        &mut self,
        receiver: &Value,
        method: Method,
        args: &[Value],
    ) -> VmResult<Option<Value>> {
        match (receiver, method) {
            (Value::Undefined | Value::Null | Value::Awaitable(_), _) => Ok(None),
            (Value::Record(at), _)
                if method != Method::HasOwnProperty
                    && self.object_kind(receiver) != Some(Kind::Record) =>
            {
                let at = *at;
                match self.object_kind(receiver) {
                    Some(Kind::Map | Kind::Set) => self.collection_method(at, method, args),
                    Some(Kind::Date) => self.date_method(at, method, args),
                    Some(Kind::Regex) => self.regex_method(at, method, args),
                    Some(Kind::Iterator) if method == Method::Next => {
                        self.iterator_next(at).map(Some)
                    }
                    _ => Ok(None),
                }
            }
            (_, Method::ValueOf) => Ok(Some(receiver.clone())),
            (Value::Int(_) | Value::Float(_) | Value::Verbatim(_), _) => {
                self.number_method(receiver, method, args)
            }
            (_, Method::ToString) => {
                let text = self.text_of(receiver)?;
                self.new_text(text).map(Some)
            }
            (Value::Record(at), Method::HasOwnProperty) => {
                let name = self.property_name(&arg(args, 0))?;
                Ok(Some(Value::Bool(self.has_own(&Value::Record(*at), &name))))
            }
            (Value::Record(at), Method::PropertyIsEnumerable) => {
                let name = self.property_name(&arg(args, 0))?;
                let own = self.heap.records.get(*at).map(Record::enumerable).unwrap_or_default();
                Ok(Some(Value::Bool(own.iter().any(|(known, _)| known.same(&name)))))
            }
            (Value::List(at), _) => self.list_method(*at, method, args),
            (Value::Text(text), _) => self.text_method(&text.clone(), method, args),
            _ => Ok(None),
        }
    }
}

/// Wrong numbers of arguments are found at deployment, except if arguments are spread or the
/// function is a value.
fn check_arity(function: Builtin, args: &[Value]) -> VmResult<()> {
    let (least, most) = function.arity();
    if args.len() >= least && most.is_none_or(|most| args.len() <= most) {
        return Ok(());
    }
    let name = function.full_name();
    let text = format!("`{name}` is called with {} arguments", args.len());
    Err(crate::vm::unsupported(text))
}
