//! `dw::core::Objects`.

use meantime_value::{Entry, Object, Value};

use super::super::eval::{Eval, Result};
use super::core::{entries_of, keys_of, names_of, values_of};
use super::native::{Args, Native, Overload, Param};
use super::null::FALSE_2;

const ONE_PARAM: &[Param] = &[Param::OBJECT];
const PREDICATE_PARAMS: &[Param] = &[Param::OBJECT, Param::callback(2)];

pub(super) const FUNCTIONS: &[Native] = &[
    Native::new("divideBy", &[Overload::new(&[Param::OBJECT, Param::NUMBER], divide_by)]),
    Native::new("entrySet", &[Overload::new(ONE_PARAM, entries_of)]),
    Native::new("keySet", &[Overload::new(ONE_PARAM, keys_of)]),
    Native::new("nameSet", &[Overload::new(ONE_PARAM, names_of)]),
    Native::new("valueSet", &[Overload::new(ONE_PARAM, values_of)]),
    Native::new(
        "everyEntry",
        &[
            Overload::new(PREDICATE_PARAMS, every_entry),
            Overload::new(&[Param::NULL, Param::ANY], yes),
        ],
    ),
    Native::new("someEntry", &[Overload::new(PREDICATE_PARAMS, some_entry), FALSE_2]),
    Native::new("takeWhile", &[Overload::new(PREDICATE_PARAMS, take_while)]),
    Native::new(
        "mergeWith",
        &[
            Overload::new(&[Param::OBJECT, Param::OBJECT], merge_with),
            Overload::new(&[Param::NULL, Param::ANY], second),
            Overload::new(&[Param::ANY, Param::NULL], first),
        ],
    ),
];

fn divide_by(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let object = args.object(0);
    eval.charge(object.len() as u64)?;
    let mut parts = Vec::new();
    // A part is full when it has exactly this many entries; with an invalid size it is never full.
    let size = Some(args.count(1)).filter(|size| *size > 0 && args.number(1).is_integer());
    for part in object.entries().chunks(size.unwrap_or(usize::MAX)) {
        let part: Object = part.iter().cloned().collect();
        parts.push(eval.object(part)?);
    }
    eval.array(parts)
}

fn test(eval: &mut Eval<'_>, args: &Args, entry: &Entry) -> Result<bool> {
    eval.test(args.get(1), &mut [entry.value.clone(), Value::Key(entry.key.clone())])
}

fn every_entry(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    for entry in args.object(0).entries() {
        if !test(eval, args, entry)? {
            return Ok(Value::Bool(false));
        }
    }
    Ok(Value::Bool(true))
}

fn yes(_: &mut Eval<'_>, _: &mut Args) -> Result {
    Ok(Value::Bool(true))
}

fn some_entry(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    for entry in args.object(0).entries() {
        if test(eval, args, entry)? {
            return Ok(Value::Bool(true));
        }
    }
    Ok(Value::Bool(false))
}

fn take_while(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let mut taken = Object::default();
    for entry in args.object(0).entries() {
        if !test(eval, args, entry)? {
            break;
        }
        taken.add(entry.clone());
    }
    eval.object(taken)
}

/// The left pairs whose keys are not in the right object, then all right pairs.
fn merge_with(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let (left, right) = (args.object(0), args.object(1));
    eval.charge((left.len() as u64).saturating_mul(right.len() as u64))?;
    let kept = left.entries().iter().filter(|entry| right.find(entry.key.name()).is_none());
    let merged = kept.chain(right.entries()).cloned().collect();
    eval.object(merged)
}

fn first(_: &mut Eval<'_>, args: &mut Args) -> Result {
    Ok(args.take(0))
}

fn second(_: &mut Eval<'_>, args: &mut Args) -> Result {
    Ok(args.take(1))
}
