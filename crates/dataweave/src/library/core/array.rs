//! Arrays and ranges.

use meantime_value::{Kind, Number, Range, Value, text};

use super::super::super::coerce;
use super::super::super::eval::{Eval, Fault, Result};
use super::super::native::{Args, Native, Overload, Param};
use super::super::null::{FALSE_2, NULL_1, NULL_2};

const ELEMENT_PARAMS: &[Param] = &[Param::ARRAY, Param::callback(2)];

pub(in crate::library) const FUNCTIONS: &[Native] = &[
    Native::new("map", &[Overload::new(ELEMENT_PARAMS, map), NULL_2]),
    Native::new(
        "filter",
        &[
            Overload::new(ELEMENT_PARAMS, filter),
            Overload::new(&[Param::TEXT, Param::callback(2)], filter_text),
            NULL_2,
        ],
    ),
    Native::new("flatMap", &[Overload::new(ELEMENT_PARAMS, flat_map), NULL_2]),
    Native::new("flatten", &[Overload::new(&[Param::ARRAY], flatten), NULL_1]),
    Native::new(
        "reduce",
        &[
            Overload::new(ELEMENT_PARAMS, reduce),
            Overload::new(&[Param::TEXT, Param::callback(2)], reduce_text),
            NULL_2,
        ],
    ),
    Native::new(
        "contains",
        &[
            Overload::new(&[Param::ARRAY, Param::ANY], contains),
            Overload::new(&[Param::TEXT, Param::TEXT], contains_text),
            Overload::new(&[Param::TEXT, Param::REGEX], contains_match),
            FALSE_2,
        ],
    ),
    Native::new(
        "find",
        &[
            Overload::new(&[Param::ARRAY, Param::ANY], find),
            Overload::new(&[Param::TEXT, Param::REGEX], find_matches),
            Overload::new(&[Param::TEXT, Param::TEXT], find_text),
            Overload::new(&[Param::NULL, Param::ANY], find_nothing),
        ],
    ),
    Native::new(
        "indexOf",
        &[
            Overload::new(&[Param::ARRAY, Param::ANY], index_of),
            Overload::new(&[Param::TEXT, Param::TEXT], index_of_text),
            Overload::new(&[Param::NULL, Param::ANY], no_index),
        ],
    ),
    Native::new(
        "lastIndexOf",
        &[
            Overload::new(&[Param::ARRAY, Param::ANY], last_index_of),
            Overload::new(&[Param::TEXT, Param::TEXT], last_index_of_text),
            Overload::new(&[Param::NULL, Param::ANY], no_index),
        ],
    ),
    Native::new("joinBy", &[Overload::new(&[Param::ARRAY, Param::TEXT], join_by), NULL_2]),
    Native::new("zip", &[Overload::new(&[Param::ARRAY, Param::ARRAY], zip)]),
    Native::new("unzip", &[Overload::new(&[Param::ARRAY], unzip)]),
    Native::new("to", &[Overload::new(&[Param::NUMBER, Param::NUMBER], to)]),
];

fn map(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let callback = args.get(1);
    let mut mapped = Vec::new();
    for (index, item) in Eval::items(args.get(0)).enumerate() {
        mapped.push(eval.call(callback, &mut [item, Value::from(index)])?);
    }
    eval.array(mapped)
}

fn filter(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let callback = args.get(1);
    let mut kept = Vec::new();
    for (index, item) in Eval::items(args.get(0)).enumerate() {
        if eval.test(callback, &mut [item.clone(), Value::from(index)])? {
            kept.push(item);
        }
    }
    eval.array(kept)
}

fn filter_text(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let callback = args.get(1);
    let mut kept = String::new();
    for (index, unit) in eval.units(&args.text(0))?.into_iter().enumerate() {
        if eval.test(callback, &mut [Value::Text(unit.clone()), Value::from(index)])? {
            kept.push_str(&unit);
        }
    }
    eval.text(kept)
}

fn flat_map(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let callback = args.get(1);
    let mut all = Vec::new();
    for (index, item) in Eval::items(args.get(0)).enumerate() {
        let mapped = eval.call(callback, &mut [item, Value::from(index)])?;
        match mapped.bare() {
            Value::Array(_) => all.extend(eval.collect(&mapped)?),
            Value::Range(_) => all.push(mapped),
            Value::Null => {}
            _ => return Err(Fault::expected(Kind::Array, &mapped)),
        }
    }
    eval.array(all)
}

fn flatten(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let mut all = Vec::new();
    for item in Eval::items(args.get(0)) {
        eval.charge(1)?;
        match item.bare() {
            Value::Array(_) => all.extend(eval.collect(&item)?),
            _ => all.push(item),
        }
    }
    eval.array(all)
}

fn reduce(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let items = Eval::items(args.get(0));
    fold(eval, items, args.get(1))
}

fn reduce_text(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let items = eval.units(&args.text(0))?.into_iter().map(Value::Text);
    match fold(eval, items, args.get(1))? {
        Value::Null => eval.text(""),
        value => Ok(value),
    }
}

/// Starts with the default of the accumulator, or with the first element.
fn fold(eval: &mut Eval<'_>, items: impl Iterator<Item = Value>, callback: &Value) -> Result {
    let mut items = items;
    let start = match eval.default_of(callback, 1)? {
        Some(start) => Some(start),
        None => items.next(),
    };
    let Some(mut accumulator) = start else { return Ok(Value::Null) };
    for item in items {
        accumulator = eval.call(callback, &mut [item, accumulator])?;
    }
    Ok(accumulator)
}

