//! Objects.

use meantime_value::{Entry, Kind, Object, Value, text};

use super::super::super::eval::{Eval, Fault, Result};
use super::super::native::{Args, Native, Overload, Param};
use super::super::null::{NULL_1, NULL_2};

const PAIR_PARAMS: &[Param] = &[Param::OBJECT, Param::callback(3)];

pub(in crate::library) const FUNCTIONS: &[Native] = &[
    Native::new("mapObject", &[Overload::new(PAIR_PARAMS, map_object), NULL_2]),
    Native::new("filterObject", &[Overload::new(PAIR_PARAMS, filter_object), NULL_2]),
    Native::new("pluck", &[Overload::new(PAIR_PARAMS, pluck), NULL_2]),
    Native::new("keysOf", &[Overload::new(&[Param::OBJECT], keys_of), NULL_1]),
    Native::new("namesOf", &[Overload::new(&[Param::OBJECT], names_of), NULL_1]),
    Native::new("valuesOf", &[Overload::new(&[Param::OBJECT], values_of), NULL_1]),
    Native::new("entriesOf", &[Overload::new(&[Param::OBJECT], entries_of), NULL_1]),
    Native::new(
        "sizeOf",
        &[
            Overload::new(&[Param::ARRAY], size_of_array),
            Overload::new(&[Param::OBJECT], size_of_object),
            Overload::new(&[Param::only(Kind::Binary)], size_of_binary),
            Overload::new(&[Param::TEXT], size_of_text),
            NULL_1,
        ],
    ),
    Native::new(
        "isEmpty",
        &[
            Overload::new(&[Param::ARRAY], is_empty_array),
            Overload::new(&[Param::OBJECT], is_empty_object),
            Overload::new(&[Param::only(Kind::Binary)], is_empty_binary),
            Overload::new(&[Param::TEXT], is_empty_text),
            Overload::new(&[Param::NULL], is_empty_null),
        ],
    ),
];

fn call(eval: &mut Eval<'_>, callback: &Value, entry: &Entry, index: usize) -> Result {
    let key = Value::Key(entry.key.clone());
    eval.call(callback, &mut [entry.value.clone(), key, Value::from(index)])
}

fn map_object(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let mut mapped = Object::default();
    for (index, entry) in args.object(0).entries().iter().enumerate() {
        let pairs = call(eval, args.get(1), entry, index)?;
        match pairs.bare() {
            Value::Object(pairs) => {
                eval.charge(pairs.len() as u64)?;
                pairs.entries().iter().for_each(|entry| mapped.add(entry.clone()));
            }
            _ => return Err(Fault::expected(Kind::Object, &pairs)),
        }
    }
    eval.object(mapped)
}

fn filter_object(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let mut kept = Object::default();
    for (index, entry) in args.object(0).entries().iter().enumerate() {
        let key = Value::Key(entry.key.clone());
        let mut pair = [entry.value.clone(), key, Value::from(index)];
        if eval.test(args.get(1), &mut pair)? {
            kept.add(entry.clone());
        }
    }
    eval.object(kept)
}

fn pluck(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let mut plucked = Vec::new();
    for (index, entry) in args.object(0).entries().iter().enumerate() {
        plucked.push(call(eval, args.get(1), entry, index)?);
    }
    eval.array(plucked)
}

pub(crate) fn keys_of(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let object = args.object(0);
    eval.charge(object.len() as u64)?;
    let keys = object.entries().iter().map(|entry| Value::Key(entry.key.clone())).collect();
    eval.array(keys)
}

pub(crate) fn names_of(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let object = args.object(0);
    eval.charge(object.len() as u64)?;
    let names = object.entries().iter().map(|entry| Value::Text(entry.key.name().clone()));
    let names = names.collect();
    eval.array(names)
}

pub(crate) fn values_of(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let object = args.object(0);
    eval.charge(object.len() as u64)?;
    let values = object.entries().iter().map(|entry| entry.value.clone()).collect();
    eval.array(values)
}

pub(crate) fn entries_of(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let object = args.object(0);
    let mut entries = Vec::with_capacity(object.len());
    for entry in object.entries() {
        eval.charge(1)?;
        let mut parts = Object::with_capacity(3);
        parts.insert("key", Value::Key(entry.key.clone()));
        parts.insert("value", entry.value.clone());
        parts.insert("attributes", entry.key.attributes().cloned().unwrap_or_default());
        entries.push(eval.object(parts)?);
    }
    eval.array(entries)
}

fn size_of_array(_: &mut Eval<'_>, args: &mut Args) -> Result {
    Ok(match args.get(0) {
        Value::Range(range) => Value::from(usize::try_from(range.len()).unwrap_or(usize::MAX)),
        Value::Array(items) => Value::from(items.len()),
        _ => Value::from(0_i64),
    })
}

fn size_of_object(_: &mut Eval<'_>, args: &mut Args) -> Result {
    Ok(Value::from(args.object(0).len()))
}

fn size_of_binary(_: &mut Eval<'_>, args: &mut Args) -> Result {
    Ok(Value::from(args.binary(0).len()))
}

fn size_of_text(_: &mut Eval<'_>, args: &mut Args) -> Result {
    Ok(Value::from(text::length(&args.text(0))))
}

fn is_empty_array(_: &mut Eval<'_>, args: &mut Args) -> Result {
    Ok(Value::Bool(matches!(args.get(0), Value::Array(items) if items.is_empty())))
}

fn is_empty_object(_: &mut Eval<'_>, args: &mut Args) -> Result {
    Ok(Value::Bool(args.object(0).is_empty()))
}

fn is_empty_binary(_: &mut Eval<'_>, args: &mut Args) -> Result {
    Ok(Value::Bool(args.binary(0).is_empty()))
}

fn is_empty_text(_: &mut Eval<'_>, args: &mut Args) -> Result {
    Ok(Value::Bool(args.text(0).is_empty()))
}

fn is_empty_null(_: &mut Eval<'_>, _: &mut Args) -> Result {
    Ok(Value::Bool(true))
}
