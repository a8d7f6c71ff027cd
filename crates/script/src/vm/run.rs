//! The main loop.

use super::arithmetic::{exact_sum, safe};
use std::cmp::Ordering;

use meantime_core::{Fault, Json, pause_point};

use super::class::reference_error;
use super::frame::Frame;
use super::machine::Machine;
use super::raise::{RaiseKind, VmResult, corrupt, type_error};
use super::value::Value;
use crate::compile::{Code, Op};

/// Why the machine stopped.
#[derive(Debug)]
pub enum StopReason {
    /// It waits for an awaitable.
    Waiting,
    /// The slice is used up, or the turn has no room for more effects.
    Yield,
    /// The workflow has returned. Its value is on top of the stack.
    Finished,
    /// An uncaught error. It is on top of the stack.
    Uncaught {
        /// Where it happened: a list of frames, innermost first.
        trace: Json,
    },
}

/// What the loop does after an operation.
pub(crate) enum LoopControl {
    /// Another frame is now the innermost.
    Frame,
    Stop(StopReason),
}

impl Machine<'_> {
    /// Runs until the script waits, yields or ends.
    pub fn run(&mut self) -> Result<StopReason, Fault> {
        let mut next = self.step();
        loop {
            next = match next {
                Ok(LoopControl::Frame) => self.step(),
                Ok(LoopControl::Stop(stop)) => return Ok(stop),
                Err(raise) => match self.thrown(raise) {
                    Ok(error) => self.unwind(error),
                    Err(raise) => match *raise.0 {
                        RaiseKind::Fault(fault) => return Err(self.located(fault)),
                        _ => Err(raise),
                    },
                },
            };
        }
    }

    /// Continues the innermost frame until another one is the innermost.
    pub(super) fn step(&mut self) -> VmResult<LoopControl> {
        match self.frames.last() {
            _ if self.is_parked() => self.next_job(),
            Some(Frame::Script(_)) => self.execute(),
            Some(Frame::Iteration(_)) => self.iterate(None).map(into_next),
            Some(Frame::Sort(_)) => self.sort_step(None).map(into_next),
            Some(Frame::Stringify(_)) => self.stringify_step(None).map(into_next),
            Some(Frame::Native | Frame::Coroutine(_)) | None => Err(corrupt("no frame")),
        }
    }

    /// Performs operations until another frame is the innermost.
    #[expect(clippy::too_many_lines, reason = "one arm per operation, nothing else")]
    fn execute(&mut self) -> VmResult<LoopControl> {
        let Some(Frame::Script(frame)) = self.frames.last() else {
            return Err(corrupt("no script frame"));
        };
        let (base, mut pc) = (frame.base, frame.pc);
        let code = self.code(frame)?;
        let ops: &[Op] = &code.ops;
        // Operations are counted at jumps and calls, not one by one.
        let mut from = pc;
        macro_rules! count {
            () => {{
                let ops = self.ops.wrapping_add((pc - from) as u64);
                pause_point::pass(self.ops, ops);
                self.ops = ops;
            }};
        }
        macro_rules! jump {
            ($to:expr) => {{
                count!();
                pc = $to as usize;
                from = pc;
            }};
        }
        loop {
            let Some(op) = ops.get(pc).copied() else { return Err(corrupt("no operation")) };
            self.pc = pc;
            pc = pc.wrapping_add(1);
            match op {
                Op::Load(slot) => {
                    let value = self.stack.get(base + slot as usize).cloned();
                    self.stack.push(value.unwrap_or_default());
                }
                Op::Store(slot) => {
                    let value = self.pop();
                    self.set_local(base, slot, value);
                }
                Op::Int(value) => self.stack.push(Value::Int(i64::from(value))),
                Op::Const(id) => {
                    let constant = self.program.constants.get(id as usize).cloned();
                    self.stack.push(constant.unwrap_or_default());
                }
                Op::AddTo(slot) => {
                    let value = self.pop();
                    match (self.stack.get_mut(base + slot as usize), &value) {
                        (Some(Value::Int(sum)), Value::Int(more))
                            if exact_sum(*sum, *more).is_some() =>
                        {
                            *sum += more;
                        }
                        _ => self.add_to_local(base, slot, value)?,
                    }
                }
                Op::Increment { slot, by } => match self.stack.get_mut(base + slot as usize) {
                    Some(Value::Int(value)) if exact_sum(*value, i64::from(by)).is_some() => {
                        *value += i64::from(by);
                    }
                    _ => {
                        let old = self.local(base, slot);
                        let new = self.add_int(&old, by)?;
                        self.set_local(base, slot, new);
                    }
                },
                Op::AddInt(by) => match self.stack.last_mut() {
                    Some(Value::Int(value)) if exact_sum(*value, i64::from(by)).is_some() => {
                        *value += i64::from(by);
                    }
                    _ => self.add_small(by)?,
                },
                Op::RemInt(by) => {
                    match self.stack.last_mut() {
                        // The remainder of a negative number may be negative zero.
                        Some(Value::Int(value)) if *value >= 0 && safe(*value) => {
                            *value = value.checked_rem(i64::from(by)).unwrap_or(0);
                        }
                        _ => {
                            self.stack.push(Value::Int(i64::from(by)));
                            self.remainder()?;
                        }
                    }
                }
                Op::Pop => {
                    self.stack.pop();
                }
                Op::Add => self.add()?,
                Op::Sub => self.subtract()?,
                Op::Jump(to) => jump!(to),
                Op::JumpIfFalse(to) => {
                    if !self.pop().is_truthy() {
                        jump!(to);
                    }
                }
                Op::JumpIfTrue(to) => {
                    if self.pop().is_truthy() {
                        jump!(to);
                    }
                }
                Op::JumpIfLt(to) => {
                    if self.compare_top()?.is_some_and(Ordering::is_lt) {
                        jump!(to);
                    }
                }
                Op::JumpIfLe(to) => {
                    if self.compare_top()?.is_some_and(Ordering::is_le) {
                        jump!(to);
                    }
                }
                Op::JumpIfGt(to) => {
                    if self.compare_top()?.is_some_and(Ordering::is_gt) {
                        jump!(to);
                    }
                }
                Op::JumpIfGe(to) => {
                    if self.compare_top()?.is_some_and(Ordering::is_ge) {
                        jump!(to);
                    }
                }
                Op::JumpUnlessLt(to) => {
                    if !self.compare_top()?.is_some_and(Ordering::is_lt) {
                        jump!(to);
                    }
                }
                Op::JumpUnlessLe(to) => {
                    if !self.compare_top()?.is_some_and(Ordering::is_le) {
                        jump!(to);
                    }
                }
                Op::JumpUnlessGt(to) => {
                    if !self.compare_top()?.is_some_and(Ordering::is_gt) {
                        jump!(to);
                    }
                }
                Op::JumpUnlessGe(to) => {
                    if !self.compare_top()?.is_some_and(Ordering::is_ge) {
                        jump!(to);
                    }
                }
                Op::JumpIfEq(to) => {
                    if self.equal_top(false)? {
                        jump!(to);
                    }
                }
                Op::JumpIfNe(to) => {
                    if !self.equal_top(false)? {
                        jump!(to);
                    }
                }
                Op::JumpIfStrictEq(to) => {
                    if self.equal_top(true)? {
                        jump!(to);
                    }
                }
                Op::JumpIfStrictNe(to) => {
                    if !self.equal_top(true)? {
                        jump!(to);
                    }
                }
                Op::JumpIfBelow { slot, limit, to } => {
                    let below = match self.stack.get(base + slot as usize) {
                        Some(Value::Int(value)) => *value < i64::from(limit),
                        _ => self.is_below(base, slot, limit)?,
                    };
                    if below {
                        jump!(to);
                    }
                }
                Op::LoopHead => {
                    if self.is_slice_over() {
                        self.set_pc(pc - 1);
                        return Ok(LoopControl::Stop(StopReason::Yield));
                    }
                    if self.heap.bytes > self.limits.value_bytes {
                        self.check_memory()?;
                    }
                    if self.nested > 0 {
                        count!();
                        from = pc;
                        self.check_nested()?;
                    }
                }
                Op::Await => {
                    if let Some(next) = self.await_top(pc - 1)? {
                        count!();
                        return Ok(next);
                    }
                }
                Op::Call(_)
                | Op::CallMethod { .. }
                | Op::CallBuiltin { .. }
                | Op::CallSpread
                | Op::CallMethodSpread(_)
                | Op::CallThis(_)
                | Op::CallThisSpread
                | Op::CallFields
                | Op::Construct(_)
                | Op::ConstructSpread
                | Op::SuperConstruct(_)
                | Op::SuperConstructSpread
                | Op::CallBuiltinSpread(_) => {
                    count!();
                    from = pc;
                    self.check_nested()?;
                    if self.is_slice_over() || !self.has_room_for(op) {
                        if self.nested > 0 {
                            let text = "nothing more can be started in a function that cannot wait";
                            return Err(type_error(text));
                        }
                        self.set_pc(pc - 1);
                        return Ok(LoopControl::Stop(StopReason::Yield));
                    }
                    self.check_memory()?;
                    // The call may push a frame, so the position to return to is stored first.
                    self.set_pc(pc);
                    if self.call(op)? {
                        return Ok(LoopControl::Frame);
                    }
                }
                Op::Return => {
                    count!();
                    let value = self.pop();
                    self.stack.truncate(base.saturating_sub(1));
                    self.frames.pop();
                    return self.deliver_control(value);
                }
                Op::Finish => {
                    count!();
                    self.set_pc(pc - 1);
                    if self.has_work() {
                        self.parked = self.frames.len();
                        return Ok(LoopControl::Frame);
                    }
                    // Losers are cancelled before the workflow ends; at the end, tasks would be
                    // left running.
                    self.flush_cancellations();
                    let over = self.cancellations.is_empty();
                    return Ok(LoopControl::Stop(if over {
                        StopReason::Finished
                    } else {
                        StopReason::Yield
                    }));
                }
                _ => {
                    if let Some(target) = self.perform(op, base, code)? {
                        jump!(target);
                    }
                }
            }
        }
    }

    /// Operations that are rare in inner loops. Returns the target of a jump.
    #[inline(never)]
    #[expect(clippy::too_many_lines, reason = "one arm per operation, nothing else")]
    fn perform(&mut self, op: Op, base: usize, code: &Code) -> VmResult<Option<usize>> {
        let jump = |to: u32| Ok(Some(to as usize));
        match op {
            Op::Undefined => self.stack.push(Value::Undefined),
            Op::Null => self.stack.push(Value::Null),
            Op::Bool(value) => self.stack.push(Value::Bool(value)),
            Op::NewCell(slot) => self.new_cell(base, slot, Value::Undefined),
            Op::BoxCell(slot) => {
                let value = self.local(base, slot);
                self.new_cell(base, slot, value);
            }
            Op::RenewCell(slot) => {
                let value = self.load_cell(base, slot)?;
                self.new_cell(base, slot, value);
            }
            Op::LoadCell(slot) => {
                let value = self.load_cell(base, slot)?;
                self.stack.push(value);
            }
            Op::StoreCell(slot) => {
                let value = self.pop();
                let Value::Cell(cell) = self.local(base, slot) else {
                    return Err(corrupt("a variable is not shared"));
                };
                self.set_cell(cell, value)?;
            }
            Op::LoadUp(up) => {
                let cell = self.up(up)?;
                let value = self.heap.cells.get(cell).cloned();
                self.stack.push(value.unwrap_or_default());
            }
            Op::StoreUp(up) => {
                let value = self.pop();
                let cell = self.up(up)?;
                self.set_cell(cell, value)?;
            }
            Op::Dup => {
                let value = self.stack.last().cloned();
                self.stack.push(value.unwrap_or_default());
            }
            Op::Dup2 => {
                let from = self.stack.len().saturating_sub(2);
                self.stack.extend_from_within(from..);
            }
            Op::Swap => {
                let (top, below) = (self.pop(), self.pop());
                self.stack.extend([top, below]);
            }
            Op::Rotate => {
                let (top, middle, below) = (self.pop(), self.pop(), self.pop());
                self.stack.extend([middle, top, below]);
            }
            Op::Mul => self.multiply()?,
            Op::Div => self.divide()?,
            Op::Rem => self.remainder()?,
            Op::Pow => self.power()?,
            Op::Eq | Op::Ne => {
                let equal = self.equal_top(false)?;
                self.stack.push(Value::Bool(equal == (op == Op::Eq)));
            }
            Op::StrictEq | Op::StrictNe => {
                let equal = self.equal_top(true)?;
                self.stack.push(Value::Bool(equal == (op == Op::StrictEq)));
            }
            Op::Lt => self.compare_with(Ordering::is_lt)?,
            Op::Le => self.compare_with(Ordering::is_le)?,
            Op::Gt => self.compare_with(Ordering::is_gt)?,
            Op::Ge => self.compare_with(Ordering::is_ge)?,
            Op::In => self.is_in()?,
            Op::Negate => self.negate()?,
            Op::Plus => {
                let value = self.pop();
                let number = self.numeric(&value)?;
                self.stack.push(number);
            }
            Op::TakeThis => {
                let this = std::mem::take(&mut self.this_arg);
                self.stack.push(this);
            }
            Op::TakeTarget => {
                let target = std::mem::take(&mut self.new_target);
                self.stack.push(target);
            }
            Op::TakeHome => {
                let home = self.current_home();
                self.stack.push(home);
            }
            Op::NeedThis => {
                if matches!(self.stack.last(), Some(Value::Undefined)) {
                    return Err(reference_error("`this` is used before `super(…)`"));
                }
            }
            Op::NotYet => {
                if !matches!(self.pop(), Value::Undefined) {
                    return Err(reference_error("`super(…)` is called twice"));
                }
            }
            Op::OrThis => {
                let (this, value) = (self.pop(), self.pop());
                let is_object = matches!(
                    value,
                    Value::Record(_) | Value::List(_) | Value::Function(_) | Value::Awaitable(_)
                );
                if !is_object && matches!(this, Value::Undefined) {
                    return Err(reference_error("the constructor does not call `super(…)`"));
                }
                self.stack.push(if is_object { value } else { this });
            }
            Op::NewClass { derived } => self.new_class(derived)?,
            Op::Define { name, kind } => {
                let name = self.name_constant(name);
                self.define(name, kind)?;
            }
            Op::DefineComputed(kind) => {
                let (function, key) = (self.pop(), self.pop());
                let name = self.property_name(&key)?;
                self.stack.push(function);
                self.define(name, kind)?;
            }
            Op::SetFields { is_static } => self.set_fields(is_static)?,
            Op::DefineField(name) => {
                let name = self.name_constant(name);
                self.define_field(name)?;
            }
            Op::SuperGet(name) => {
                let name = self.name_constant(name);
                self.super_get(&name)?;
            }
            Op::GetCallee(name) => {
                let object = self.stack.last().cloned().unwrap_or_default();
                let value = self.get_property(&object, name)?;
                self.stack.push(value);
            }
            Op::GetCalleeIndex => {
                let index = self.pop();
                let object = self.stack.last().cloned().unwrap_or_default();
                let value = self.callee_at(&object, &index)?;
                self.stack.push(value);
            }
            Op::JumpIfNoCallee(to) => {
                if self.stack.last().is_none_or(Value::is_nullish) {
                    self.pop();
                    self.pop();
                    self.stack.push(Value::Undefined);
                    return jump(to);
                }
            }
            Op::NewRegex { source, flags } => {
                let (source, flags) = (self.name_constant(source), self.name_constant(flags));
                let made = self.make_regex(&source, &flags)?;
                self.stack.push(made);
            }
            Op::Raw => {
                let (raws, texts) = (self.pop(), self.pop());
                if let Value::List(at) = texts {
                    self.set_list_property(at, "raw", raws);
                }
                self.stack.push(texts);
            }
            Op::InstanceOf => {
                let (class, value) = (self.pop(), self.pop());
                let is = self.is_instance(&value, &class)?;
                self.stack.push(Value::Bool(is));
            }
            Op::HasPrivate(name) => {
                let has = self.has_private(name)?;
                self.stack.push(Value::Bool(has));
            }
            Op::BitAnd | Op::BitOr | Op::BitXor | Op::ShiftLeft | Op::ShiftRight => {
                self.bitwise(op)?;
            }
            Op::ShiftRightUnsigned => self.bitwise(op)?,
            Op::BitNot => {
                let value = self.pop();
                let bits = self.bits_of(&value)?;
                self.stack.push(Value::Int(i64::from(!bits)));
            }
            Op::Not => {
                let value = self.pop();
                self.stack.push(Value::Bool(!value.is_truthy()));
            }
            Op::Typeof => {
                let value = self.pop();
                self.stack.push(Value::text(value.type_name()));
            }
            Op::Join(count) => self.join(count as usize)?,
            Op::JumpIfFalseKeep(to) => return Ok(self.keep_if(|it| !it.is_truthy(), to)),
            Op::JumpIfTrueKeep(to) => return Ok(self.keep_if(Value::is_truthy, to)),
            Op::JumpIfPresentKeep(to) => return Ok(self.keep_if(|it| !it.is_nullish(), to)),
            Op::JumpIfDefinedKeep(to) => {
                return Ok(self.keep_if(|it| !matches!(it, Value::Undefined), to));
            }
            Op::JumpIfNothing(to) => {
                if self.stack.last().is_none_or(Value::is_nullish) {
                    self.pop();
                    self.stack.push(Value::Undefined);
                    return jump(to);
                }
            }
            Op::JumpIfNoMethod { name, to } => {
                if !self.has_method(name) {
                    self.pop();
                    self.stack.push(Value::Undefined);
                    return jump(to);
                }
            }
            Op::JumpIfGiven { slot, to } => {
                let value = match self.local(base, slot) {
                    Value::Cell(cell) => self.heap.cells.get(cell).cloned().unwrap_or_default(),
                    value => value,
                };
                if !matches!(value, Value::Undefined) {
                    return jump(to);
                }
            }
            Op::NewList => {
                let list = self.heap.new_list(Vec::new());
                self.stack.push(list);
            }
            Op::Append => self.append()?,
            Op::AppendAll => self.append_all()?,
            Op::NewRecord => {
                let record = self.heap.new_record(super::record::Record::default());
                self.stack.push(record);
            }
            Op::Put(name) => {
                let value = self.pop();
                let name = self.name_constant(name);
                self.put(name, value)?;
            }
            Op::PutComputed => {
                let (value, key) = (self.pop(), self.pop());
                let key = self.property_name(&key)?;
                self.put(key, value)?;
            }
            Op::PutAll => self.put_all()?,
            Op::Get(name) => {
                let object = self.pop();
                let value = self.get_property(&object, name)?;
                self.stack.push(value);
            }
            Op::Set(name) => {
                let (value, object) = (self.pop(), self.pop());
                self.set_property(&object, name, value.clone())?;
                self.stack.push(value);
            }
            Op::GetIndex => {
                let (index, object) = (self.pop(), self.pop());
                let value = self.get_index(&object, &index)?;
                self.stack.push(value);
            }
            Op::SetIndex => {
                let (value, index, object) = (self.pop(), self.pop(), self.pop());
                self.set_index(&object, &index, value.clone())?;
                self.stack.push(value);
            }
            Op::Delete(name) => {
                let object = self.pop();
                let name = Value::Text(self.name_constant(name));
                let gone = self.delete(&object, &name)?;
                self.stack.push(Value::Bool(gone));
            }
            Op::DeleteIndex => {
                let (index, object) = (self.pop(), self.pop());
                let gone = self.delete(&object, &index)?;
                self.stack.push(Value::Bool(gone));
            }
            Op::Update { name, by, prefix } => {
                let object = self.pop();
                let old = self.get_property(&object, name)?;
                let new = self.add_int(&old, by)?;
                self.set_property(&object, name, new.clone())?;
                let shown = if prefix { new } else { self.numeric(&old)? };
                self.stack.push(shown);
            }
            Op::UpdateIndex { by, prefix } => {
                let (index, object) = (self.pop(), self.pop());
                let old = self.get_index(&object, &index)?;
                let new = self.add_int(&old, by)?;
                self.set_index(&object, &index, new.clone())?;
                let shown = if prefix { new } else { self.numeric(&old)? };
                self.stack.push(shown);
            }
            Op::NeedRecord => self.need_record()?,
            Op::NeedList => self.need_list()?,
            Op::RestOfRecord(keys) => self.rest_of_record(keys as usize)?,
            Op::RestOfList(from) => self.rest_of_list(from as usize)?,
            Op::Closure(function) => self.make_closure(function, base)?,
            Op::NewError { function, args } => {
                let args = self.pop_many(args as usize);
                let error = self.make_error(function, &args)?;
                self.stack.push(error);
            }
            Op::InstanceId => {
                let id = self.instance.to_string();
                self.stack.push(Value::text(id));
            }
            Op::InstanceKey => {
                let key = self.host.key().map_or(Value::Null, Value::text);
                self.stack.push(key);
            }
            Op::Throw => return Err(super::raise::Raise::throw(self.pop())),
            Op::Rethrow { value, trace } => {
                if let Value::Text(trace) = self.local(base, trace) {
                    // It may have been saved meanwhile, so it is read again.
                    self.held_trace = Json::parse(trace.as_str()).ok();
                }
                return Err(super::raise::Raise::throw(self.local(base, value)));
            }
            Op::Values => self.values_to_visit()?,
            Op::Keys => self.keys_to_visit()?,
            Op::Next { slot, to } => {
                if !self.next_element(base, slot)? {
                    return jump(to);
                }
            }
            _ => return Err(corrupt(&format!("operation {op:?} in {}", code.name))),
        }
        Ok(None)
    }

    pub(crate) fn set_pc(&mut self, pc: usize) {
        if let Some(Frame::Script(frame)) = self.frames.last_mut() {
            frame.pc = pc;
        }
    }

    pub(crate) fn local(&self, base: usize, slot: u32) -> Value {
        self.stack.get(base + slot as usize).cloned().unwrap_or_default()
    }

    #[inline]
    pub(crate) fn set_local(&mut self, base: usize, slot: u32, value: Value) {
        if let Some(position) = self.stack.get_mut(base + slot as usize) {
            *position = value;
        }
    }

    /// Delivers a result to the innermost frame.
    pub(crate) fn deliver_control(&mut self, value: Value) -> VmResult<LoopControl> {
        self.deliver_result(value).map(into_next)
    }

    fn keep_if(&mut self, keeps: impl Fn(&Value) -> bool, to: u32) -> Option<usize> {
        if self.stack.last().is_some_and(keeps) {
            return Some(to as usize);
        }
        self.pop();
        None
    }
}

/// Whether the machine continues after a result was delivered.
fn into_next(stop: Option<StopReason>) -> LoopControl {
    stop.map_or(LoopControl::Frame, LoopControl::Stop)
}
