//! `dw::core::Arrays`.

use std::collections::BTreeMap;

use meantime_value::{Number, Object, Text, Value};

use super::super::coerce;
use super::super::eval::{Eval, Result};
use super::native::{Args, Native, Overload, Param};
use super::null::{FALSE_2, NULL_2, NULL_3};

const PREDICATE_PARAMS: &[Param] = &[Param::ARRAY, Param::callback(1)];
const COUNT_PARAMS: &[Param] = &[Param::ARRAY, Param::NUMBER];
const JOIN_PARAMS: &[Param] = &[Param::ARRAY, Param::ARRAY, Param::callback(1), Param::callback(1)];

pub(super) const FUNCTIONS: &[Native] = &[
    Native::new("countBy", &[Overload::new(PREDICATE_PARAMS, count_by), NULL_2]),
    Native::new("divideBy", &[Overload::new(COUNT_PARAMS, divide_by), NULL_2]),
    Native::new("drop", &[Overload::new(COUNT_PARAMS, drop_items), NULL_2]),
    Native::new("dropWhile", &[Overload::new(PREDICATE_PARAMS, drop_while), NULL_2]),
    Native::new(
        "every",
        &[Overload::new(PREDICATE_PARAMS, every), Overload::new(&[Param::NULL, Param::ANY], yes)],
    ),
    Native::new(
        "firstWith",
        &[Overload::new(&[Param::ARRAY, Param::callback(2)], first_with), NULL_2],
    ),
    Native::new("indexOf", &[Overload::new(&[Param::ARRAY, Param::ANY], index_of)]),
    Native::new("indexWhere", &[Overload::new(PREDICATE_PARAMS, index_where), NULL_2]),
    Native::new("join", &[Overload::new(JOIN_PARAMS, join)]),
    Native::new("leftJoin", &[Overload::new(JOIN_PARAMS, left_join)]),
    Native::new("outerJoin", &[Overload::new(JOIN_PARAMS, outer_join)]),
    Native::new("partition", &[Overload::new(PREDICATE_PARAMS, partition), NULL_2]),
    Native::new(
        "slice",
        &[Overload::new(&[Param::ARRAY, Param::NUMBER, Param::NUMBER], slice), NULL_3],
    ),
    Native::new("some", &[Overload::new(PREDICATE_PARAMS, some), FALSE_2]),
    Native::new("splitAt", &[Overload::new(COUNT_PARAMS, split_at), NULL_2]),
    Native::new("splitWhere", &[Overload::new(PREDICATE_PARAMS, split_where), NULL_2]),
    Native::new("sumBy", &[Overload::new(PREDICATE_PARAMS, sum_by), NULL_2]),
    Native::new("take", &[Overload::new(COUNT_PARAMS, take), NULL_2]),
    Native::new("takeWhile", &[Overload::new(PREDICATE_PARAMS, take_while), NULL_2]),
];

fn test(eval: &mut Eval<'_>, args: &Args, item: &Value) -> Result<bool> {
    eval.test(args.get(1), &mut [item.clone()])
}

fn count_by(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let mut count = 0_usize;
    for item in Eval::items(args.get(0)) {
        count += usize::from(test(eval, args, &item)?);
    }
    Ok(Value::from(count))
}

fn divide_by(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let items = args.array(0, eval)?;
    eval.charge(items.len() as u64)?;
    let mut parts = Vec::new();
    for part in items.chunks(args.count_up(1).max(1)) {
        parts.push(eval.array(part.to_vec())?);
    }
    eval.array(parts)
}

fn drop_items(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let items = args.array(0, eval)?;
    sub_array(eval, &items, args.count(1), items.len())
}

fn take(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let items = args.array(0, eval)?;
    sub_array(eval, &items, 0, args.count_up(1))
}

fn slice(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let items = args.array(0, eval)?;
    sub_array(eval, &items, args.count(1), args.count(2))
}

/// The elements from one index to before another, as far as they exist.
fn sub_array(eval: &mut Eval<'_>, items: &[Value], from: usize, to: usize) -> Result {
    let to = to.min(items.len());
    let part = items.get(from.min(to)..to).unwrap_or_default();
    eval.charge(part.len() as u64)?;
    eval.array(part.to_vec())
}

/// The index of the first element that passes, or the size.
fn first_place(eval: &mut Eval<'_>, args: &Args, wanted: bool) -> Result<Option<usize>> {
    for (index, item) in Eval::items(args.get(0)).enumerate() {
        if test(eval, args, &item)? == wanted {
            return Ok(Some(index));
        }
    }
    Ok(None)
}

fn drop_while(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let items = args.array(0, eval)?;
    let from = first_place(eval, args, false)?.unwrap_or(items.len());
    sub_array(eval, &items, from, items.len())
}

