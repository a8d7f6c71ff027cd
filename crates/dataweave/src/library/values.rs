//! `dw::util::Values`: changing values at paths.

use std::sync::Arc;

use meantime_value::{Key, KeyDetail, Kind, Object, Value};

use super::super::eval::{Eval, Fault, Function, PartialCall, Result};
use super::native::{Args, Native, Overload, Param};
use super::null::NULL_2;
use super::path::{ARRAY, ATTRIBUTE, OBJECT, PathStep, namespace_value};

const NAMESPACE_PARAM: Param = Param::only(Kind::Namespace).or(Kind::Null);

pub(super) const FUNCTIONS: &[Native] = &[
    Native::new(
        "attr",
        &[
            Overload::new(&[NAMESPACE_PARAM, Param::TEXT], attr),
            Overload::new(&[Param::TEXT], attr_plain),
        ],
    ),
    Native::new(
        "field",
        &[
            Overload::new(&[NAMESPACE_PARAM, Param::TEXT], field),
            Overload::new(&[Param::TEXT], field_plain),
        ],
    ),
    Native::new("index", &[Overload::new(&[Param::NUMBER], index)]),
    Native::new("mask", &[NULL_2, Overload::new(&[Param::ANY, Param::ANY], mask)]),
    Native::new("update", &[NULL_2, Overload::new(&[Param::ANY, Param::ANY], update)]),
];

fn step(eval: &mut Eval<'_>, kind: &str, namespace: Value, selector: Value) -> Result {
    let mut step = Object::with_capacity(3);
    step.insert("kind", kind);
    step.insert("namespace", namespace);
    step.insert("selector", selector);
    eval.object(step)
}

fn attr(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let namespace = args.take(0);
    step(eval, ATTRIBUTE, namespace, Value::Text(args.text(1)))
}

fn attr_plain(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    step(eval, ATTRIBUTE, namespace_value(None), Value::Text(args.text(0)))
}

fn field(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let namespace = args.take(0);
    step(eval, OBJECT, namespace, Value::Text(args.text(1)))
}

fn field_plain(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    step(eval, OBJECT, namespace_value(None), Value::Text(args.text(0)))
}

fn index(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    step(eval, ARRAY, Value::Null, Value::Number(args.number(0)))
}

fn waiting(name: &'static str, args: &mut Args, run: super::native::NativeFn) -> Result {
    let args = Arc::from([args.take(0), args.take(1)]);
    Ok(Function::Partial(PartialCall { name, args, run }).into_value())
}

fn update(_: &mut Eval<'_>, args: &mut Args) -> Result {
    waiting("update", args, update_with)
}

fn mask(_: &mut Eval<'_>, args: &mut Args) -> Result {
    waiting("mask", args, mask_with)
}

fn not_a_step(value: &Value) -> Fault {
    Fault::type_error(format!("a {} is not a step of a path", value.kind().name()))
}

/// The steps of a path: a single one or an array.
fn steps(value: &Value) -> Result<Vec<PathStep>> {
    let one = |value: &Value| PathStep::from_value(value).ok_or_else(|| not_a_step(value));
    match value.bare() {
        Value::Array(steps) => steps.iter().map(one).collect(),
        _ => Ok(vec![one(value)?]),
    }
}

fn update_with(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let path = steps(args.get(1))?;
    change(eval, args.get(0), &path, args.get(2))
}

