//! `dw::util::Tree`: visits all nodes of a value with their paths.

use meantime_value::{Key, KeyDetail, Object, Text, Value};

use super::super::eval::{Eval, Result};
use super::native::{Args, Constant, Native, Overload, Param};
use super::path::{ARRAY, ATTRIBUTE, OBJECT, PathStep, path_value};

const WALK_PARAMS: &[Param] = &[Param::ANY, Param::callback(2)];
const PATH_PARAMS: &[Param] = &[Param::ARRAY];

pub(super) const FUNCTIONS: &[Native] = &[
    Native::new("asExpressionString", &[Overload::new(PATH_PARAMS, as_expression_string)]),
    Native::new("isArrayType", &[Overload::new(PATH_PARAMS, is_array_type)]),
    Native::new("isAttributeType", &[Overload::new(PATH_PARAMS, is_attribute_type)]),
    Native::new("isObjectType", &[Overload::new(PATH_PARAMS, is_object_type)]),
    Native::new("mapLeafValues", &[Overload::new(WALK_PARAMS, map_leaf_values)]),
    Native::new("filterArrayLeafs", &[Overload::new(WALK_PARAMS, filter_array_leafs)]),
    Native::new("filterObjectLeafs", &[Overload::new(WALK_PARAMS, filter_object_leafs)]),
    Native::new("filterTree", &[Overload::new(WALK_PARAMS, filter_tree)]),
    Native::new("nodeExists", &[Overload::new(WALK_PARAMS, node_exists)]),
];

pub(super) const CONSTANTS: &[Constant] = &[
    ("OBJECT_TYPE", || Value::from(OBJECT)),
    ("ARRAY_TYPE", || Value::from(ARRAY)),
    ("ATTRIBUTE_TYPE", || Value::from(ATTRIBUTE)),
];

/// `.user[0].@name`.
fn as_expression_string(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let mut out = String::new();
    for step in Eval::items(args.get(0)) {
        eval.charge(1)?;
        let Value::Object(step) = step.bare() else { continue };
        let selector = match step.get("selector") {
            Some(selector) => super::super::coerce::to_text(selector)?,
            None => Text::from(""),
        };
        let kind = step.get("kind").cloned().unwrap_or_default();
        let (open, close) = if kind == Value::from(ARRAY) {
            ("[", "]")
        } else if kind == Value::from(ATTRIBUTE) {
            (".@", "")
        } else {
            (".", "")
        };
        out.extend([open, &selector, close]);
    }
    eval.text(out)
}

/// Whether the last step of a path is of that kind.
fn ends_with(args: &Args, eval: &mut Eval<'_>, wanted: &str) -> Result {
    let path = args.array(0, eval)?;
    let kind = match path.last().map(Value::bare) {
        Some(Value::Object(step)) => step.get("kind").cloned().unwrap_or_default(),
        _ => Value::Null,
    };
    Ok(Value::Bool(kind == Value::from(wanted)))
}

fn is_array_type(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    ends_with(args, eval, ARRAY)
}

fn is_attribute_type(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    ends_with(args, eval, ATTRIBUTE)
}

fn is_object_type(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    ends_with(args, eval, OBJECT)
}

/// A walk: the function of the caller and the path to the current node.
struct Walk<'w> {
    callback: &'w Value,
    path: Vec<PathStep>,
}