fn take_while(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let items = args.array(0, eval)?;
    let to = first_place(eval, args, false)?.unwrap_or(items.len());
    sub_array(eval, &items, 0, to)
}

fn every(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    Ok(Value::Bool(first_place(eval, args, false)?.is_none()))
}

fn yes(_: &mut Eval<'_>, _: &mut Args) -> Result {
    Ok(Value::Bool(true))
}

fn some(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    Ok(Value::Bool(first_place(eval, args, true)?.is_some()))
}

fn first_with(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    for (index, item) in Eval::items(args.get(0)).enumerate() {
        if eval.test(args.get(1), &mut [item.clone(), Value::from(index)])? {
            return Ok(item);
        }
    }
    Ok(Value::Null)
}

fn index_of(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    for (index, item) in Eval::items(args.get(0)).enumerate() {
        eval.charge(1)?;
        if eval.same(&item, args.get(1))? {
            return Ok(Value::from(index));
        }
    }
    Ok(Value::from(-1_i64))
}

fn index_where(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    Ok(first_place(eval, args, true)?.map_or(Value::from(-1_i64), Value::from))
}

fn partition(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let (mut success, mut failure) = (Vec::new(), Vec::new());
    for item in Eval::items(args.get(0)) {
        if test(eval, args, &item)? { success.push(item) } else { failure.push(item) }
    }
    let mut parts = Object::with_capacity(2);
    parts.insert("success", eval.array(success)?);
    parts.insert("failure", eval.array(failure)?);
    eval.object(parts)
}

fn split(eval: &mut Eval<'_>, items: &[Value], at: usize) -> Result {
    let mut parts = Object::with_capacity(2);
    parts.insert("l", sub_array(eval, items, 0, at)?);
    parts.insert("r", sub_array(eval, items, at, items.len())?);
    eval.object(parts)
}

fn split_at(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let items = args.array(0, eval)?;
    split(eval, &items, args.count(1))
}

/// Without an index to split at, everything is in the right part.
fn split_where(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let items = args.array(0, eval)?;
    let at = first_place(eval, args, true)?.unwrap_or(0);
    split(eval, &items, at)
}

fn sum_by(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let mut sum = Number::ZERO;
    for item in Eval::items(args.get(0)) {
        let value = eval.call(args.get(1), &mut [item])?;
        if let Value::Number(number) = coerce::to_kind(&value, meantime_value::Kind::Number)? {
            eval.charge(sum.pair_ops(&number))?;
            sum = sum.add(&number)?;
        }
    }
    Ok(Value::Number(sum))
}

/// The indices of the elements of each key.
type IndicesByKey = BTreeMap<Text, Vec<usize>>;

fn by_key(eval: &mut Eval<'_>, items: &Value, key: &Value) -> Result<(Vec<Value>, IndicesByKey)> {
    let items = eval.collect(items)?;
    let mut indices = IndicesByKey::new();
    for (index, item) in items.iter().enumerate() {
        let key = eval.call(key, &mut [item.clone()])?;
        indices.entry(coerce::to_text(&key)?).or_default().push(index);
    }
    Ok((items, indices))
}

/// Pairs of elements with the same key; elements without a partner if they are to be kept.
fn join_all(eval: &mut Eval<'_>, args: &Args, keep_left: bool, keep_right: bool) -> Result {
    let (right, indices) = by_key(eval, args.get(1), args.get(3))?;
    let mut used = vec![false; right.len()];
    let mut joined = Vec::new();
    for left in Eval::items(args.get(0)) {
        let key = eval.call(args.get(2), &mut [left.clone()])?;
        let partners = indices.get(&coerce::to_text(&key)?).map_or(&[][..], Vec::as_slice);
        if partners.is_empty() && keep_left {
            joined.push(pair(eval, Some(&left), None)?);
        }
        for partner in partners {
            if let Some(position) = used.get_mut(*partner) {
                *position = true;
            }
            joined.push(pair(eval, Some(&left), right.get(*partner))?);
        }
    }
    if keep_right {
        for (item, used) in right.iter().zip(used) {
            if !used {
                joined.push(pair(eval, None, Some(item))?);
            }
        }
    }
    eval.array(joined)
}

fn pair(eval: &mut Eval<'_>, left: Option<&Value>, right: Option<&Value>) -> Result {
    let mut pair = Object::with_capacity(2);
    if let Some(left) = left {
        pair.insert("l", left.clone());
    }
    if let Some(right) = right {
        pair.insert("r", right.clone());
    }
    eval.object(pair)
}

fn join(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    join_all(eval, args, false, false)
}

fn left_join(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    join_all(eval, args, true, false)
}

fn outer_join(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    join_all(eval, args, true, true)
}
