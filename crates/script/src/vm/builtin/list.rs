//! Methods of lists without callbacks.

use super::dispatch::arg;
use super::text::{has_own, index_or_minus_one};
use crate::library::Method;
use crate::vm::{ListRef, Machine, Part, Value, VmResult, range_error, unsupported};

/// The nesting depth up to which lists are joined or flattened.
const MAX_FLATTEN_DEPTH: usize = 64;

impl Machine<'_> {
    pub(super) fn list_method(
        &mut self,
        at: ListRef,
        method: Method,
        args: &[Value],
    ) -> VmResult<Option<Value>> {
        Ok(Some(match method {
            Method::Push | Method::Unshift => self.insert(at, method, args)?,
            Method::Pop => self.list_mut(at).and_then(Vec::pop).unwrap_or_default(),
            Method::Shift => {
                self.spend(self.length(at) / 8);
                let list = self.list_mut(at).filter(|list| !list.is_empty());
                list.map(|list| list.remove(0)).unwrap_or_default()
            }
            Method::Includes => {
                let found = self.find_item(at, method, args)?;
                Value::Bool(found.is_some())
            }
            Method::IndexOf => index_or_minus_one(self.find_item(at, method, args)?),
            Method::LastIndexOf => self.last_index_of(at, args)?,
            Method::Concat => self.concat(at, args)?,
            Method::Slice => self.slice(at, args)?,
            Method::Splice => self.splice(at, args)?,
            Method::Reverse => {
                self.spend(self.length(at) / 8);
                self.list_mut(at).into_iter().for_each(|list| list.reverse());
                Value::List(at)
            }
            Method::Join => {
                let separator = match arg(args, 0) {
                    Value::Undefined => ",".to_owned(),
                    other => self.text_of(&other)?,
                };
                let text = self.joined(&Value::List(at), &separator, 0)?;
                self.new_text(text)?
            }
            Method::Flat => {
                let depth = usize::try_from(self.whole_number(&arg(args, 0), 1)?).unwrap_or(0);
                let (mut items, mut visits) = (Vec::new(), 0);
                self.flatten(at, depth, 0, &mut items, &mut visits)?;
                self.new_list(items)?
            }
            Method::FindLast | Method::FindLastIndex | Method::ReduceRight => {
                self.search_backwards(at, method, args)?
            }
            Method::ToSorted => {
                let items = self.items(at);
                let sorted = self.sorted_copy(items, &arg(args, 0))?;
                self.new_list(sorted)?
            }
            Method::ToReversed => {
                let mut items = self.items(at);
                items.reverse();
                self.new_list(items)?
            }
            Method::ToSpliced => {
                let items = self.items(at);
                let Value::List(copy) = self.new_list(items)? else { return Ok(None) };
                self.splice(copy, args)?;
                Value::List(copy)
            }
            Method::With => self.with_item(at, args)?,
            Method::Keys | Method::Values | Method::Entries => {
                let part = match method {
                    Method::Keys => Part::Key,
                    Method::Values => Part::Value,
                    _ => Part::Entry,
                };
                self.new_iterator(Value::List(at), part)
            }
            Method::CopyWithin => self.copy_within(at, args)?,
            Method::At => self.item_at(at, args)?,
            Method::Fill => self.fill(at, args)?,
            Method::HasOwnProperty => {
                let name = self.property_name(&arg(args, 0))?;
                Value::Bool(has_own(&name, self.length(at)))
            }
            _ => return Ok(None),
        }))
    }

    fn last_index_of(&mut self, at: ListRef, args: &[Value]) -> VmResult<Value> {
        let items = self.items(at);
        let wanted = arg(args, 0);
        let most = match args.get(1) {
            None => items.len(),
            Some(from) => self.last_index_limit(from, items.len())?,
        };
        let items = items.get(..most).unwrap_or_default();
        Ok(index_or_minus_one(items.iter().rposition(|item| self.is_equal(item, &wanted))))
    }

    fn slice(&mut self, at: ListRef, args: &[Value]) -> VmResult<Value> {
        let length = self.length(at);
        let from = self.relative(&arg(args, 0), length, 0)?;
        let to = self.relative(&arg(args, 1), length, length)?;
        let items = self.heap.lists.get(at).and_then(|list| list.get(from..to.max(from)));
        let items = items.unwrap_or_default().to_vec();
        self.new_list(items)
    }

    /// The item at an index, which counts from the end if it is negative.
    fn item_at(&mut self, at: ListRef, args: &[Value]) -> VmResult<Value> {
        let length = i64::try_from(self.length(at)).unwrap_or(i64::MAX);
        let wanted = self.whole_number(&arg(args, 0), 0)?;
        let wanted = if wanted < 0 { wanted.saturating_add(length) } else { wanted };
        let index = usize::try_from(wanted).ok();
        let list = self.heap.lists.get(at);
        let item = list.zip(index).and_then(|(list, index)| list.get(index));
        Ok(item.cloned().unwrap_or_default())
    }

    fn length(&self, at: ListRef) -> usize {
        self.heap.lists.get(at).map_or(0, Vec::len)
    }

    fn list_mut(&mut self, at: ListRef) -> Option<&mut Vec<Value>> {
        self.heap.lists.get_mut(at)
    }

    /// A copy of the elements; charged.
    fn items(&mut self, at: ListRef) -> Vec<Value> {
        let items = self.heap.lists.get(at).cloned().unwrap_or_default();
        self.spend(items.len() / 4);
        items
    }

    /// `push` and `unshift`: both return the new length.
    fn insert(&mut self, at: ListRef, method: Method, args: &[Value]) -> VmResult<Value> {
        self.check_entries(self.length(at) + args.len())?;
        self.heap.grow(args.len());
        if method == Method::Unshift {
            self.spend(self.length(at) / 8);
        }
        if let Some(list) = self.list_mut(at) {
            let index = if method == Method::Push { list.len() } else { 0 };
            list.splice(index..index, args.iter().cloned());
        }
        self.check_burst()?;
        Ok(Value::Int(i64::try_from(self.length(at)).unwrap_or(i64::MAX)))
    }

    /// The number of elements that `lastIndexOf` searches.
    fn last_index_limit(&mut self, from: &Value, length: usize) -> VmResult<usize> {
        let from = self.whole_number(from, 0)?;
        let length_int = i64::try_from(length).unwrap_or(i64::MAX);
        let last = if from < 0 { from.saturating_add(length_int) } else { from };
        Ok(usize::try_from(last.saturating_add(1)).unwrap_or(0).min(length))
    }

    fn find_item(
        &mut self,
        at: ListRef,
        method: Method,
        args: &[Value],
    ) -> VmResult<Option<usize>> {
        let wanted = arg(args, 0);
        let from = self.relative(&arg(args, 1), self.length(at), 0)?;
        self.spend(self.length(at).saturating_sub(from) / 4);
        let list = self.heap.lists.get(at).map_or(&[][..], |list| list);
        let rest = list.get(from..).unwrap_or_default();
        // `includes` finds NaN, `indexOf` does not.
        let is_wanted = |item: &Value| match method {
            Method::Includes => self.is_same(item, &wanted),
            _ => self.is_equal(item, &wanted),
        };
        Ok(rest.iter().position(is_wanted).map(|index| index + from))
    }

    fn concat(&mut self, at: ListRef, args: &[Value]) -> VmResult<Value> {
        let mut items = self.items(at);
        for value in args {
            match value {
                Value::List(other) => {
                    let more = self.items(*other);
                    items.extend(more);
                }
                other => items.push(other.clone()),
            }
            self.check_entries(items.len())?;
        }
        self.new_list(items)
    }

    /// Replaces a range of elements; returns the removed ones.
    fn splice(&mut self, at: ListRef, args: &[Value]) -> VmResult<Value> {
        let length = self.length(at);
        let from = self.relative(&arg(args, 0), length, 0)?;
        let count = match args.get(1) {
            None if args.is_empty() => 0,
            None => length - from,
            Some(count) => {
                usize::try_from(self.whole_number(count, 0)?).unwrap_or(0).min(length - from)
            }
        };
        let new = args.get(2..).unwrap_or_default();
        self.check_entries(length - count + new.len())?;
        self.heap.grow(new.len());
        self.spend(length / 8);
        let removed = self.list_mut(at).map(|list| {
            list.splice(from..from + count, new.iter().cloned()).collect::<Vec<Value>>()
        });
        self.new_list(removed.unwrap_or_default())
    }

    fn fill(&mut self, at: ListRef, args: &[Value]) -> VmResult<Value> {
        let length = self.length(at);
        let from = self.relative(&arg(args, 1), length, 0)?;
        let to = self.relative(&arg(args, 2), length, length)?;
        self.spend(length / 8);
        let part = self.list_mut(at).and_then(|list| list.get_mut(from..to.max(from)));
        if let Some(part) = part {
            part.fill(arg(args, 0));
        }
        Ok(Value::List(at))
    }

    /// A copy with another element at an index.
    fn with_item(&mut self, at: ListRef, args: &[Value]) -> VmResult<Value> {
        let mut items = self.items(at);
        let length = i64::try_from(items.len()).unwrap_or(i64::MAX);
        let index = self.whole_number(&arg(args, 0), 0)?;
        let index = if index < 0 { index.saturating_add(length) } else { index };
        let slot = usize::try_from(index).ok().and_then(|index| items.get_mut(index));
        match slot {
            Some(slot) => *slot = arg(args, 1),
            None => return Err(range_error("`with` needs an index of the list")),
        }
        self.new_list(items)
    }

    fn copy_within(&mut self, at: ListRef, args: &[Value]) -> VmResult<Value> {
        let length = self.length(at);
        let to = self.relative(&arg(args, 0), length, 0)?;
        let from = self.relative(&arg(args, 1), length, 0)?;
        let end = self.relative(&arg(args, 2), length, length)?;
        let count = end.saturating_sub(from).min(length - to);
        self.spend(length / 8);
        let items = self.items(at);
        let part = items.get(from..from + count).unwrap_or_default();
        if let Some(target) = self.list_mut(at).and_then(|list| list.get_mut(to..to + count)) {
            target.clone_from_slice(part);
        }
        Ok(Value::List(at))
    }

    /// Every visit is charged: a list may contain itself, even several times.
    fn flatten(
        &mut self,
        at: ListRef,
        depth: usize,
        level: usize,
        out: &mut Vec<Value>,
        visits: &mut usize,
    ) -> VmResult<()> {
        for item in self.items(at) {
            *visits += 1;
            self.check_entries(*visits)?;
            match item {
                Value::List(_) if level < depth && level >= MAX_FLATTEN_DEPTH => {
                    return Err(unsupported("the list is nested too deeply to be flat"));
                }
                Value::List(inner) if level < depth => {
                    self.flatten(inner, depth, level + 1, out, visits)?;
                }
                other => out.push(other),
            }
        }
        Ok(())
    }

    /// The concatenated texts of the elements; null and undefined give an empty text.
    pub(crate) fn joined(
        &mut self,
        list: &Value,
        separator: &str,
        depth: usize,
    ) -> VmResult<String> {
        let Value::List(at) = list else { return Ok(String::new()) };
        if depth > MAX_FLATTEN_DEPTH {
            return Err(unsupported("the list is nested too deeply to be a string"));
        }
        let mut text = String::new();
        for (index, item) in self.items(*at).into_iter().enumerate() {
            if index > 0 {
                text.push_str(separator);
            }
            match &item {
                Value::Undefined | Value::Null => {}
                Value::List(_) => text.push_str(&self.joined(&item, ",", depth + 1)?),
                other => text.push_str(&self.text_of(other)?),
            }
            if text.len() > self.limits.string_bytes {
                return Err(range_error("the text of the list is too long"));
            }
        }
        Ok(text)
    }
}
