//! `list[condition]` and `list[index]`.

use meantime_value::{Array, Number, Value};

use super::evaluator::{Evaluator, Result};
use crate::syntax::Expr;

impl Evaluator<'_> {
    pub(super) fn filter(&mut self, value: &Expr, condition: &Expr) -> Result {
        let value = self.evaluate(value)?;
        // A single value counts as a list of one.
        let items = match &value {
            Value::Array(items) => {
                self.spend(items.len() as u64 / 8)?;
                self.allocate_items(items.len())?;
                items.to_vec()
            }
            Value::Null => Vec::new(),
            other => vec![other.clone()],
        };
        if let Some(index) = self.index(condition, &items)? {
            return Ok(self.at(&items, &index));
        }
        let mut found = Vec::new();
        for item in items {
            self.spend(1)?;
            if self.with_item(&item, |it| it.evaluate(condition))? == Value::Bool(true) {
                found.push(item);
            }
        }
        Ok(Value::Array(std::sync::Arc::new(Array::from(found))))
    }

    /// The number in brackets, if the brackets contain one.
    fn index(&mut self, condition: &Expr, items: &[Value]) -> Result<Option<Number>> {
        let certain = matches!(
            condition,
            Expr::Literal(Value::Number(_)) | Expr::Negate(_) | Expr::Arithmetic(..)
        );
        let possible =
            certain || matches!(condition, Expr::Name(_) | Expr::Path { .. } | Expr::Call { .. });
        if !possible {
            return Ok(None);
        }
        let value = match items.first().filter(|_| !certain) {
            Some(item) => {
                let item = item.clone();
                self.with_item(&item, |it| it.evaluate(condition))?
            }
            None => self.evaluate(condition)?,
        };
        Ok(match value {
            Value::Number(number) => Some(number),
            _ => None,
        })
    }

    /// Counts from 1, or from the end with -1.
    fn at(&mut self, items: &[Value], index: &Number) -> Value {
        let position = index.to_i64().filter(|_| index.is_integer());
        let item_index = match position {
            Some(position) if position > 0 => usize::try_from(position - 1).ok(),
            Some(position) if position < 0 => {
                let back = usize::try_from(position.unsigned_abs()).ok();
                back.and_then(|back| items.len().checked_sub(back))
            }
            _ => None,
        };
        match item_index.and_then(|item_index| items.get(item_index)) {
            Some(item) => item.clone(),
            None => {
                let count = items.len();
                self.null(|| format!("a list of {count} has no item {index}"))
            }
        }
    }

    /// Adds the item, and its entries if it is a context, to the scope.
    fn with_item(&mut self, item: &Value, evaluate: impl FnOnce(&mut Self) -> Result) -> Result {
        let outer = self.names.clone();
        self.names = self.names.with("item", item.clone());
        if let Value::Object(object) = item {
            self.names = self.names.with_object(object.clone());
        }
        let result = evaluate(self);
        self.names = outer;
        result
    }
}
