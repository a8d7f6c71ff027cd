//! Making values of one kind into another.
//!
//! `as` converts and may be told how by a schema; at typed places the same happens by itself where
//! nothing is lost. Null becomes nothing else, and neither do arrays, objects and functions.

mod binary;
mod convert;
mod kind;
mod number;
mod temporal;
mod text;

pub(super) use binary::{decode, encode};
pub(super) use kind::{auto, auto_text, to_boolean, to_kind, to_text, with_notes};

use crate::value::{Object, Text, Value};

/// How to convert: `{format: "…", locale: "…"}`.
#[derive(Debug, Default)]
pub(super) struct Schema<'s> {
    notes: Option<&'s Object>,
}

impl<'s> Schema<'s> {
    pub(super) fn new(notes: &'s Object) -> Self {
        Self { notes: Some(notes) }
    }

    fn text(&self, name: &str) -> Option<Text> {
        match self.notes?.get(name)?.bare() {
            Value::Text(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string().into()),
            _ => None,
        }
    }
}
