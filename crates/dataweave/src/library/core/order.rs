//! Sorting, grouping, minimum and maximum.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use meantime_value::{Entry, Key, Number, Object, Text, Value, ValueSize};

use super::super::super::coerce;
use super::super::super::eval::{Eval, Fault, Result, compare, compare_same_kind};
use super::super::native::{Args, Native, Overload, Param};
use super::super::null::NULL_2;

const ELEMENT_PARAMS: &[Param] = &[Param::ARRAY, Param::callback(2)];
const PAIR_PARAMS: &[Param] = &[Param::OBJECT, Param::callback(2)];

pub(in crate::library) const FUNCTIONS: &[Native] = &[
    Native::new(
        "orderBy",
        &[
            Overload::new(PAIR_PARAMS, order_object),
            Overload::new(ELEMENT_PARAMS, order_array),
            NULL_2,
        ],
    ),
    Native::new(
        "groupBy",
        &[
            Overload::new(ELEMENT_PARAMS, group_array),
            Overload::new(&[Param::TEXT, Param::callback(2)], group_text),
            Overload::new(PAIR_PARAMS, group_object),
            NULL_2,
        ],
    ),
    Native::new(
        "distinctBy",
        &[
            Overload::new(ELEMENT_PARAMS, distinct_array),
            Overload::new(PAIR_PARAMS, distinct_object),
            NULL_2,
        ],
    ),
    Native::new("max", &[Overload::new(&[Param::ARRAY], max)]),
    Native::new("min", &[Overload::new(&[Param::ARRAY], min)]),
    Native::new("maxBy", &[Overload::new(&[Param::ARRAY, Param::callback(1)], max_by)]),
    Native::new("minBy", &[Overload::new(&[Param::ARRAY, Param::callback(1)], min_by)]),
    Native::new("sum", &[Overload::new(&[Param::ARRAY], sum)]),
    Native::new("avg", &[Overload::new(&[Param::ARRAY], average)]),
];

/// Sorts by computed keys; equal keys keep their order.
fn sort<T>(eval: &mut Eval<'_>, mut keyed: Vec<(Value, T)>) -> Result<Vec<T>> {
    let rounds = u64::from(keyed.len().max(1).ilog2()).saturating_add(1);
    // Keys that can be compared with the first can be compared with each other. This makes the
    // order total, which the sort below requires.
    if let Some(((first, _), others)) = keyed.split_first() {
        for (key, _) in others {
            let extent = ValueSize::of(key, *eval.ops());
            eval.charge(extent.ops.saturating_mul(rounds))?;
            compare_same_kind(first, key)?;
        }
    }
    keyed
        .sort_by(|(left, _), (right, _)| compare_same_kind(left, right).unwrap_or(Ordering::Equal));
    Ok(keyed.into_iter().map(|(_, item)| item).collect())
}

fn order_array(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let callback = args.get(1);
    let mut keyed = Vec::new();
    for (index, item) in Eval::items(args.get(0)).enumerate() {
        let key = eval.call(callback, &mut [item.clone(), Value::from(index)])?;
        keyed.push((key, item));
    }
    let sorted = sort(eval, keyed)?;
    eval.array(sorted)
}

fn order_object(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let object = args.object(0);
    let mut keyed = Vec::with_capacity(object.len());
    for entry in object.entries() {
        let key = call_with_pair(eval, args.get(1), entry)?;
        keyed.push((key, entry.clone()));
    }
    let sorted = sort(eval, keyed)?;
    eval.object(sorted.into_iter().collect())
}

fn call_with_pair(eval: &mut Eval<'_>, callback: &Value, entry: &Entry) -> Result {
    eval.call(callback, &mut [entry.value.clone(), Value::Key(entry.key.clone())])
}

/// Groups in the order of their first element.
struct Groups<T> {
    indices: BTreeMap<Text, usize>,
    groups: Vec<(Text, T)>,
}

impl<T: Default> Groups<T> {
    fn new() -> Self {
        Self { indices: BTreeMap::new(), groups: Vec::new() }
    }

    fn group(&mut self, key: &Value) -> Result<&mut T> {
        let name = coerce::to_text(key)?;
        let position = *self.indices.entry(name.clone()).or_insert_with(|| {
            self.groups.push((name, T::default()));
            self.groups.len() - 1
        });
        match self.groups.get_mut(position) {
            Some((_, group)) => Ok(group),
            None => Err(Fault::type_error("a group is missing")),
        }
    }

    fn into_object<'p>(self, eval: &mut Eval<'p>, value: fn(&mut Eval<'p>, T) -> Result) -> Result {
        let mut object = Object::with_capacity(self.groups.len());
        for (name, group) in self.groups {
            let group = value(eval, group)?;
            object.push(Key::new(name), group);
        }
        eval.object(object)
    }
}

fn group_array(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let mut groups: Groups<Vec<Value>> = Groups::new();
    for (index, item) in Eval::items(args.get(0)).enumerate() {
        let key = eval.call(args.get(1), &mut [item.clone(), Value::from(index)])?;
        groups.group(&key)?.push(item);
    }
    groups.into_object(eval, Eval::array)
}

fn group_text(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let mut groups: Groups<String> = Groups::new();
    for (index, unit) in eval.units(&args.text(0))?.into_iter().enumerate() {
        let key = eval.call(args.get(1), &mut [Value::Text(unit.clone()), Value::from(index)])?;
        groups.group(&key)?.push_str(&unit);
    }
    groups.into_object(eval, Eval::text)
}