fn contains(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    for item in Eval::items(args.get(0)) {
        eval.charge(1)?;
        if eval.same(&item, args.get(1))? {
            return Ok(Value::Bool(true));
        }
    }
    Ok(Value::Bool(false))
}

fn contains_text(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let text = args.text(0);
    eval.charge(text.len() as u64)?;
    Ok(Value::Bool(text.contains(&*args.text(1))))
}

fn contains_match(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let text = args.text(0);
    eval.charge(text.len() as u64)?;
    match args.regex(1) {
        Some(pattern) => Ok(Value::Bool(pattern.is_match(&text, eval.ops())?)),
        None => Ok(Value::Bool(false)),
    }
}

fn find(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let mut found = Vec::new();
    for (index, item) in Eval::items(args.get(0)).enumerate() {
        eval.charge(1)?;
        if eval.same(&item, args.get(1))? {
            found.push(Value::from(index));
        }
    }
    eval.array(found)
}

/// The positions of all groups of all matches.
fn find_matches(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let text = args.text(0);
    eval.charge(text.len() as u64)?;
    let Some(pattern) = args.regex(1) else { return eval.array(Vec::new()) };
    let mut all = Vec::new();
    for found in pattern.matches(&text, eval.ops())? {
        // Finding a position counts the characters from the start of the text.
        let counted = (found.spans().len() as u64).saturating_mul(text.len() as u64 / 16);
        eval.charge(counted)?;
        let start = |span: &Option<(usize, usize)>| match span {
            Some((start, _)) => Value::from(text::position(&text, *start)),
            None => Value::from(-1_i64),
        };
        let starts = found.spans().iter().map(start).collect();
        all.push(eval.array(starts)?);
    }
    eval.array(all)
}

fn find_text(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let (text, wanted) = (args.text(0), args.text(1));
    eval.charge(text.len() as u64)?;
    if wanted.is_empty() {
        let found = (0..text::length(&text)).map(Value::from).collect();
        return eval.array(found);
    }
    let mut found = Vec::new();
    for (at, _) in text.match_indices(&*wanted) {
        // Finding a position counts the characters from the start of the text.
        eval.charge((at as u64 / 16).saturating_add(1))?;
        found.push(Value::from(text::position(&text, at)));
    }
    eval.array(found)
}

fn find_nothing(eval: &mut Eval<'_>, _: &mut Args) -> Result {
    eval.array(Vec::new())
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

fn last_index_of(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let items = args.array(0, eval)?;
    for (index, item) in items.iter().enumerate().rev() {
        eval.charge(1)?;
        if eval.same(item, args.get(1))? {
            return Ok(Value::from(index));
        }
    }
    Ok(Value::from(-1_i64))
}

fn index_of_text(_: &mut Eval<'_>, args: &mut Args) -> Result {
    let text = args.text(0);
    let found = text.find(&*args.text(1)).map(|at| text::position(&text, at));
    Ok(found.map_or(Value::from(-1_i64), Value::from))
}

fn last_index_of_text(_: &mut Eval<'_>, args: &mut Args) -> Result {
    let (text, wanted) = (args.text(0), args.text(1));
    if wanted.is_empty() {
        // The position before the last character.
        return Ok(Value::Number(Number::from(text::length(&text)).sub(&Number::Int(1))?));
    }
    let found = text.rfind(&*wanted).map(|at| text::position(&text, at));
    Ok(found.map_or(Value::from(-1_i64), Value::from))
}

fn no_index(_: &mut Eval<'_>, _: &mut Args) -> Result {
    Ok(Value::from(-1_i64))
}

fn join_by(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let separator = args.text(1);
    let mut joined = String::new();
    for (index, item) in Eval::items(args.get(0)).enumerate() {
        eval.charge(1)?;
        if index > 0 {
            joined.push_str(&separator);
        }
        if let Value::Number(number) = item.bare() {
            eval.charge(number.pair_ops(number))?;
        }
        joined.push_str(&coerce::to_text(&item)?);
        eval.check_text(joined.len())?;
    }
    eval.text(joined)
}

fn zip(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let mut pairs = Vec::new();
    for (left, right) in Eval::items(args.get(0)).zip(Eval::items(args.get(1))) {
        eval.charge(1)?;
        pairs.push(eval.array(vec![left, right])?);
    }
    eval.array(pairs)
}

/// All first elements, all second elements, and so on up to the shortest array.
fn unzip(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let rows = args.array(0, eval)?;
    let mut lists = Vec::with_capacity(rows.len());
    for row in rows.iter() {
        match row.bare() {
            Value::Array(_) | Value::Range(_) => lists.push(eval.collect(row)?),
            _ => return Err(Fault::expected(Kind::Array, row)),
        }
    }
    let width = lists.iter().map(Vec::len).min().unwrap_or(2);
    let mut columns = Vec::with_capacity(width);
    for item_index in 0..width {
        let column = lists.iter().filter_map(|list| list.get(item_index).cloned()).collect();
        columns.push(eval.array(column)?);
    }
    eval.array(columns)
}

fn to(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let (from, to) = (args.number(0), args.number(1));
    if let (true, true, Some(from), Some(to)) =
        (from.is_integer(), to.is_integer(), from.to_i64(), to.to_i64())
    {
        return Ok(Value::Range(Range { from, to }));
    }
    let step = Number::Int(if from <= to { 1 } else { -1 });
    let mut items = Vec::new();
    let mut at = from;
    while if step.is_negative() { at >= to } else { at <= to } {
        eval.charge(1)?;
        items.push(Value::Number(at.clone()));
        at = at.add(&step)?;
    }
    eval.array(items)
}