/// A path that does not exist is not created.
fn change(eval: &mut Eval<'_>, value: &Value, path: &[PathStep], callback: &Value) -> Result {
    eval.charge(1)?;
    let Some((step, rest)) = path.split_first() else { return Ok(value.clone()) };
    match (step, value.bare()) {
        (PathStep::Field(name, namespace), Value::Object(object)) => {
            let mut changed = (**object).clone();
            for (item_index, entry) in object.entries().iter().enumerate() {
                let same = entry.key.name() == name
                    && namespace.as_ref().is_none_or(|space| entry.key.namespace() == Some(space));
                if !same {
                    continue;
                }
                if let [PathStep::Attribute(attribute, _)] = rest {
                    changed.rename(
                        item_index,
                        change_attribute(eval, &entry.key, attribute, callback)?,
                    );
                    continue;
                }
                let new = replaced(eval, &entry.value, item_index, rest, callback)?;
                changed.replace(item_index, new);
            }
            eval.object(changed)
        }
        (PathStep::Field(..), Value::Array(items)) => {
            let mut changed = Vec::with_capacity(items.len());
            for item in items.iter() {
                changed.push(change(eval, item, path, callback)?);
            }
            eval.array(changed)
        }
        (PathStep::Index(index), Value::Array(items)) => {
            let mut changed = items.to_vec();
            if let Some(item) = changed.get_mut(*index) {
                *item = replaced(eval, item, *index, rest, callback)?;
            }
            eval.array(changed)
        }
        _ => Ok(value.clone()),
    }
}

fn replaced(
    eval: &mut Eval<'_>,
    old: &Value,
    item_index: usize,
    rest: &[PathStep],
    callback: &Value,
) -> Result {
    if rest.is_empty() {
        eval.call(callback, &mut [old.clone(), Value::from(item_index)])
    } else {
        change(eval, old, rest, callback)
    }
}

fn change_attribute(
    eval: &mut Eval<'_>,
    key: &Key,
    attribute: &str,
    callback: &Value,
) -> Result<Key> {
    let mut attributes = key.attributes().cloned().unwrap_or_default();
    let item_index = attributes.entries().iter().position(|entry| &**entry.key.name() == attribute);
    if let Some((item_index, entry)) =
        item_index.and_then(|item_index| Some((item_index, attributes.entries().get(item_index)?)))
    {
        let new = eval.call(callback, &mut [entry.value.clone(), Value::from(item_index)])?;
        attributes.replace(item_index, new);
    }
    let namespace = key.namespace().cloned();
    Ok(Key::with_detail(key.name().clone(), KeyDetail { namespace, attributes }))
}

fn mask_with(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let Some(step) = PathStep::from_value(args.get(1)) else {
        return Err(not_a_step(args.get(1)));
    };
    mask_all(eval, args.get(0), &step, args.get(2))
}

/// Replaces scalars at every level that the step selects.
fn mask_all(eval: &mut Eval<'_>, value: &Value, step: &PathStep, callback: &Value) -> Result {
    eval.charge(1)?;
    match value.bare() {
        Value::Object(object) => {
            let mut masked = Object::with_capacity(object.len());
            for (item_index, entry) in object.entries().iter().enumerate() {
                let hit = matches!(step, PathStep::Field(name, _) if entry.key.name() == name);
                let mut key = entry.key.clone();
                if let PathStep::Attribute(attribute, _) = step {
                    key = change_attribute(eval, &key, attribute, callback)?;
                }
                let value = masked_value(eval, &entry.value, item_index, hit, step, callback)?;
                masked.push(key, value);
            }
            eval.object(masked)
        }
        Value::Array(items) => {
            let mut masked = Vec::with_capacity(items.len());
            for (item_index, item) in items.iter().enumerate() {
                let hit = matches!(step, PathStep::Index(index) if *index == item_index);
                masked.push(masked_value(eval, item, item_index, hit, step, callback)?);
            }
            eval.array(masked)
        }
        _ => Ok(value.clone()),
    }
}

fn masked_value(
    eval: &mut Eval<'_>,
    value: &Value,
    item_index: usize,
    hit: bool,
    step: &PathStep,
    callback: &Value,
) -> Result {
    let is_simple = !matches!(value.bare(), Value::Object(_) | Value::Array(_));
    if hit && is_simple {
        return eval.call(callback, &mut [value.clone(), Value::from(item_index)]);
    }
    mask_all(eval, value, step, callback)
}
