//! Arrays, objects and interpolated texts.

use std::sync::Arc;

use meantime_value::{Key, KeyDetail, Kind, Object, Text, Value};

use super::super::coerce;
use super::super::program::{ItemNode, KeyNode, MemberNode, NameNode, Node};
use super::super::types::Type;
use super::fault::{Fault, Result};
use super::machine::{Eval, Frame};

impl Eval<'_> {
    pub(super) fn interpolate(&mut self, pieces: &[Node], frame: Frame<'_>) -> Result {
        let mut text = String::new();
        for piece in pieces {
            let value = self.eval(piece, frame)?;
            match value.bare() {
                Value::Text(piece) => text.push_str(piece),
                _ => {
                    let piece_text =
                        coerce::to_text(&value).map_err(|fault| fault.at(piece.span))?;
                    text.push_str(&piece_text);
                }
            }
        }
        self.text(text)
    }

    pub(super) fn make_array(&mut self, items: &[ItemNode], frame: Frame<'_>) -> Result {
        let mut values = Vec::with_capacity(items.len());
        for item in items {
            let wanted = match &item.condition {
                Some(condition) => self.condition(condition, frame)?,
                None => true,
            };
            if wanted {
                values.push(self.eval(&item.value, frame)?);
            }
        }
        self.array(values)
    }

    pub(super) fn make_object(&mut self, members: &[MemberNode], frame: Frame<'_>) -> Result {
        let object = self.members(members, frame)?;
        self.object(object)
    }

    pub(super) fn members(&mut self, members: &[MemberNode], frame: Frame<'_>) -> Result<Object> {
        let mut object = Object::with_capacity(members.len());
        for member in members {
            match member {
                MemberNode::Pair { key, value, condition } => {
                    if let Some(condition) = condition
                        && !self.condition(condition, frame)?
                    {
                        continue;
                    }
                    let key = self.key(key, frame)?;
                    let value = self.eval(value, frame)?;
                    object.push(key, value);
                }
                MemberNode::Splice(node) => {
                    let value = self.eval(node, frame)?;
                    self.splice(&value, &mut object).map_err(|fault| fault.at(node.span))?;
                }
            }
        }
        Ok(object)
    }

    /// `(expression)` inside an object: its pairs, or those of the objects in an array.
    fn splice(&mut self, value: &Value, object: &mut Object) -> Result<()> {
        match value.bare() {
            Value::Null => Ok(()),
            Value::Object(pairs) => {
                self.charge(pairs.len() as u64)?;
                pairs.entries().iter().for_each(|entry| object.add(entry.clone()));
                Ok(())
            }
            Value::Array(items) => {
                for item in items.iter() {
                    self.charge(1)?;
                    match item.bare() {
                        Value::Null => {}
                        Value::Object(_) => self.splice(item, object)?,
                        _ => return Err(Fault::expected(Kind::Object, item)),
                    }
                }
                Ok(())
            }
            _ => Err(Fault::expected(Kind::Object, value)),
        }
    }

    fn key(&mut self, key: &KeyNode, frame: Frame<'_>) -> Result<Key> {
        if key.namespace.is_none() && key.attributes.is_empty() {
            return match &key.name {
                NameNode::Plain(name) => Ok(Key::new(name.clone())),
                NameNode::Dynamic(node) => {
                    let value = self.eval(node, frame)?;
                    to_key(&value).map_err(|fault| fault.at(node.span))
                }
            };
        }
        let name = self.name(&key.name, frame)?;
        let attributes = self.members(&key.attributes, frame)?;
        Ok(Key::with_detail(name, KeyDetail { namespace: key.namespace.clone(), attributes }))
    }

    /// `value as Type {schema}`.
    pub(super) fn convert(
        &mut self,
        value: &Node,
        target: &Arc<Type>,
        schema: &[MemberNode],
        frame: Frame<'_>,
    ) -> Result {
        let value = self.eval(value, frame)?;
        let metadata = self.members(schema, frame)?;
        self.convert_to(&value, target, metadata)
    }

    pub(super) fn name(&mut self, name: &NameNode, frame: Frame<'_>) -> Result<Text> {
        match name {
            NameNode::Plain(name) => Ok(name.clone()),
            NameNode::Dynamic(node) => {
                let value = self.eval(node, frame)?;
                let key = to_key(&value).map_err(|fault| fault.at(node.span))?;
                Ok(key.name().clone())
            }
        }
    }
}

/// A value that can be a key: text, key, number, boolean.
pub(super) fn to_key(value: &Value) -> Result<Key> {
    match value.bare() {
        Value::Key(key) => Ok(key.clone()),
        Value::Text(text) => Ok(Key::new(text.clone())),
        Value::Number(_) | Value::Bool(_) | Value::Uri(_) | Value::Foreign(_) => {
            coerce::to_text(value).map(Key::new)
        }
        _ => {
            let message = format!("a {} cannot be a key", value.kind().name());
            Err(Fault::type_error(message))
        }
    }
}
