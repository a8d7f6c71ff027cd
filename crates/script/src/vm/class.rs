//! Classes: created from their constructor, called by `new`.

use super::heap::FunctionExtra;
use super::machine::Machine;
use super::raise::{Raise, RaiseKind, VmResult, corrupt, type_error, unsupported};
use super::record::{Extra, Proto, Record};
use super::text::Text;
use super::value::{FunctionRef, RecordRef, Value};
use crate::ast::Accessor;
use crate::compile::{Code, MethodKind};
use crate::library::Builtin;

impl Machine<'_> {
    /// A class from its parent and its constructor, which are on the stack.
    pub(super) fn new_class(&mut self, derived: bool) -> VmResult<()> {
        let (constructor, parent) = (self.pop(), self.pop());
        let Value::Function(at) = constructor else { return Err(corrupt("no constructor")) };
        let proto = match (&parent, derived) {
            (_, false) => Proto::Object,
            (Value::Null, true) => Proto::Nothing,
            (Value::Builtin(class), true) if class.is_extendable() => Proto::Class(*class),
            (Value::Function(parent), true) => match self.prototype_of(*parent) {
                Some(prototype) => Proto::Record(prototype),
                None => return Err(unsupported("a class extends a class, not a plain function")),
            },
            (Value::Builtin(class), true) => {
                let text = format!("a class that extends `{}`", class.full_name());
                return Err(unsupported(text));
            }
            (other, true) => {
                return Err(type_error(format!("a class cannot extend {}", other.kind_name())));
            }
        };
        let mut prototype = Record::default();
        prototype.set_extra(Extra { proto, ..Extra::default() });
        prototype.set_hidden("constructor".into(), constructor.clone());
        let prototype = self.heap.record(prototype);
        *self.function_extra(at) = FunctionExtra {
            prototype: Some(prototype),
            parent,
            home: Value::Record(prototype),
            ..FunctionExtra::default()
        };
        self.stack.push(constructor);
        Ok(())
    }

    pub(super) fn prototype_of(&self, function: FunctionRef) -> Option<RecordRef> {
        self.heap.functions.get(function)?.extra.as_ref()?.prototype
    }

    /// Adds the function on top to the class or object below it.
    pub(super) fn define(&mut self, name: Text, kind: MethodKind) -> VmResult<()> {
        let function = self.pop();
        let object = self.stack.last().cloned().unwrap_or_default();
        let target = match (&object, kind.in_literal) {
            (Value::Record(at), true) => *at,
            (Value::Function(at), false) if kind.is_static => self.statics_of(*at),
            (Value::Function(at), false) => match self.prototype_of(*at) {
                Some(prototype) => prototype,
                None => return Err(corrupt("no prototype")),
            },
            _ => return Err(corrupt("no class")),
        };
        if let (Value::Function(method), false) = (&function, kind.in_literal) {
            let home = if kind.is_static { object } else { Value::Record(target) };
            self.function_extra(*method).home = home;
        }
        match kind.accessor {
            Some(which) => {
                let (getter, hidden) = (which == Accessor::Get, !kind.in_literal);
                self.set_accessor(target, name, getter, function, hidden)
            }
            None => {
                if let Some(record) = self.heap.records.get_mut(target) {
                    record.set_hidden(name, function);
                }
                self.heap.grow(2);
                self.check_burst()
            }
        }
    }

    /// Sets the function that defines fields; for static fields it stays to be called.
    pub(super) fn set_fields(&mut self, is_static: bool) -> VmResult<()> {
        let fields = self.pop();
        let Some(Value::Function(class)) = self.stack.last().cloned() else {
            return Err(corrupt("no class"));
        };
        if let Value::Function(fields) = fields {
            let home = if is_static {
                Value::Function(class)
            } else {
                self.prototype_of(class).map_or(Value::Undefined, Value::Record)
            };
            self.function_extra(fields).home = home;
        }
        if is_static {
            self.stack.push(fields);
        } else {
            self.function_extra(class).fields = fields;
        }
        Ok(())
    }

    /// Calls the function that defines the fields, for the object below the prototype. True if a
    /// frame was created.
    pub(super) fn call_fields(&mut self) -> VmResult<bool> {
        let (home, this) = (self.pop(), self.pop());
        let fields = match self.constructor_of(&home) {
            Some(class) => {
                let closure = self.heap.functions.get(class);
                closure.and_then(|it| it.extra.as_ref()).map(|it| it.fields.clone())
            }
            None => None,
        };
        match fields {
            Some(Value::Function(fields)) => {
                self.stack.push(Value::Function(fields));
                self.enter_with(fields, 0, this)?;
                Ok(true)
            }
            _ => {
                self.stack.push(Value::Undefined);
                Ok(false)
            }
        }
    }

    /// The class of a prototype.
    fn constructor_of(&self, prototype: &Value) -> Option<FunctionRef> {
        let Value::Record(at) = prototype else { return None };
        match self.heap.records.get(*at)?.get_str("constructor")? {
            Value::Function(class) => Some(*class),
            _ => None,
        }
    }

    pub(super) fn define_field(&mut self, name: Text) -> VmResult<()> {
        let (value, object) = (self.pop(), self.pop());
        let at = match object {
            Value::Record(at) => at,
            Value::Function(at) => self.statics_of(at),
            _ => return Err(corrupt("a field of no object")),
        };
        if Record::is_private(name.as_str()) {
            if let Some(record) = self.heap.records.get_mut(at) {
                record.set_hidden(name, value);
            }
            self.heap.grow(3);
            return self.check_burst();
        }
        self.put_own(at, name, value)
    }

    /// Reads a property of the parent for `this`.
    pub(super) fn super_get(&mut self, name: &Text) -> VmResult<()> {
        let (home, this) = (self.pop(), self.pop());
        let value = match home {
            Value::Record(home) => {
                let parent = match self.heap.records.get(home).map(Record::proto) {
                    Some(Proto::Record(parent)) => self.lookup(parent, name).ok(),
                    _ => None,
                };
                match parent {
                    Some(value) => self.resolve(value, &this)?,
                    None => {
                        let text = format!("`super.{}` of the library", name.as_str());
                        let class = self.heap.records.get(home).map(Record::proto);
                        match class {
                            Some(Proto::Class(_)) => return Err(unsupported(text)),
                            _ => super::property::nothing(&this, name)?,
                        }
                    }
                }
            }
            Value::Function(class) => {
                let closure = self.heap.functions.get(class);
                let parent = closure.and_then(|it| it.extra.as_ref()).map(|it| it.parent.clone());
                match parent {
                    Some(parent @ Value::Function(_)) => self.get_slowly(&parent, name)?,
                    _ => Value::Undefined,
                }
            }
            _ => return Err(corrupt("`super` without a class")),
        };
        self.stack.push(value);
        Ok(())
    }

    /// `new` of the value below the arguments. True if a frame was created.
    pub(super) fn construct(&mut self, args: usize) -> VmResult<bool> {
        let position = self.stack.len().checked_sub(args + 1);
        let callee = position.and_then(|at| self.stack.get(at)).cloned().unwrap_or_default();
        self.construct_for(&callee.clone(), args, &callee)
    }

    /// `super(…)`: below the arguments are the prototype and the constructed class.
    pub(super) fn construct_parent(&mut self, args: usize) -> VmResult<bool> {
        let Some(position) = self.stack.len().checked_sub(args + 2) else {
            return Err(corrupt("`super` without a class"));
        };
        let home = self.stack.remove(position);
        let target = self.stack.get(position).cloned().unwrap_or_default();
        let class = self.constructor_of(&home).ok_or_else(|| corrupt("`super` without a class"))?;
        let closure = self.heap.functions.get(class);
        let parent = closure.and_then(|it| it.extra.as_ref()).map(|it| it.parent.clone());
        let parent = parent.unwrap_or_default();
        if let Some(slot) = self.stack.get_mut(position) {
            *slot = parent.clone();
        }
        self.construct_for(&parent, args, &target)
    }

    fn construct_for(&mut self, class: &Value, args: usize, target: &Value) -> VmResult<bool> {
        match class {
            Value::Function(at) => {
                if self.native_of(*at).is_some() {
                    return Err(type_error("this function is no constructor"));
                }
                let code = self.code_of(*at)?;
                if code.is_async {
                    return Err(type_error("an async function is no constructor"));
                }
                if !code.is_class {
                    let text = "`new` needs a class; a function that is called by `new`";
                    return Err(unsupported(text));
                }
                let extra = self.heap.functions.get(*at).and_then(|it| it.extra.as_ref());
                let is_base = extra.is_none_or(|it| matches!(it.parent, Value::Undefined));
                let this = if is_base {
                    let mut record = Record::default();
                    let proto = self.target_proto(target).unwrap_or_default();
                    record.set_extra(Extra { proto, ..Extra::default() });
                    self.heap.grow(4);
                    self.heap.new_record(record)
                } else {
                    Value::Undefined
                };
                self.new_target = target.clone();
                self.enter_code(*at, args, this)?;
                Ok(true)
            }
            Value::Builtin(function) => {
                let args = self.pop_many(args);
                self.pop();
                if *function == Builtin::MakePromise {
                    return self.construct_promise(&args);
                }
                let made = self.construct_library(*function, &args)?;
                if let (Value::Record(at), Some(proto @ Proto::Record(_))) =
                    (&made, self.target_proto(target))
                    && let Some(record) = self.heap.records.get_mut(*at)
                {
                    record.extra_mut().proto = proto;
                }
                self.stack.push(made);
                Ok(false)
            }
            other => Err(type_error(format!("`new` needs a class, not {}", other.kind_name()))),
        }
    }

    fn target_proto(&self, target: &Value) -> Option<Proto> {
        match target {
            Value::Function(at) => self.prototype_of(*at).map(Proto::Record),
            _ => None,
        }
    }

    pub(super) fn code_of(&self, function: FunctionRef) -> VmResult<&Code> {
        let closure = self.heap.functions.get(function);
        let code = closure.and_then(|it| self.program.functions.get(it.function as usize));
        code.ok_or_else(|| corrupt("no such function"))
    }

    /// `new` of a library class.
    pub(crate) fn construct_library(
        &mut self,
        function: Builtin,
        args: &[Value],
    ) -> VmResult<Value> {
        if function.is_error() {
            return self.make_error(function, args);
        }
        match function {
            Builtin::MakeMap | Builtin::MakeSet => self.new_collection(function, args),
            Builtin::MakeDate => self.new_date(args),
            Builtin::MakeRegex => self.new_regex(args),
            Builtin::MakeObject => self.builtin(function, args),
            Builtin::MakeArray => self.new_array(args),
            other => {
                let text = format!("`{}` is not a class that `new` creates", other.full_name());
                Err(if other.is_class() { unsupported(text) } else { type_error(text) })
            }
        }
    }
}

/// An error with the name `ReferenceError`.
pub(super) fn reference_error(message: &str) -> Raise {
    let (name, code, message) = ("ReferenceError", "ReferenceError", message.to_owned());
    Raise(Box::new(RaiseKind::Error { name, code, message }))
}