impl Walk<'_> {
    fn call(&self, eval: &mut Eval<'_>, value: &Value) -> Result {
        let path = path_value(eval, &self.path)?;
        eval.call(self.callback, &mut [value.clone(), path])
    }

    fn test(&self, eval: &mut Eval<'_>, value: &Value) -> Result<bool> {
        let path = path_value(eval, &self.path)?;
        eval.test(self.callback, &mut [value.clone(), path])
    }

    /// Visits one level deeper.
    fn below<T>(&mut self, step: PathStep, run: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.path.push(step);
        let result = run(self);
        self.path.pop();
        result
    }

    fn map_leaves(&mut self, eval: &mut Eval<'_>, value: &Value) -> Result {
        match value.bare() {
            Value::Object(object) => {
                let mut out = Object::with_capacity(object.len());
                for entry in object.entries() {
                    let mapped = self.below(PathStep::field(&entry.key), |walk| {
                        let key = walk.map_attributes(eval, &entry.key)?;
                        Ok((key, walk.map_leaves(eval, &entry.value)?))
                    })?;
                    out.push(mapped.0, mapped.1);
                }
                eval.object(out)
            }
            Value::Array(items) => {
                let mut out = Vec::with_capacity(items.len());
                for (index, item) in items.iter().enumerate() {
                    out.push(
                        self.below(PathStep::Index(index), |walk| walk.map_leaves(eval, item))?,
                    );
                }
                eval.array(out)
            }
            _ => self.call(eval, value),
        }
    }

    fn map_attributes(&mut self, eval: &mut Eval<'_>, key: &Key) -> Result<Key> {
        let Some(old) = key.attributes().filter(|attributes| !attributes.is_empty()) else {
            return Ok(key.clone());
        };
        let mut attributes = Object::with_capacity(old.len());
        for entry in old.entries() {
            let step = PathStep::attribute(&entry.key);
            let value = self.below(step, |walk| walk.call(eval, &entry.value))?;
            attributes.push(entry.key.clone(), value);
        }
        let namespace = key.namespace().cloned();
        Ok(Key::with_detail(key.name().clone(), KeyDetail { namespace, attributes }))
    }

    /// Keeps what passes the filter: leaves of objects, leaves of arrays, or all nodes.
    fn filter(&mut self, eval: &mut Eval<'_>, value: &Value, what: Filter) -> Result {
        match value.bare() {
            Value::Object(object) => {
                let mut out = Object::default();
                for entry in object.entries() {
                    let step = PathStep::field(&entry.key);
                    let kept = self.below(step, |walk| {
                        walk.filtered(eval, &entry.value, what, what.tests_fields(&entry.value))
                    })?;
                    if let Some(kept) = kept {
                        out.push(entry.key.clone(), kept);
                    }
                }
                eval.object(out)
            }
            Value::Array(items) => {
                let mut out = Vec::new();
                for (index, item) in items.iter().enumerate() {
                    let kept = self.below(PathStep::Index(index), |walk| {
                        walk.filtered(eval, item, what, what.tests_items(item))
                    })?;
                    out.extend(kept);
                }
                eval.array(out)
            }
            _ => Ok(value.clone()),
        }
    }

    fn filtered(
        &mut self,
        eval: &mut Eval<'_>,
        value: &Value,
        what: Filter,
        tested: bool,
    ) -> Result<Option<Value>> {
        if tested && !self.test(eval, value)? {
            return Ok(None);
        }
        self.filter(eval, value, what).map(Some)
    }

    /// The root itself is tested only if it has no children.
    fn exists(&mut self, eval: &mut Eval<'_>, value: &Value) -> Result<bool> {
        if (!self.path.is_empty() || is_leaf(value)) && self.test(eval, value)? {
            return Ok(true);
        }
        match value.bare() {
            Value::Object(object) => {
                for entry in object.entries() {
                    let step = PathStep::field(&entry.key);
                    let found = self.below(step, |walk| {
                        for attribute in
                            entry.key.attributes().into_iter().flat_map(Object::entries)
                        {
                            let step = PathStep::attribute(&attribute.key);
                            if walk.below(step, |walk| walk.test(eval, &attribute.value))? {
                                return Ok(true);
                            }
                        }
                        walk.exists(eval, &entry.value)
                    })?;
                    if found {
                        return Ok(true);
                    }
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    if self.below(PathStep::Index(index), |walk| walk.exists(eval, item))? {
                        return Ok(true);
                    }
                }
            }
            _ => {}
        }
        Ok(false)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Filter {
    ArrayLeaves,
    ObjectLeaves,
    Everything,
}

impl Filter {
    fn tests_fields(self, value: &Value) -> bool {
        self == Self::Everything || (self == Self::ObjectLeaves && is_leaf(value))
    }

    fn tests_items(self, value: &Value) -> bool {
        self == Self::Everything || (self == Self::ArrayLeaves && is_leaf(value))
    }
}

fn is_leaf(value: &Value) -> bool {
    !matches!(value.bare(), Value::Object(_) | Value::Array(_))
}

fn walk(args: &Args) -> Walk<'_> {
    Walk { callback: args.get(1), path: Vec::new() }
}

fn map_leaf_values(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    walk(args).map_leaves(eval, args.get(0))
}

fn filter_array_leafs(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    walk(args).filter(eval, args.get(0), Filter::ArrayLeaves)
}

fn filter_object_leafs(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    walk(args).filter(eval, args.get(0), Filter::ObjectLeaves)
}

fn filter_tree(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    walk(args).filter(eval, args.get(0), Filter::Everything)
}

fn node_exists(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    Ok(Value::Bool(walk(args).exists(eval, args.get(0))?))
}