fn group_object(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let mut groups: Groups<Object> = Groups::new();
    for entry in args.object(0).entries() {
        let key = call_with_pair(eval, args.get(1), entry)?;
        groups.group(&key)?.add(entry.clone());
    }
    groups.into_object(eval, Eval::object)
}

/// Values seen so far; texts and numbers have an index.
#[derive(Default)]
struct SeenValues {
    texts: BTreeSet<Text>,
    numbers: BTreeSet<Number>,
    others: Vec<Value>,
}

impl SeenValues {
    /// Adds a value; returns whether it is new.
    fn insert(&mut self, eval: &mut Eval<'_>, value: Value) -> Result<bool> {
        Ok(match value.into_bare() {
            Value::Text(text) => self.texts.insert(text),
            Value::Number(number) => self.numbers.insert(number),
            other => {
                let mut is_new = true;
                for seen in &self.others {
                    eval.charge(1)?;
                    is_new &= !eval.same(seen, &other)?;
                }
                if is_new {
                    self.others.push(other);
                }
                is_new
            }
        })
    }
}

fn distinct_array(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let mut seen = SeenValues::default();
    let mut kept = Vec::new();
    for (index, item) in Eval::items(args.get(0)).enumerate() {
        let key = eval.call(args.get(1), &mut [item.clone(), Value::from(index)])?;
        if seen.insert(eval, key)? {
            kept.push(item);
        }
    }
    eval.array(kept)
}

fn distinct_object(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let mut seen = SeenValues::default();
    let mut kept = Object::default();
    for entry in args.object(0).entries() {
        let key = call_with_pair(eval, args.get(1), entry)?;
        if seen.insert(eval, key)? {
            kept.add(entry.clone());
        }
    }
    eval.object(kept)
}

/// The first element whose key comes before all others in the given order.
fn best(
    eval: &mut Eval<'_>,
    items: &Value,
    key: impl Fn(&mut Eval<'_>, &Value) -> Result,
    wanted: Ordering,
) -> Result {
    let mut best: Option<(Value, Value)> = None;
    for item in Eval::items(items) {
        eval.charge(1)?;
        let key = key(eval, &item)?;
        let is_better = match &best {
            Some((best, _)) => compare(&key, best)? == wanted,
            None => true,
        };
        if is_better {
            best = Some((key, item));
        }
    }
    Ok(best.map(|(_, item)| item).unwrap_or_default())
}

fn max(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    best(eval, args.get(0), |_, item| Ok(item.clone()), Ordering::Greater)
}

fn min(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    best(eval, args.get(0), |_, item| Ok(item.clone()), Ordering::Less)
}

fn max_by(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let callback = args.get(1);
    best(
        eval,
        args.get(0),
        |eval, item| eval.call(callback, &mut [item.clone()]),
        Ordering::Greater,
    )
}

fn min_by(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let callback = args.get(1);
    best(eval, args.get(0), |eval, item| eval.call(callback, &mut [item.clone()]), Ordering::Less)
}

pub(crate) fn total(eval: &mut Eval<'_>, items: &Value) -> Result<(Number, usize)> {
    let mut sum = Number::ZERO;
    let mut count = 0;
    for item in Eval::items(items) {
        eval.charge(1)?;
        match coerce::to_kind(&item, meantime_value::Kind::Number)? {
            Value::Number(number) => {
                eval.charge(sum.pair_ops(&number))?;
                sum = sum.add(&number)?;
            }
            other => return Err(Fault::expected(meantime_value::Kind::Number, &other)),
        }
        count += 1;
    }
    Ok((sum, count))
}

fn sum(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    Ok(Value::Number(total(eval, args.get(0))?.0))
}

fn average(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let (sum, count) = total(eval, args.get(0))?;
    Ok(Value::Number(sum.div(&Number::from(count))?))
}

impl Eval<'_> {
    /// Sorts by a function that compares two elements: negative, zero or positive.
    pub(crate) fn sort_by_comparison(&mut self, items: &Value, compare: &Value) -> Result {
        let items = self.collect(items)?;
        let sorted = self.merge_sort(items, compare)?;
        self.array(sorted)
    }

    fn merge_sort(&mut self, mut items: Vec<Value>, comparison: &Value) -> Result<Vec<Value>> {
        if items.len() < 2 {
            return Ok(items);
        }
        let right = items.split_off(items.len() / 2);
        let left = self.merge_sort(items, comparison)?;
        let right = self.merge_sort(right, comparison)?;
        let mut merged = Vec::with_capacity(left.len() + right.len());
        let (mut left, mut right) = (left.into_iter().peekable(), right.into_iter().peekable());
        while let (Some(a), Some(b)) = (left.peek(), right.peek()) {
            let order = self.call(comparison, &mut [a.clone(), b.clone()])?;
            let takes_right = match order.bare() {
                Value::Number(number) => *number > Number::ZERO,
                Value::Bool(is_before) => !is_before,
                _ => return Err(Fault::expected(meantime_value::Kind::Number, &order)),
            };
            merged.extend(if takes_right { right.next() } else { left.next() });
        }
        merged.extend(left);
        merged.extend(right);
        Ok(merged)
    }
}
