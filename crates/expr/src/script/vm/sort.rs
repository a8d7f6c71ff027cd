//! `sort`: stable, in place. Without a function numbers by value and texts by their units.

use super::compare::{compare_numbers, compare_texts};
use super::frame::{Frame, SortFrame};
use super::machine::Machine;
use super::raise::{Outcome, corrupt, type_error};
use super::run::Stop;
use super::value::{ListRef, Value};
use std::cmp::Ordering;

impl Machine<'_> {
    /// Begins a sort. True when a frame was made.
    pub(super) fn begin_sort(&mut self, list: ListRef, by: Option<&Value>) -> Outcome<bool> {
        let items = self.heap.lists.get(list).cloned().unwrap_or_default();
        self.spend(items.len());
        match by {
            None | Some(Value::Undefined) => {
                let sorted = self.sort_plainly(items)?;
                if let Some(place) = self.heap.lists.get_mut(list) {
                    *place = sorted;
                }
                self.stack.push(Value::List(list));
                Ok(false)
            }
            Some(callback @ (Value::Function(_) | Value::Builtin(_))) => {
                let callback = callback.clone();
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

    fn sort_plainly(&mut self, mut items: Vec<Value>) -> Outcome<Vec<Value>> {
        // About as many comparisons as a sort needs.
        let steps = items.len().max(2).ilog2() as usize;
        self.spend(items.len().saturating_mul(steps) / 2);
        for item in &items {
            if let Value::Text(text) = item {
                self.spend_bytes(text.bytes().saturating_mul(steps));
            }
        }
        let is_number =
            |it: &Value| matches!(it, Value::Int(_) | Value::Float(_) | Value::Undefined);
        let is_text = |it: &Value| matches!(it, Value::Text(_) | Value::Undefined);
        let all_numbers = items.iter().all(is_number);
        if !all_numbers && !items.iter().all(is_text) {
            return Err(type_error("`sort` of mixed values needs a function that compares them"));
        }
        items.sort_by(|one, other| match (one, other) {
            // What is undefined comes last.
            (Value::Undefined, Value::Undefined) => Ordering::Equal,
            (Value::Undefined, _) => Ordering::Greater,
            (_, Value::Undefined) => Ordering::Less,
            (Value::Text(one), Value::Text(other)) => compare_texts(one.as_str(), other.as_str()),
            _ => compare_numbers(one, other).unwrap_or(Ordering::Equal),
        });
        Ok(items)
    }

    /// Takes the result of the last comparison, if there is one, and asks for the next.
    pub(super) fn sort_step(&mut self, mut result: Option<Value>) -> Outcome<Option<Stop>> {
        loop {
            let Some(Frame::Sort(frame)) = self.frames.last() else {
                return Err(corrupt("no sort"));
            };
            let mut frame = frame.clone();
            if let Some(value) = result.take() {
                let left_first = match &value {
                    Value::Int(order) => *order <= 0,
                    Value::Float(order) => *order <= 0.0,
                    other => {
                        let kind = other.kind_name();
                        let text = format!("the function of `sort` gives a number, not {kind}");
                        return Err(type_error(text));
                    }
                };
                self.take_one(&mut frame, left_first)?;
            }
            let total = self.heap.lists.get(frame.from).map_or(0, Vec::len);
            while !self.needs_comparison(&mut frame, total)? {
                if frame.width >= total {
                    return self.end_sort(&frame);
                }
            }
            let pair = self.heap.lists.get(frame.from).map(|from| {
                let at = |place: usize| from.get(place).cloned().unwrap_or_default();
                [at(frame.left), at(frame.right)]
            });
            let [left, right] = pair.ok_or_else(|| corrupt("nothing to sort"))?;
            let callback = frame.callback.clone();
            if let Some(top) = self.frames.last_mut() {
                *top = Frame::Sort(frame);
            }
            if self.is_slice_over() {
                return Ok(Some(Stop::Yield));
            }
            self.check_memory()?;
            match callback {
                Value::Builtin(function) => result = Some(self.builtin(function, &[left, right])?),
                Value::Function(function) => {
                    self.stack.extend([Value::Function(function), left, right]);
                    self.enter(function, 2)?;
                    return Ok(None);
                }
                _ => return Err(corrupt("a sort without a function")),
            }
        }
    }

    /// Moves the smaller of the two next elements.
    fn take_one(&mut self, frame: &mut SortFrame, left_first: bool) -> Outcome<()> {
        let place = if left_first { &mut frame.left } else { &mut frame.right };
        let from = *place;
        *place += 1;
        self.move_range(frame, from, from + 1)
    }

    fn move_range(&mut self, frame: &SortFrame, from: usize, to: usize) -> Outcome<()> {
        let items = self.heap.lists.get(frame.from).and_then(|list| list.get(from..to));
        let items = items.ok_or_else(|| corrupt("nothing to sort"))?.to_vec();
        self.spend(items.len());
        match self.heap.lists.get_mut(frame.to) {
            Some(list) => list.extend(items),
            None => return Err(corrupt("nothing to sort into")),
        }
        Ok(())
    }

    /// Whether two elements must be compared; if not, the sort has moved on.
    fn needs_comparison(&mut self, frame: &mut SortFrame, total: usize) -> Outcome<bool> {
        if frame.width >= total {
            return Ok(false);
        }
        let middle = (frame.start + frame.width).min(total);
        let end = (middle + frame.width).min(total);
        if frame.left < middle && frame.right < end {
            return Ok(true);
        }
        // One run is used up: the rest of the other follows.
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

    fn end_sort(&mut self, frame: &SortFrame) -> Outcome<Option<Stop>> {
        let sorted = self.heap.lists.get(frame.from).cloned().unwrap_or_default();
        if let Some(list) = self.heap.lists.get_mut(frame.list) {
            *list = sorted;
        }
        self.frames.pop();
        self.deliver(Value::List(frame.list))
    }
}
