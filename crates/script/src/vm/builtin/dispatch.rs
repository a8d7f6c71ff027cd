//! Dispatch from library functions to their modules only.

use crate::awaitable::CombinatorMode;
use crate::library::{Builtin, Method};
use crate::vm::{Machine, Value, VmResult};

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
        if let Some(mode) = CombinatorMode::of(function) {
            return self.combine(mode, &arg(args, 0));
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
            Builtin::MakeError | Builtin::MakeTypeError | Builtin::MakeRangeError => {
                self.make_error(function, args)
            }
            Builtin::TimeNow
            | Builtin::TimeAdd
            | Builtin::TimeDiff
            | Builtin::TimeFormat
            | Builtin::DateNow => self.time(function, args),
            Builtin::CryptoUuid => Ok(self.uuid()),
            Builtin::JsonParse => {
                let text = self.string_of(&arg(args, 0))?;
                self.json_parse(text.as_str())
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
            Builtin::ArrayFrom => self.array_from(&arg(args, 0)),
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
            (Value::Int(_) | Value::Float(_) | Value::Verbatim(_), _) => {
                self.number_method(receiver, method, args)
            }
            (_, Method::ToString) => {
                let text = self.text_of(receiver)?;
                self.new_text(text).map(Some)
            }
            (Value::Record(at), Method::HasOwnProperty) => {
                let name = self.property_name(&arg(args, 0))?;
                let record = self.heap.records.get(*at);
                Ok(Some(Value::Bool(record.is_some_and(|it| it.get(&name).is_some()))))
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
