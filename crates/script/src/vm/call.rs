//! Calls of script functions, methods and library functions, and their returns.

use super::frame::{Frame, ScriptFrame};
use super::heap::Closure;
use super::machine::Machine;
use super::raise::{VmResult, corrupt, limit, range_error, type_error, unsupported};
use super::run::{LoopControl, StopReason};
use super::text::Text;
use super::value::{CellRef, FunctionRef, Value};
use crate::check::closest;
use crate::compile::{CaptureFrom, Op};
use crate::library::{Builtin, Kind, Method, is_inherited};
use crate::promise::is_promise_method;

/// The most arguments of a call with a spread.
const MAX_SPREAD_ARGUMENTS: usize = 10_000;

impl Machine<'_> {
    /// Performs a call whose arguments are on the stack. True if a new frame was created.
    pub(super) fn call(&mut self, op: Op) -> VmResult<bool> {
        match op {
            Op::Call(args) => self.call_value(args as usize),
            Op::CallSpread => {
                let args = self.spread()?;
                self.call_value(args)
            }
            Op::CallMethod { name, args } => self.call_method(name, args as usize),
            Op::CallMethodSpread(name) => {
                let args = self.spread()?;
                self.call_method(name, args)
            }
            Op::CallBuiltin { function, args } => self.call_library(function, args as usize),
            Op::CallThis(args) => self.call_with_receiver(args as usize),
            Op::CallThisSpread => {
                let args = self.spread()?;
                self.call_with_receiver(args)
            }
            Op::CallFields => self.call_fields(),
            Op::Construct(args) => self.construct(args as usize),
            Op::ConstructSpread => {
                let args = self.spread()?;
                self.construct(args)
            }
            Op::SuperConstruct(args) => self.construct_parent(args as usize),
            Op::SuperConstructSpread => {
                let args = self.spread()?;
                self.construct_parent(args)
            }
            Op::CallBuiltinSpread(function) => {
                let args = self.spread()?;
                self.call_library(function, args)
            }
            _ => Err(corrupt("a call that is none")),
        }
    }

    /// Whether the turn has room for the effects of a call, if it has any.
    pub(super) fn has_room_for(&self, op: Op) -> bool {
        let function = match op {
            Op::CallBuiltin { function, .. } | Op::CallBuiltinSpread(function) => function,
            Op::Call(args) => {
                let position = self.stack.len().checked_sub(args as usize + 1);
                match position.and_then(|position| self.stack.get(position)) {
                    Some(Value::Builtin(function)) => *function,
                    _ => return true,
                }
            }
            _ => return true,
        };
        self.has_room(function)
    }

    pub(super) fn has_room(&self, function: Builtin) -> bool {
        // A wait for a signal may need a second effect for its timer.
        !function.is_effect() || self.host.has_room(2)
    }

    /// Replaces the list on top by its elements as arguments.
    fn spread(&mut self) -> VmResult<usize> {
        let Value::List(at) = self.pop() else { return Err(corrupt("no arguments")) };
        let items = self.heap.lists.get(at).cloned().unwrap_or_default();
        if items.len() > MAX_SPREAD_ARGUMENTS {
            return Err(range_error(format!("more than {MAX_SPREAD_ARGUMENTS} arguments")));
        }
        let count = items.len();
        self.stack.extend(items);
        Ok(count)
    }

    /// A call whose receiver is below the function.
    fn call_with_receiver(&mut self, args: usize) -> VmResult<bool> {
        let Some(position) = self.stack.len().checked_sub(args + 2) else {
            return Err(corrupt("a call without a receiver"));
        };
        let this = self.stack.remove(position);
        self.call_value_with(args, this)
    }

    fn call_value(&mut self, args: usize) -> VmResult<bool> {
        self.call_value_with(args, Value::Undefined)
    }

    pub(super) fn call_value_with(&mut self, args: usize, this: Value) -> VmResult<bool> {
        let position = self.stack.len().checked_sub(args + 1);
        match position.and_then(|position| self.stack.get(position)).cloned() {
            Some(Value::Function(function)) => {
                if let Some(native) = self.native_of(function) {
                    let args = self.pop_many(args);
                    self.pop();
                    let value = self.call_native(&native, &args)?;
                    self.stack.push(value);
                    return Ok(false);
                }
                self.enter_with(function, args, this)?;
                Ok(true)
            }
            Some(Value::Builtin(function)) => {
                let args = self.pop_many(args);
                self.pop();
                if function == Builtin::JsonStringify {
                    return self.begin_stringify(&args);
                }
                let value = self.builtin(function, &args)?;
                self.stack.push(value);
                Ok(false)
            }
            Some(other) => {
                Err(type_error(format!("this is not a function but {}", other.kind_name())))
            }
            None => Err(corrupt("a call without a function")),
        }
    }

    fn call_library(&mut self, function: Builtin, args: usize) -> VmResult<bool> {
        let args = self.pop_many(args);
        if function == Builtin::JsonStringify {
            return self.begin_stringify(&args);
        }
        let value = self.builtin(function, &args)?;
        self.stack.push(value);
        Ok(false)
    }

    fn call_method(&mut self, name: u32, args: usize) -> VmResult<bool> {
        let Some(position) = self.stack.len().checked_sub(args + 1) else {
            return Err(corrupt("a call without an object"));
        };
        let receiver = self.stack.get(position).cloned().unwrap_or_default();
        if let Value::Record(_) | Value::Function(_) = &receiver
            && let Some(property) = self.own_function(&receiver, name)?
        {
            if let Some(slot) = self.stack.get_mut(position) {
                *slot = property;
            }
            return self.call_value_with(args, receiver);
        }
        if let Value::Function(_) | Value::Builtin(_) = &receiver
            && let Some(done) = self.call_function_method(name, position, args)?
        {
            return Ok(done);
        }
        if let Value::Awaitable(at) = receiver {
            let args = self.pop_many(args);
            self.pop();
            let text = self.name_constant(name);
            return match self.promise_method(at, text.as_str(), &args)? {
                Some(value) => {
                    self.stack.push(value);
                    Ok(false)
                }
                None => Err(self.no_method(&receiver, name)),
            };
        }
        let Some(method) = self.program.methods.get(name as usize).copied().flatten() else {
            return Err(self.no_method(&receiver, name));
        };
        let kind = self.object_kind(&receiver);
        let Some((_, most)) = kind.and_then(|kind| method.arity(kind)) else {
            return Err(self.no_method(&receiver, name));
        };
        if most.is_some_and(|most| args > most) {
            // Surplus arguments are dropped, as in JavaScript.
            let extra = args.saturating_sub(most.unwrap_or(args));
            self.stack.truncate(self.stack.len().saturating_sub(extra));
        }
        let args = most.map_or(args, |most| args.min(most));
        if let (Value::List(list), true) = (&receiver, method.takes_callback()) {
            let args = self.pop_many(args);
            self.pop();
            return self.begin_iteration(method, *list, &args);
        }
        let args = self.pop_many(args);
        self.pop();
        match self.method(&receiver, method, &args)? {
            Some(value) => {
                self.stack.push(value);
                Ok(false)
            }
            None => Err(self.no_method(&receiver, name)),
        }
    }

    /// The property that a method call finds before the methods of the library.
    fn own_function(&mut self, receiver: &Value, name: u32) -> VmResult<Option<Value>> {
        let text = self.name_constant(name);
        let found = match receiver {
            Value::Record(at) => self.lookup(*at, &text).ok(),
            Value::Function(_) => self.static_method(receiver, &text),
            _ => None,
        };
        match found {
            Some(value @ Value::Accessor(_)) => self.resolve(value, receiver).map(Some),
            other => Ok(other.filter(|it| !it.is_nullish())),
        }
    }

    /// A property of a class or of one that it extends.
    fn static_method(&self, receiver: &Value, name: &Text) -> Option<Value> {
        let mut at = receiver.clone();
        while let Value::Function(function) = at {
            let closure = self.heap.functions.get(function);
            let extra = closure.and_then(|it| it.extra.as_deref())?;
            let own = extra.statics.and_then(|it| self.heap.records.get(it)?.get(name).cloned());
            if own.is_some() {
                return own;
            }
            at = extra.parent.clone();
        }
        None
    }

    /// `call` and `apply` of a function.
    fn call_function_method(
        &mut self,
        name: u32,
        position: usize,
        args: usize,
    ) -> VmResult<Option<bool>> {
        let text = self.name_constant(name);
        match text.as_str() {
            "call" => {
                let this =
                    if args > 0 { self.stack.remove(position + 1) } else { Value::Undefined };
                self.call_value_with(args.saturating_sub(1), this).map(Some)
            }
            "apply" => {
                let given = self.pop_many(args);
                let list = given.get(1).cloned().unwrap_or_default();
                let items = if list.is_nullish() { Vec::new() } else { self.elements(&list)? };
                if items.len() > MAX_SPREAD_ARGUMENTS {
                    let text = format!("more than {MAX_SPREAD_ARGUMENTS} arguments");
                    return Err(range_error(text));
                }
                let count = items.len();
                self.stack.extend(items);
                let this = given.first().cloned().unwrap_or_default();
                self.call_value_with(count, this).map(Some)
            }
            _ => Ok(None),
        }
    }

    fn no_method(&self, receiver: &Value, name: u32) -> super::raise::Raise {
        let name = self.name_constant(name);
        let (name, kind) = (name.as_str(), receiver.kind_name());
        match receiver {
            Value::Undefined | Value::Null => type_error(format!("cannot call `{name}` of {kind}")),
            Value::Awaitable(_) => type_error(format!("an awaitable has no `{name}`: use `await`")),
            Value::Record(_) if !is_inherited(Kind::Record, name) => {
                type_error(format!("the object has no function `{name}`"))
            }
            other => {
                let Some(of) = other.kind() else {
                    return type_error(format!("{kind} has no method `{name}`"));
                };
                // A method of another kind of value is not a misspelling.
                let known = Method::by_name(name).is_some();
                let meant = closest(name, Method::names_of(of)).filter(|_| !known);
                let hint = meant.map_or_else(String::new, |it| format!("; did you mean `{it}`?"));
                let text = format!("{kind} has no method `{name}`{hint}");
                if is_inherited(of, name) { unsupported(text) } else { type_error(text) }
            }
        }
    }

    /// Whether the value on top has a callable property with the name.
    pub(super) fn has_method(&self, name: u32) -> bool {
        let text = self.name_constant(name);
        match self.stack.last() {
            Some(Value::Record(at)) => {
                let property = self.lookup(*at, &text);
                let kind = self.object_kind(&Value::Record(*at)).unwrap_or(Kind::Record);
                match property {
                    Ok(property) => !property.is_nullish(),
                    Err(_) => {
                        let method = Method::by_name(text.as_str());
                        method.and_then(|it| it.arity(kind)).is_some()
                            || is_inherited(Kind::Record, text.as_str())
                    }
                }
            }
            Some(class @ Value::Function(_))
                if self.static_method(class, &text).is_some_and(|it| !it.is_nullish()) =>
            {
                true
            }
            Some(Value::Awaitable(_)) if is_promise_method(text.as_str()) => true,
            Some(other) => {
                // Methods that only JavaScript has are rejected by the call itself.
                let kind = other.kind();
                let method = Method::by_name(text.as_str());
                kind.is_some_and(|kind| {
                    method.and_then(|it| it.arity(kind)).is_some()
                        || is_inherited(kind, text.as_str())
                })
            }
            None => false,
        }
    }

    /// Creates a frame for a function whose arguments are directly above it on the stack.
    pub(super) fn enter(&mut self, function: FunctionRef, args: usize) -> VmResult<()> {
        self.enter_with(function, args, Value::Undefined)
    }

    /// The same, with a receiver.
    pub(crate) fn enter_with(
        &mut self,
        function: FunctionRef,
        args: usize,
        this: Value,
    ) -> VmResult<()> {
        if self.code_of(function)?.is_class {
            return Err(type_error("a class is called without `new`"));
        }
        self.enter_code(function, args, this)
    }

    /// The same for all functions, constructors included.
    pub(super) fn enter_code(
        &mut self,
        function: FunctionRef,
        args: usize,
        this: Value,
    ) -> VmResult<()> {
        self.this_arg = this;
        let Some(closure) = self.heap.functions.get(function) else {
            return Err(corrupt("no such function"));
        };
        let index = closure.function;
        let Some(code) = self.program.functions.get(index as usize) else {
            return Err(corrupt("no such function"));
        };
        if self.frames.len() >= self.limits.call_depth {
            let text = format!("more than {} calls within calls", self.limits.call_depth);
            return Err(limit("call_depth_limit", text));
        }
        let base = self.stack.len().saturating_sub(args);
        let params = code.params as usize;
        if code.rest {
            let extra = self.stack.split_off((base + params).min(self.stack.len()));
            self.stack.resize(base + params, Value::Undefined);
            let rest = self.new_list(extra)?;
            self.stack.push(rest);
        } else if args > params {
            self.stack.truncate(base + params);
        }
        let height = base + code.slots.len().max(params);
        // Variables count as memory, so that deep recursion of large functions is stopped.
        if height > self.limits.value_bytes / size_of::<Value>() {
            let text = format!("values take more than {} bytes", self.limits.value_bytes);
            return Err(limit("value_limit", text));
        }
        self.stack.resize(height, Value::Undefined);
        if code.is_async {
            self.begin_coroutine()?;
        }
        self.frames.push(Frame::Script(ScriptFrame {
            function: index,
            pc: 0,
            base,
            closure: Some(function),
        }));
        Ok(())
    }

    /// Delivers a result to the innermost frame.
    pub(super) fn deliver_result(&mut self, value: Value) -> VmResult<Option<StopReason>> {
        match self.frames.last() {
            // An operation that called takes the value from the stack, like a function.
            Some(Frame::Script(_) | Frame::Native) => {
                self.stack.push(value);
                Ok(None)
            }
            Some(Frame::Iteration(_)) => self.iterate(Some(value)),
            Some(Frame::Sort(_)) => self.sort_step(Some(value)),
            Some(Frame::Stringify(_)) => self.stringify_step(Some(value)),
            Some(Frame::Coroutine(_)) => match self.end_coroutine(Ok(value))? {
                LoopControl::Stop(stop) => Ok(Some(stop)),
                LoopControl::Frame => Ok(None),
            },
            None => Err(corrupt("a return without a caller")),
        }
    }

    pub(super) fn make_closure(&mut self, function: u32, base: usize) -> VmResult<()> {
        let Some(code) = self.program.functions.get(function as usize) else {
            return Err(corrupt("no such function"));
        };
        let mut cells = Vec::with_capacity(code.captures.len());
        for capture in &code.captures {
            cells.push(match capture.from {
                CaptureFrom::Up(up) => self.up(up)?,
                CaptureFrom::Local(slot) => match self.local(base, slot) {
                    Value::Cell(cell) => cell,
                    _ => return Err(corrupt("a variable is not shared")),
                },
            });
        }
        let made = self.heap.function(Closure { function, cells, extra: None });
        self.stack.push(Value::Function(made));
        Ok(())
    }

    /// Where `super` begins to search in the innermost function.
    pub(super) fn current_home(&self) -> Value {
        let closure = match self.frames.last() {
            Some(Frame::Script(frame)) => frame.closure,
            _ => None,
        };
        let closure = closure.and_then(|at| self.heap.functions.get(at));
        closure.and_then(|it| it.extra.as_ref()).map(|it| it.home.clone()).unwrap_or_default()
    }

    /// A variable of an enclosing function.
    pub(super) fn up(&self, up: u32) -> VmResult<CellRef> {
        let closure = match self.frames.last() {
            Some(Frame::Script(frame)) => frame.closure,
            _ => None,
        };
        let closure = closure.and_then(|at| self.heap.functions.get(at));
        let cell = closure.and_then(|it| it.cells.get(up as usize)).copied();
        cell.ok_or_else(|| corrupt("no such shared variable"))
    }

    pub(super) fn new_cell(&mut self, base: usize, slot: u32, value: Value) {
        let cell = self.heap.cell(value);
        self.set_local(base, slot, Value::Cell(cell));
    }

    pub(super) fn load_cell(&self, base: usize, slot: u32) -> VmResult<Value> {
        match self.local(base, slot) {
            Value::Cell(cell) => Ok(self.heap.cells.get(cell).cloned().unwrap_or_default()),
            _ => Err(corrupt("a variable is not shared")),
        }
    }

    pub(crate) fn set_cell(&mut self, cell: CellRef, value: Value) -> VmResult<()> {
        match self.heap.cells.get_mut(cell) {
            Some(position) => {
                *position = value;
                Ok(())
            }
            None => Err(corrupt("no such shared variable")),
        }
    }
}
