//! `dw::util::Diff`.

use meantime_value::{Entry, Object, Value};

use super::super::coerce;
use super::super::eval::{Eval, Result};
use super::literal::literal;
use super::native::{Args, Native, Overload, Param};

pub(super) const FUNCTIONS: &[Native] = &[Native::new(
    "diff",
    &[Overload::new(&[Param::ANY, Param::ANY, Param::OBJECT, Param::TEXT], diff).optional(2)],
)];

/// The options of a comparison.
struct Comparison<'e, 'p> {
    eval: &'e mut Eval<'p>,
    unordered: bool,
}

fn diff(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let unordered = args.object(2).get("unordered").map(coerce::to_boolean).transpose()?;
    let path = if args.has(3) { args.text(3).to_string() } else { "(root)".to_owned() };
    let mut comparison = Comparison { eval, unordered: unordered.unwrap_or(false) };
    let diffs = comparison.values(args.get(0), args.get(1), &path)?;
    let mut result = Object::default();
    result.insert("matches", diffs.is_empty());
    result.insert("diffs", eval.array(diffs)?);
    eval.object(result)
}

impl Comparison<'_, '_> {
    fn values(&mut self, actual: &Value, expected: &Value, path: &str) -> Result<Vec<Value>> {
        self.eval.charge((path.len() as u64 / 64).saturating_add(1))?;
        match (actual.bare(), expected.bare()) {
            (Value::Object(actual), Value::Object(expected)) => {
                self.objects(actual, expected, path)
            }
            (Value::Array(_) | Value::Range(_), Value::Array(_) | Value::Range(_)) => {
                self.arrays(actual, expected, path)
            }
            (other, Value::Object(_)) => self.kinds(other, "Object type", path),
            (other, Value::Array(_) | Value::Range(_)) => self.kinds(other, "Array type", path),
            _ if self.eval.same(actual, expected)? => Ok(Vec::new()),
            _ => {
                let (expected, actual) =
                    (literal(self.eval, expected)?, literal(self.eval, actual)?);
                self.one(&expected, &actual, path)
            }
        }
    }

    /// One difference.
    fn one(&mut self, expected: &str, actual: &str, path: &str) -> Result<Vec<Value>> {
        let mut found = Object::default();
        found.insert("expected", self.eval.text(expected)?);
        found.insert("actual", self.eval.text(actual)?);
        found.insert("path", self.eval.text(path)?);
        Ok(vec![self.eval.object(found)?])
    }

    fn kinds(&mut self, actual: &Value, expected: &str, path: &str) -> Result<Vec<Value>> {
        self.one(expected, &format!("{} type", actual.kind().name()), path)
    }

    fn arrays(&mut self, actual: &Value, expected: &Value, path: &str) -> Result<Vec<Value>> {
        let actual = self.eval.collect(actual)?;
        let expected = self.eval.collect(expected)?;
        if actual.len() != expected.len() {
            let wanted = format!("Array size is {}", expected.len());
            return self.one(&wanted, &format!("was {}", actual.len()), path);
        }
        let mut found = Vec::new();
        // Reported from the last index to the first.
        for (index, (actual, expected)) in actual.iter().zip(&expected).enumerate().rev() {
            found.extend(self.values(actual, expected, &format!("{path}[{index}]"))?);
        }
        Ok(found)
    }

    fn objects(&mut self, actual: &Object, expected: &Object, path: &str) -> Result<Vec<Value>> {
        if actual.len() != expected.len() {
            let wanted = format!("Object size is {}", expected.len());
            return self.one(&wanted, &actual.len().to_string(), path);
        }
        let mut found = Vec::new();
        for (index, wanted) in expected.entries().iter().enumerate().rev() {
            let path = format!("{path}.{}", wanted.key.name());
            if let Some(entry) = self.partner(actual, expected, index)? {
                found.extend(self.entries(entry, wanted, &path)?);
            } else {
                let wanted = format!("Entry {path} with type {}", wanted.value.kind().name());
                found.extend(self.one(&wanted, "was not present in object.", &path)?);
            }
        }
        Ok(found)
    }

    /// The entry to compare with the expected one at an index: the one at the same index, or, if
    /// order is ignored, the one with as many entries of its name before it.
    fn partner<'o>(
        &mut self,
        actual: &'o Object,
        expected: &Object,
        index: usize,
    ) -> Result<Option<&'o Entry>> {
        let Some((wanted, before)) =
            expected.entries().get(..=index).and_then(<[Entry]>::split_last)
        else {
            return Ok(None);
        };
        let is_namesake = |entry: &&Entry| entry.key.name() == wanted.key.name();
        if !self.unordered {
            return Ok(actual.entries().get(index).filter(is_namesake));
        }
        self.eval.charge(actual.len() as u64)?;
        let earlier = before.iter().filter(is_namesake).count();
        Ok(actual.entries().iter().filter(is_namesake).nth(earlier))
    }

    fn entries(&mut self, actual: &Entry, expected: &Entry, path: &str) -> Result<Vec<Value>> {
        let mut found = self.attributes(actual, expected, &format!("{path}.@"))?;
        found.extend(self.values(&actual.value, &expected.value, path)?);
        Ok(found)
    }

    fn attributes(&mut self, actual: &Entry, expected: &Entry, path: &str) -> Result<Vec<Value>> {
        let of = |entry: &Entry| {
            entry.key.attributes().filter(|attributes| !attributes.is_empty()).cloned()
        };
        match (of(actual), of(expected)) {
            (None, None) => Ok(Vec::new()),
            (Some(actual), Some(expected)) => self.objects(&actual, &expected, path),
            (Some(_), None) => self.one("Empty attributes", "Attributes null", path),
            (None, Some(expected)) => {
                let expected = literal(self.eval, &Value::object(expected))?;
                self.one(&format!("Attributes {expected}"), "Empty attributes.", path)
            }
        }
    }
}
