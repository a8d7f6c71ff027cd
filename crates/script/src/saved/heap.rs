//! The reachable part of the heap, renumbered.

use minicbor::data::Tag;

use super::encode::{EncodeResult, Writer};
use super::layout::{
    CANCELLED, DONE, FAILED, FIRST_COMBINATOR, LIST_WITH_PROPERTIES, PENDING, RAW, STATE_FACTOR,
    what_number,
};
use super::promise::{is_native, saved_reactions};
use crate::awaitable::{Awaitable, AwaitableState, COMBINATOR_MODES, Combinator, Kind, Leaf};
use crate::vm::{
    AwaitableRef, CellRef, FunctionRef, ListRef, Machine, ReachableMarks, Record, RecordRef,
    Reference, Value,
};

/// New numbers of the reachable objects, without gaps.
pub(super) struct Numbering {
    pub(super) marks: ReachableMarks,
    lists: Vec<u32>,
    records: Vec<u32>,
    functions: Vec<u32>,
    cells: Vec<u32>,
    awaitables: Vec<u32>,
}

impl Numbering {
    pub(super) fn of(&self, value: &Value) -> u32 {
        let (table, at) = match value {
            Value::List(at) | Value::Accessor(at) => (&self.lists, at.0),
            Value::Record(at) => (&self.records, at.0),
            Value::Function(at) => (&self.functions, at.0),
            Value::Cell(at) => (&self.cells, at.0),
            Value::Awaitable(at) => (&self.awaitables, at.0),
            _ => return 0,
        };
        table.get(at as usize).copied().unwrap_or_default()
    }
}

/// The number of each marked index: the count of marked ones before it.
fn numbers(marks: &[bool]) -> Vec<u32> {
    let mut next = 0;
    marks
        .iter()
        .map(|marked| {
            let number = next;
            next += u32::from(*marked);
            number
        })
        .collect()
}

fn marked<R: Reference>(marks: &[bool]) -> Vec<R> {
    let indices = marks.iter().zip(0u32..).filter(|(marked, _)| **marked);
    indices.map(|(_, at)| R::at(at)).collect()
}

impl Machine<'_> {
    pub(super) fn number_reachable(&self) -> Numbering {
        let marks = self.mark_from(self.saved_roots());
        Numbering {
            lists: numbers(&marks.lists),
            records: numbers(&marks.records),
            functions: numbers(&marks.functions),
            cells: numbers(&marks.cells),
            awaitables: numbers(&marks.awaitables),
            marks,
        }
    }

    /// The sizes of all tables come first, so that every reference can be checked when it is read.
    pub(super) fn write_heap(&self, writer: &mut Writer<'_>) -> EncodeResult {
        let marks = &writer.numbering.marks;
        let lists: Vec<ListRef> = marked(&marks.lists);
        let records: Vec<RecordRef> = marked(&marks.records);
        let functions: Vec<FunctionRef> = marked(&marks.functions);
        let cells: Vec<CellRef> = marked(&marks.cells);
        let awaitables: Vec<AwaitableRef> = marked(&marks.awaitables);
        let sizes = [lists.len(), records.len(), functions.len(), cells.len(), awaitables.len()];
        let total: usize = sizes.iter().sum();
        writer.out.array(6 + total as u64)?;
        sizes.iter().try_for_each(|size| writer.out.u64(*size as u64)?.ok())?;
        let since = self.earliest(&awaitables);
        writer.out.i64(since)?;
        for at in lists {
            let items = self.heap.lists.get(at).map_or(&[][..], |list| list);
            if let Some(props) = self.heap.list_props.get(&at) {
                writer.out.tag(Tag::new(LIST_WITH_PROPERTIES))?.array(2)?;
                writer.value(&Value::Record(*props))?;
            }
            writer.out.array(items.len() as u64)?;
            items.iter().try_for_each(|item| writer.value(item))?;
        }
        for at in records {
            let record = self.heap.records.get(at);
            let entries = record.map_or(&[][..], |it| it.entries());
            let extra = record.and_then(Record::extra);
            writer.out.array(entries.len() as u64 * 2 + u64::from(extra.is_some()))?;
            extra.into_iter().try_for_each(|extra| writer.extra(extra))?;
            for (name, value) in entries {
                writer.text(name)?;
                writer.value(value)?;
            }
        }
        for at in functions {
            self.write_function(writer, at)?;
        }
        for at in cells {
            writer.value(self.heap.cells.get(at).unwrap_or(&Value::Undefined))?;
        }
        for at in awaitables {
            if let Some(awaitable) = self.heap.awaitables.get(at) {
                self.write_reactions(writer, &saved_reactions(&self.heap, awaitable))?;
                write_awaitable(writer, awaitable, since)?;
            }
        }
        Ok(())
    }

    /// The start time of the oldest pending effect; the others are relative to it.
    fn earliest(&self, awaitables: &[AwaitableRef]) -> i64 {
        let pending = awaitables.iter().filter_map(|at| self.heap.awaitables.get(*at));
        let since = pending.filter_map(|it| match (&it.kind, it.is_pending()) {
            (Kind::Leaf(leaf), true) => Some(leaf.since.as_millis()),
            _ => None,
        });
        since.min().unwrap_or_default()
    }

    fn write_function(&self, writer: &mut Writer<'_>, at: FunctionRef) -> EncodeResult {
        let closure = self.heap.functions.get(at);
        let native = closure.filter(|it| is_native(it.function));
        if let Some(native) = native.and_then(|it| it.extra.as_ref()?.native.as_ref()) {
            return writer.native(native);
        }
        let code = closure.and_then(|it| self.program.functions.get(it.function as usize));
        let (Some(closure), Some(code)) = (closure, code) else {
            return writer.out.array(0)?.ok();
        };
        let extra = u64::from(closure.extra.is_some());
        writer.out.array(1 + closure.cells.len() as u64 * 2 + extra)?.u32(code.id)?;
        for (cell, capture) in closure.cells.iter().zip(&code.captures) {
            writer.out.u32(capture.key)?;
            let number = writer.numbering.of(&Value::Cell(*cell));
            writer.out.u32(number)?;
        }
        closure.extra.iter().try_for_each(|extra| writer.function_extra(extra))
    }
}

