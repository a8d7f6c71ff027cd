//! `update`: a copy with changed values at some paths.

use meantime_value::{Key, KeyDetail, Object, Text, Value};

use super::super::program::{Node, SelectorNode, UpdateNode};
use super::super::syntax::{SelectedPart, SelectorReach};
use super::fault::Result;
use super::machine::{Eval, Frame};

/// One step of a path, with its expressions evaluated.
enum UpdateStep {
    Field {
        name: Text,
        every: bool,
    },
    Attribute(Text),
    Index(i64),
    /// A selector that cannot be updated through: it matches nothing.
    Unresolvable,
}

impl Eval<'_> {
    pub(super) fn update(
        &mut self,
        value: &Node,
        cases: &[UpdateNode],
        frame: Frame<'_>,
    ) -> Result {
        let mut value = self.eval(value, frame)?;
        if value.is_null() {
            return Ok(Value::Null);
        }
        for case in cases {
            let mut path = Vec::with_capacity(case.path.len());
            for selector in &case.path {
                path.push(self.path_step(selector, frame)?);
            }
            value = self.update_path(&value, &path, case, frame)?;
        }
        Ok(value)
    }

    fn path_step(&mut self, selector: &SelectorNode, frame: Frame<'_>) -> Result<UpdateStep> {
        Ok(match selector {
            SelectorNode::Field { reach, what, name, .. } => {
                let name = self.name(name, frame)?;
                match (reach, what) {
                    (SelectorReach::First, SelectedPart::Value) => {
                        UpdateStep::Field { name, every: false }
                    }
                    (SelectorReach::All, SelectedPart::Value) => {
                        UpdateStep::Field { name, every: true }
                    }
                    (SelectorReach::First, SelectedPart::Attribute) => UpdateStep::Attribute(name),
                    _ => UpdateStep::Unresolvable,
                }
            }
            SelectorNode::Index(node) => match self.eval(node, frame)?.into_bare() {
                Value::Number(number) => UpdateStep::Index(number.to_i64().unwrap_or(i64::MAX)),
                Value::Text(name) => UpdateStep::Field { name, every: false },
                Value::Key(key) => UpdateStep::Field { name: key.name().clone(), every: false },
                _ => UpdateStep::Unresolvable,
            },
            _ => UpdateStep::Unresolvable,
        })
    }

    fn update_path(
        &mut self,
        value: &Value,
        path: &[UpdateStep],
        case: &UpdateNode,
        frame: Frame<'_>,
    ) -> Result {
        self.charge(1)?;
        let Some((step, rest)) = path.split_first() else {
            return self.replacement(value, Value::Null, case, frame);
        };
        match (step, value.bare()) {
            (UpdateStep::Field { name, every }, Value::Object(object)) => {
                self.update_field(object, name, *every, rest, case, frame)
            }
            (UpdateStep::Field { name, .. }, Value::Null) if case.force => {
                let inner = self.update_path(&Value::Null, rest, case, frame)?;
                let mut object = Object::default();
                object.push(Key::new(name.clone()), inner);
                self.object(object)
            }
            (UpdateStep::Index(index), Value::Array(items)) => {
                let item_index = item_index(*index, items.len());
                let Some(old) = item_index.and_then(|item_index| items.get(item_index)) else {
                    return Ok(value.clone());
                };
                let new = self.update_path(old, rest, case, frame)?;
                let mut items = items.to_vec();
                if let Some(item) = item_index.and_then(|item_index| items.get_mut(item_index)) {
                    *item = new;
                }
                self.array(items)
            }
            _ => Ok(value.clone()),
        }
    }

    fn update_field(
        &mut self,
        object: &std::sync::Arc<Object>,
        name: &Text,
        every: bool,
        rest: &[UpdateStep],
        case: &UpdateNode,
        frame: Frame<'_>,
    ) -> Result {
        let mut updated = (**object).clone();
        let mut found = false;
        for (index, entry) in object.entries().iter().enumerate() {
            if entry.key.name() != name || (found && !every) {
                continue;
            }
            found = true;
            if let [UpdateStep::Attribute(attribute)] = rest {
                let key = self.update_attribute(&entry.key, attribute, case, frame)?;
                updated.rename(index, key);
                continue;
            }
            let new = self.update_path(&entry.value, rest, case, frame)?;
            updated.replace(index, new);
        }
        if !found && case.force {
            let inner = self.update_path(&Value::Null, rest, case, frame)?;
            updated.push(Key::new(name.clone()), inner);
        }
        self.object(updated)
    }

    fn update_attribute(
        &mut self,
        key: &Key,
        attribute: &Text,
        case: &UpdateNode,
        frame: Frame<'_>,
    ) -> Result<Key> {
        let mut attributes = key.attributes().cloned().unwrap_or_default();
        let item_index =
            attributes.entries().iter().position(|entry| entry.key.name() == attribute);
        let old = item_index
            .and_then(|item_index| attributes.entries().get(item_index))
            .map(|e| e.value.clone());
        if old.is_some() || case.force {
            let new = self.replacement(&old.unwrap_or_default(), Value::Null, case, frame)?;
            match item_index {
                Some(item_index) => attributes.replace(item_index, new),
                None => attributes.push(Key::new(attribute.clone()), new),
            }
        }
        let namespace = key.namespace().cloned();
        Ok(Key::with_detail(key.name().clone(), KeyDetail { namespace, attributes }))
    }

    /// The new value, or the old one if the condition is false.
    fn replacement(
        &mut self,
        old: &Value,
        index: Value,
        case: &UpdateNode,
        frame: Frame<'_>,
    ) -> Result {
        let top = self.stack.len();
        self.stack.push(old.clone());
        self.stack.push(index);
        let result = match &case.guard {
            Some(guard) => match self.condition(guard, frame) {
                Ok(true) => self.eval(&case.body, frame),
                Ok(false) => Ok(old.clone()),
                Err(fault) => Err(fault),
            },
            None => self.eval(&case.body, frame),
        };
        self.stack.truncate(top);
        result
    }
}

fn item_index(index: i64, size: usize) -> Option<usize> {
    let size = i64::try_from(size).ok()?;
    let item_index = if index < 0 { size.checked_add(index)? } else { index };
    usize::try_from(item_index).ok()
}
