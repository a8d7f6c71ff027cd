//! `sort`: stable, in place. Without a function elements are compared as texts by UTF-16 units.
//! Undefined elements come last and are never passed to the function.

use super::compare::compare_texts;
use super::frame::{Frame, SortFrame};
use super::machine::Machine;
use super::raise::{VmResult, corrupt, type_error};
use super::run::StopReason;
use super::value::{ListRef, Value};

impl Machine<'_> {
    /// Starts a sort. True if a frame was created.
    pub(super) fn begin_sort(&mut self, list: ListRef, by: Option<&Value>) -> VmResult<bool> {
        let items = self.heap.lists.get(list).cloned().unwrap_or_default();
        self.spend(items.len());
        match by {
            None | Some(Value::Undefined) => {
                let sorted = self.sort_plainly(items)?;
                if let Some(index) = self.heap.lists.get_mut(list) {
                    *index = sorted;
                }
                self.stack.push(Value::List(list));
                Ok(false)
            }
            Some(callback @ (Value::Function(_) | Value::Builtin(_))) => {
                let callback = callback.clone();
                let mut items = items;
                items.retain(|item| !matches!(item, Value::Undefined));
                let right = 1.min(items.len());
                let from = self.heap.list(items);
                let to = self.heap.list(Vec::new());
                let (width, left, start) = (1, 0, 0);
                let frame = SortFrame { list, callback, from, to, width, left, right, start };
                self.push_frame(Frame::Sort(frame))?;
                Ok(true)
            }
            Some(other) => {
                Err(type_error(format!("`sort` needs a function, not {}", other.kind_name())))
            }
        }
    }

    /// The same for defined elements of a longer list.
    pub(crate) fn sort_plainly_padded(
        &mut self,
        items: Vec<Value>,
        all: usize,
    ) -> VmResult<Vec<Value>> {
        let mut sorted = self.sort_plainly(items)?;
        sorted.resize(all, Value::Undefined);
        Ok(sorted)
    }

    fn sort_plainly(&mut self, mut items: Vec<Value>) -> VmResult<Vec<Value>> {
        // About as many comparisons as a sort needs.
        let steps = items.len().max(2).ilog2() as usize;
        self.spend(items.len().saturating_mul(steps) / 2);
        let all = items.len();
        items.retain(|item| !matches!(item, Value::Undefined));
        let mut keyed = Vec::with_capacity(all);
        for item in items {
            let text = self.string_of(&item)?;
            self.spend_bytes(text.bytes().saturating_mul(steps));
            keyed.push((text, item));
        }
        keyed.sort_by(|one, other| compare_texts(one.0.as_str(), other.0.as_str()));
        let mut sorted: Vec<Value> = keyed.into_iter().map(|(_, item)| item).collect();
        sorted.resize(all, Value::Undefined);
        Ok(sorted)
    }

    /// Accepts the result of the last comparison, if there is one, and starts the next.
    pub(super) fn sort_step(&mut self, mut result: Option<Value>) -> VmResult<Option<StopReason>> {
        loop {
            let Some(Frame::Sort(frame)) = self.frames.last() else {
                return Err(corrupt("no sort"));
            };
            let mut frame = frame.clone();
            if let Some(value) = result.take() {
                // The function was called with the right and the left element, in this order, as
                // other engines do: only a negative result moves the right one first.
                let right_first = self.float_of(&value)? < 0.0;
                self.take_one(&mut frame, !right_first)?;
            }
            let total = self.heap.lists.get(frame.from).map_or(0, Vec::len);
            while !self.needs_comparison(&mut frame, total)? {
                if frame.width >= total {
                    return self.end_sort(&frame);
                }
            }
            let pair = self.heap.lists.get(frame.from).map(|from| {
                let at = |index: usize| from.get(index).cloned().unwrap_or_default();
                [at(frame.left), at(frame.right)]
            });
            let [left, right] = pair.ok_or_else(|| corrupt("nothing to sort"))?;
            let callback = frame.callback.clone();
            if let Some(top) = self.frames.last_mut() {
                *top = Frame::Sort(frame);
            }
            if self.is_slice_over() {
                return Ok(Some(StopReason::Yield));
            }
            self.check_memory()?;
            match callback.clone() {
                Value::Builtin(function) => result = Some(self.builtin(function, &[right, left])?),
                Value::Function(function) if self.native_of(function).is_some() => {
                    result = Some(self.call_now(&callback, Value::Undefined, &[right, left])?);
                }
                Value::Function(function) => {
                    self.stack.extend([Value::Function(function), right, left]);
                    self.enter(function, 2)?;
                    return Ok(None);
                }
                _ => return Err(corrupt("a sort without a function")),
            }
        }
    }

    /// Moves the smaller of the two next elements.
    fn take_one(&mut self, frame: &mut SortFrame, left_first: bool) -> VmResult<()> {
        let index = if left_first { &mut frame.left } else { &mut frame.right };
        let from = *index;
        *index += 1;
        self.move_range(frame, from, from + 1)
    }

    fn move_range(&mut self, frame: &SortFrame, from: usize, to: usize) -> VmResult<()> {
        let items = self.heap.lists.get(frame.from).and_then(|list| list.get(from..to));
        let items = items.ok_or_else(|| corrupt("nothing to sort"))?.to_vec();
        self.spend(items.len());
        match self.heap.lists.get_mut(frame.to) {
            Some(list) => list.extend(items),
            None => return Err(corrupt("nothing to sort into")),
        }
        Ok(())
    }

    /// Whether two elements must be compared; if not, elements were moved without a comparison.
    fn needs_comparison(&mut self, frame: &mut SortFrame, total: usize) -> VmResult<bool> {
        if frame.width >= total {
            return Ok(false);
        }
        let middle = (frame.start + frame.width).min(total);
        let end = (middle + frame.width).min(total);
        if frame.left < middle && frame.right < end {
            return Ok(true);
        }
        // One run is empty: the rest of the other follows.
        self.move_range(frame, frame.left, middle)?;
        self.move_range(frame, frame.right, end)?;
        frame.start = end;
        if frame.start >= total {
            std::mem::swap(&mut frame.from, &mut frame.to);
            if let Some(list) = self.heap.lists.get_mut(frame.to) {
                list.clear();
            }
            frame.width = frame.width.saturating_mul(2);
            frame.start = 0;
        }
        frame.left = frame.start;
        frame.right = (frame.start + frame.width).min(total);
        Ok(false)
    }

    fn end_sort(&mut self, frame: &SortFrame) -> VmResult<Option<StopReason>> {
        let mut sorted = self.heap.lists.get(frame.from).cloned().unwrap_or_default();
        if let Some(list) = self.heap.lists.get_mut(frame.list) {
            sorted.resize(list.len().max(sorted.len()), Value::Undefined);
            *list = sorted;
        }
        self.frames.pop();
        self.deliver_result(Value::List(frame.list))
    }
}