fn write_awaitable(writer: &mut Writer<'_>, awaitable: &Awaitable, since: i64) -> EncodeResult {
    let state = match &awaitable.state {
        AwaitableState::Pending => PENDING,
        AwaitableState::Raw(_) => RAW,
        AwaitableState::Done(_) => DONE,
        AwaitableState::Failed(_) => FAILED,
        AwaitableState::Cancelled => CANCELLED,
    };
    match &awaitable.kind {
        Kind::Leaf(leaf) => write_leaf(writer, leaf, state, since)?,
        Kind::Combinator(combinator) => write_combinator(writer, combinator, state)?,
        Kind::Promise(promise) => {
            let has_value = !matches!(state, PENDING | CANCELLED);
            writer.promise(promise, state, has_value)?;
        }
    }
    match &awaitable.state {
        AwaitableState::Pending | AwaitableState::Cancelled => Ok(()),
        AwaitableState::Raw(json) => writer.out.str(json.as_str())?.ok(),
        AwaitableState::Done(value) | AwaitableState::Failed(value) => writer.value(value),
    }
}

/// `[kind and state, turn, ordinal, index?, …, value?]`
fn write_leaf(writer: &mut Writer<'_>, leaf: &Leaf, state: u64, since: i64) -> EncodeResult {
    let fields = match (state, leaf.timer) {
        (PENDING, Some(_)) => 8,
        (PENDING, None) => 6,
        (_, _) => 4,
    };
    writer.out.array(fields)?.u64(what_number(leaf.what) * STATE_FACTOR + state)?;
    writer.out.u64(leaf.step.turn)?.u32(leaf.step.ordinal)?;
    if state == PENDING {
        writer.out.u32(leaf.at)?;
        writer.text(&leaf.name)?;
        writer.out.i64(leaf.since.as_millis() - since)?;
        if let Some(timer) = leaf.timer {
            writer.out.u64(timer.turn)?.u32(timer.ordinal)?;
        }
    } else if state == CANCELLED {
        writer.out.u32(leaf.at)?;
    }
    Ok(())
}

/// `[kind and state, number, index, keys, members…]` or `[kind and state, number, value or index]`
fn write_combinator(writer: &mut Writer<'_>, combinator: &Combinator, state: u64) -> EncodeResult {
    let mode = COMBINATOR_MODES.iter().position(|mode| *mode == combinator.mode).unwrap_or_default()
        as u64;
    let fields = if state == PENDING { 4 + combinator.members.len() as u64 } else { 3 };
    writer.out.array(fields)?.u64((FIRST_COMBINATOR + mode) * STATE_FACTOR + state)?;
    writer.out.u32(combinator.number)?;
    if state == CANCELLED {
        return writer.out.u32(combinator.at)?.ok();
    }
    if state != PENDING {
        return Ok(());
    }
    writer.out.u32(combinator.at)?;
    match &combinator.keys {
        None => writer.out.null()?.ok()?,
        Some(keys) => {
            writer.out.array(keys.len() as u64)?;
            keys.iter().try_for_each(|key| writer.text(key))?;
        }
    }
    combinator.members.iter().try_for_each(|member| writer.value(member))
}
