//! The operators.

use std::sync::Arc;

use meantime_value::{Array, Kind, Number, NumberError, Object, Value};

use super::super::coerce;
use super::super::program::Node;
use super::super::syntax::BinaryOp;
use super::compare::{compare, is_similar};
use super::fault::{Fault, Result};
use super::machine::{Eval, Frame};
use super::structure::to_key;
use crate::calendar;

/// An operation on two numbers.
type NumberOp = fn(&Number, &Number) -> std::result::Result<Number, NumberError>;

impl Eval<'_> {
    pub(super) fn operate(&mut self, operator: BinaryOp, left: Value, right: Value) -> Result {
        match operator {
            BinaryOp::Add => self.add(left, right),
            BinaryOp::Subtract => self.subtract(&left, &right),
            BinaryOp::Multiply => self.arithmetic("*", &left, &right, Number::mul),
            BinaryOp::Divide => self.arithmetic("/", &left, &right, Number::div),
            BinaryOp::ShiftLeft => self.push_back(left, right),
            BinaryOp::ShiftRight => self.shift_right(left, &right),
            BinaryOp::Equal => self.same(&left, &right).map(Value::Bool),
            BinaryOp::NotEqual => self.same(&left, &right).map(|same| Value::Bool(!same)),
            BinaryOp::Similar => {
                self.charge_pair_visit(&left, &right)?;
                Ok(Value::Bool(is_similar(&left, &right)))
            }
            BinaryOp::Less => Ok(Value::Bool(compare(&left, &right)?.is_lt())),
            BinaryOp::LessOrEqual => Ok(Value::Bool(compare(&left, &right)?.is_le())),
            BinaryOp::Greater => Ok(Value::Bool(compare(&left, &right)?.is_gt())),
            BinaryOp::GreaterOrEqual => Ok(Value::Bool(compare(&left, &right)?.is_ge())),
            BinaryOp::Compare => Ok(Value::from(compare(&left, &right)? as i64)),
            BinaryOp::And => {
                Ok(Value::Bool(left == Value::Bool(true) && right == Value::Bool(true)))
            }
            BinaryOp::Or => {
                Ok(Value::Bool(left == Value::Bool(true) || right == Value::Bool(true)))
            }
        }
    }

    fn arithmetic(
        &mut self,
        operator: &str,
        left: &Value,
        right: &Value,
        compute: NumberOp,
    ) -> Result {
        if let (Value::Number(a), Value::Number(b)) = (left, right) {
            return self.compute(a, b, compute);
        }
        match (coerce::auto(left, Kind::Number), coerce::auto(right, Kind::Number)) {
            (Some(Value::Number(a)), Some(Value::Number(b))) => self.compute(&a, &b, compute),
            _ => Err(Self::operator_type_error(operator, left, right)),
        }
    }

    /// Charges for long numbers, then computes.
    fn compute(&mut self, left: &Number, right: &Number, compute: NumberOp) -> Result {
        self.charge(left.pair_ops(right))?;
        Ok(Value::Number(compute(left, right)?))
    }

    fn add(&mut self, left: Value, right: Value) -> Result {
        match (left.bare(), right.bare()) {
            (Value::Number(a), Value::Number(b)) => return self.compute(a, b, Number::add),
            (Value::Array(_) | Value::Range(_), _) => return self.push_back(left, right),
            (Value::Period(_), Value::Period(_)) => {}
            (_, Value::Period(period)) => {
                if let Some(sum) = calendar::add(left.bare(), *period, 1)? {
                    return Ok(sum);
                }
            }
            (temporal, Value::Text(text)) if calendar::is_temporal(temporal) => {
                if let Ok(period) = text.parse()
                    && let Some(sum) = calendar::add(temporal, period, 1)?
                {
                    return Ok(sum);
                }
            }
            (Value::Period(period), _) => {
                if let Some(sum) = calendar::add(right.bare(), *period, 1)? {
                    return Ok(sum);
                }
            }
            _ => {}
        }
        self.arithmetic("+", &left, &right, Number::add)
    }

    fn subtract(&mut self, left: &Value, right: &Value) -> Result {
        match (left.bare(), right.bare()) {
            (Value::Number(a), Value::Number(b)) => return self.compute(a, b, Number::sub),
            (Value::Array(_) | Value::Range(_), _) => {
                let mut kept = Vec::new();
                for item in Self::items(left) {
                    self.charge(1)?;
                    if !self.same(&item, right)? {
                        kept.push(item);
                    }
                }
                return self.array(kept);
            }
            (Value::Object(object), Value::Array(keys)) => {
                return self.without_keys(object, keys);
            }
            (Value::Object(object), _) => {
                let key = to_key(right).map_err(|_| Self::operator_type_error("-", left, right))?;
                return self.without_keys(object, &Array::from(vec![Value::Key(key)]));
            }
            (Value::Period(_), Value::Period(_)) => {}
            (_, Value::Period(period)) => {
                if let Some(difference) = calendar::add(left.bare(), *period, -1)? {
                    return Ok(difference);
                }
            }
            (temporal, Value::Text(text))
                if calendar::is_temporal(temporal) && text.starts_with(['P', '-']) =>
            {
                if let Ok(period) = text.parse()
                    && let Some(difference) = calendar::add(temporal, period, -1)?
                {
                    return Ok(difference);
                }
            }
            (left, right) => {
                if let Some(between) = calendar::between(left, right) {
                    return Ok(Value::Period(between));
                }
            }
        }
        self.arithmetic("-", left, right, Number::sub)
    }

    fn without_keys(&mut self, object: &Object, keys: &Array) -> Result {
        self.charge((object.len() as u64).saturating_mul(keys.len() as u64))?;
        let mut names = Vec::with_capacity(keys.len());
        for key in keys.iter() {
            names.push(to_key(key)?);
        }
        let is_kept = |name: &str| !names.iter().any(|key| &**key.name() == name);
        let kept = object.entries().iter().filter(|entry| is_kept(entry.key.name())).cloned();
        let kept = kept.collect();
        self.object(kept)
    }

    /// An array with one more element. If this is the only reference to the array, it grows in
    /// place.
    fn push_back(&mut self, left: Value, right: Value) -> Result {
        match left.into_bare() {
            Value::Array(mut items) => {
                self.budget.allocate(size_of::<Value>())?;
                if Arc::get_mut(&mut items).is_none() {
                    self.charge_copy(items.len())?;
                }
                Arc::make_mut(&mut items).push(right);
                Self::nested(Value::Array(items))
            }
            range @ Value::Range(_) => {
                let mut items: Vec<Value> = self.collect(&range)?;
                items.push(right);
                self.array(items)
            }
            left => Err(Self::operator_type_error("<<", &left, &right)),
        }
    }

    /// Charges for comparing a value with each of these.
    fn charge_comparisons(&mut self, items: &[Value]) -> Result<()> {
        for item in items {
            if !is_simple(item) {
                self.charge_visit(item)?;
            }
        }
        Ok(())
    }

    fn charge_copy(&mut self, items: usize) -> Result<()> {
        self.charge(items as u64)?;
        self.budget.allocate(items.saturating_mul(size_of::<Value>()))
    }

    /// The elements of an array or range as a list; charged.
    pub(crate) fn collect(&mut self, value: &Value) -> Result<Vec<Value>> {
        let count = match value.bare() {
            Value::Range(range) => range.len(),
            Value::Array(items) => items.len() as u64,
            _ => 0,
        };
        self.charge(count)?;
        self.budget.allocate(
            usize::try_from(count).unwrap_or(usize::MAX).saturating_mul(size_of::<Value>()),
        )?;
        Ok(Self::items(value).collect())
    }

    /// `value >> array` prepends the value; `dateTime >> zone` converts to another zone.
    fn shift_right(&mut self, left: Value, right: &Value) -> Result {
        if let Value::Array(_) | Value::Range(_) = right.bare() {
            let mut items = vec![left];
            items.extend(self.collect(right)?);
            return self.array(items);
        }
        let zone = coerce::auto(right, Kind::TimeZone);
        let moment = coerce::auto(&left, Kind::DateTime);
        match (moment.map(Value::into_bare), zone.map(Value::into_bare)) {
            (Some(Value::DateTime(moment)), Some(Value::TimeZone(zone))) => {
                Ok(Value::date_time(moment.with_time_zone(zone)))
            }
            _ => Err(Self::operator_type_error(">>", &left, right)),
        }
    }

    /// `++`.
    pub(super) fn append(&mut self, left: Value, right: &Value) -> Result {
        match (left.bare(), right.bare()) {
            (Value::Text(a), Value::Text(b)) => {
                let (a, b) = (a.clone(), b.clone());
                self.concatenate(&a, &b)
            }
            (Value::Array(_) | Value::Range(_), Value::Array(_) | Value::Range(_)) => {
                self.append_arrays(left, right)
            }
            (Value::Object(_), Value::Object(_)) => self.append_objects(left, right),
            (a, b) => {
                for value in [a, b] {
                    if let Value::Number(number) = value {
                        self.charge(number.pair_ops(number))?;
                    }
                }
                if let Some(joined) = calendar::join(a, b)? {
                    return Ok(joined);
                }
                let texts = (coerce::auto_text(a), coerce::auto_text(b));
                match texts {
                    (Some(a), Some(b)) => self.concatenate(&a, &b),
                    _ => Err(Self::operator_type_error("++", &left, right)),
                }
            }
        }
    }

    fn concatenate(&mut self, left: &str, right: &str) -> Result {
        let size = left.len().saturating_add(right.len());
        self.reserve_text(size)?;
        let mut text = String::with_capacity(size);
        text.push_str(left);
        text.push_str(right);
        Ok(Value::from(text))
    }

    fn append_arrays(&mut self, left: Value, right: &Value) -> Result {
        let more = self.collect(right)?;
        match left.into_bare() {
            Value::Array(mut items) => {
                if Arc::get_mut(&mut items).is_none() {
                    self.charge_copy(items.len())?;
                }
                Arc::make_mut(&mut items).extend_from_slice(&more);
                Self::nested(Value::Array(items))
            }
            range => {
                let mut items = self.collect(&range)?;
                items.extend(more);
                self.array(items)
            }
        }
    }

    fn append_objects(&mut self, left: Value, right: &Value) -> Result {
        let (Value::Object(mut object), Value::Object(more)) = (left.into_bare(), right.bare())
        else {
            return Err(Fault::type_error("expected two objects"));
        };
        if Arc::get_mut(&mut object).is_none() {
            self.charge_copy(object.len().saturating_mul(2))?;
        }
        self.charge_copy(more.len().saturating_mul(2))?;
        let grown = Arc::make_mut(&mut object);
        more.entries().iter().for_each(|entry| grown.add(entry.clone()));
        Self::nested(Value::Object(object))
    }

    /// `--`.
    pub(super) fn remove_all(&mut self, left: &Value, right: &Value) -> Result {
        match (left.bare(), right.bare()) {
            (Value::Null, _) => Ok(Value::Null),
            (Value::Array(_) | Value::Range(_), Value::Array(_) | Value::Range(_)) => {
                let unwanted = self.collect(right)?;
                let mut kept = Vec::new();
                for item in Self::items(left) {
                    self.charge((unwanted.len() as u64).saturating_add(1))?;
                    self.charge_comparisons(&unwanted)?;
                    if !unwanted.contains(&item) {
                        kept.push(item);
                    }
                }
                self.array(kept)
            }
            (Value::Object(object), Value::Object(unwanted)) => {
                self.charge((object.len() as u64).saturating_mul(unwanted.len() as u64))?;
                for entry in object.entries() {
                    if !is_simple(&entry.value) {
                        self.charge_visit(&Value::Object(Arc::clone(unwanted)))?;
                    }
                }
                let is_kept = |entry: &&meantime_value::Entry| !unwanted.entries().contains(entry);
                let kept = object.entries().iter().filter(is_kept).cloned().collect();
                self.object(kept)
            }
            (Value::Object(object), Value::Array(keys)) => self.without_keys(object, keys),
            _ => Err(Self::operator_type_error("--", left, right)),
        }
    }

    pub(super) fn negate(&mut self, operand: &Node, frame: Frame<'_>) -> Result {
        let value = self.eval(operand, frame)?;
        match coerce::auto(&value, Kind::Number).map(Value::into_bare) {
            Some(Value::Number(number)) => Ok(Value::Number(number.neg())),
            _ => Err(Fault::expected(Kind::Number, &value)),
        }
    }
}

/// Whether comparing it takes one step.
fn is_simple(value: &Value) -> bool {
    !matches!(value.bare(), Value::Array(_) | Value::Object(_) | Value::Foreign(_))
}
