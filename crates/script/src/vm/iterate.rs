//! `map` and similar methods: one frame that calls a function for each element and can be saved
//! between any two calls.

use super::frame::{Frame, IterationFrame};
use super::machine::Machine;
use super::raise::{VmResult, corrupt, type_error};
use super::run::StopReason;
use super::value::{ListRef, Value};
use crate::library::Method;

impl Machine<'_> {
    /// Starts a method with a callback. True if a frame was created.
    pub(super) fn begin_iteration(
        &mut self,
        method: Method,
        list: ListRef,
        args: &[Value],
    ) -> VmResult<bool> {
        if method == Method::Sort {
            return self.begin_sort(list, args.first());
        }
        let callback = args.first().cloned().unwrap_or_default();
        if !matches!(callback, Value::Function(_) | Value::Builtin(_)) {
            let text =
                format!("`{}` needs a function, not {}", method.name(), callback.kind_name());
            return Err(type_error(text));
        }
        let length = self.heap.lists.get(list).map_or(0, Vec::len);
        let mut next = 0;
        let result = match (method, args.get(1)) {
            (Method::Map | Method::Filter | Method::FlatMap, _) => self.heap.new_list(Vec::new()),
            (Method::Reduce, Some(initial)) => initial.clone(),
            (Method::Reduce, None) => {
                next = 1;
                let first = self.heap.lists.get(list).and_then(|it| it.first()).cloned();
                first.ok_or_else(|| type_error("`reduce` of an empty list needs a first value"))?
            }
            _ => Value::Undefined,
        };
        self.push_frame(Frame::Iteration(IterationFrame {
            method,
            list,
            callback,
            next,
            length,
            current: Value::Undefined,
            result,
        }))?;
        Ok(true)
    }

    pub(super) fn push_frame(&mut self, frame: Frame) -> VmResult<()> {
        if self.frames.len() >= self.limits.call_depth {
            let text = format!("more than {} calls within calls", self.limits.call_depth);
            return Err(super::raise::limit("call_depth_limit", text));
        }
        self.frames.push(frame);
        Ok(())
    }

    /// Accepts the result of the last call, if there is one, and makes the next call.
    pub(super) fn iterate(&mut self, mut result: Option<Value>) -> VmResult<Option<StopReason>> {
        loop {
            let Some(Frame::Iteration(frame)) = self.frames.last() else {
                return Err(corrupt("no iteration"));
            };
            if let Some(value) = result.take() {
                let frame = frame.clone();
                if let Some(done) = self.accept_element_result(&frame, value)? {
                    return self.end_iteration(done);
                }
            }
            let Some(Frame::Iteration(frame)) = self.frames.last() else {
                return Err(corrupt("no iteration"));
            };
            let element = self.heap.lists.get(frame.list).and_then(|list| list.get(frame.next));
            let element = match element {
                _ if frame.next >= frame.length => None,
                // The list became shorter: `find` sees undefined elements, other methods end
                // earlier.
                None if matches!(frame.method, Method::Find | Method::FindIndex) => {
                    Some(Value::Undefined)
                }
                other => other.cloned(),
            };
            let Some(element) = element else {
                let (done, missing) = (finished(frame), frame.length.saturating_sub(frame.next));
                if frame.method == Method::Map && missing > 0 {
                    let frame = frame.clone();
                    self.collect_element_result(&frame, vec![Value::Undefined; missing])?;
                }
                return self.end_iteration(done);
            };
            let no_room = match &frame.callback {
                Value::Builtin(function) => !self.has_room(*function),
                _ => false,
            };
            if self.is_slice_over() || no_room {
                return Ok(Some(StopReason::Yield));
            }
            self.check_memory()?;
            result = self.call_for_element(element)?;
            if result.is_none() {
                return Ok(None);
            }
        }
    }

    /// Calls the function for an element; a library function returns at once.
    fn call_for_element(&mut self, element: Value) -> VmResult<Option<Value>> {
        let Some(Frame::Iteration(frame)) = self.frames.last_mut() else {
            return Err(corrupt("no iteration"));
        };
        let index = Value::Int(i64::try_from(frame.next).unwrap_or(i64::MAX));
        frame.next += 1;
        frame.current = element.clone();
        let mut args = Vec::with_capacity(5);
        if frame.method == Method::Reduce {
            args.push(frame.result.clone());
        }
        args.push(element);
        match frame.callback.clone() {
            // A library function gets at most the arguments it accepts, as in JavaScript.
            Value::Builtin(function) => {
                args.extend([index, Value::List(frame.list)]);
                if let Some(most) = function.arity().1 {
                    args.truncate(most);
                }
                self.builtin(function, &args).map(Some)
            }
            Value::Function(function) => {
                args.extend([index, Value::List(frame.list)]);
                if let Some(native) = self.native_of(function) {
                    return self.call_native(&native, &args).map(Some);
                }
                let count = args.len();
                self.stack.push(Value::Function(function));
                self.stack.extend(args);
                self.enter(function, count)?;
                Ok(None)
            }
            _ => Err(corrupt("an iteration without a function")),
        }
    }

    /// Accepts the result for one element; returns the final result when it is decided.
    fn accept_element_result(
        &mut self,
        frame: &IterationFrame,
        value: Value,
    ) -> VmResult<Option<Value>> {
        let index = i64::try_from(frame.next.saturating_sub(1)).unwrap_or(i64::MAX);
        let holds = value.is_truthy();
        match frame.method {
            Method::Map => self.collect_element_result(frame, vec![value])?,
            Method::Filter if holds => {
                self.collect_element_result(frame, vec![frame.current.clone()])?;
            }
            Method::FlatMap => {
                let items = match &value {
                    Value::List(_) => self.elements(&value)?,
                    _ => vec![value],
                };
                self.collect_element_result(frame, items)?;
            }
            Method::Reduce => {
                if let Some(Frame::Iteration(frame)) = self.frames.last_mut() {
                    frame.result = value;
                }
            }
            Method::Find if holds => return Ok(Some(frame.current.clone())),
            Method::FindIndex if holds => return Ok(Some(Value::Int(index))),
            Method::Some if holds => return Ok(Some(Value::Bool(true))),
            Method::Every if !holds => return Ok(Some(Value::Bool(false))),
            _ => {}
        }
        Ok(None)
    }

    fn collect_element_result(
        &mut self,
        frame: &IterationFrame,
        values: Vec<Value>,
    ) -> VmResult<()> {
        let Value::List(at) = &frame.result else { return Err(corrupt("no list to gather in")) };
        self.heap.grow(values.len());
        let Some(list) = self.heap.lists.get_mut(*at) else {
            return Err(corrupt("no list to gather in"));
        };
        list.extend(values);
        let count = list.len();
        self.check_entries(count)?;
        self.check_burst()
    }

    fn end_iteration(&mut self, value: Value) -> VmResult<Option<StopReason>> {
        self.frames.pop();
        self.deliver_result(value)
    }
}

/// The result after the last element.
fn finished(frame: &IterationFrame) -> Value {
    match frame.method {
        Method::FindIndex => Value::Int(-1),
        Method::Some => Value::Bool(false),
        Method::Every => Value::Bool(true),
        Method::Find | Method::ForEach => Value::Undefined,
        _ => frame.result.clone(),
    }
}
