//! `transform`: computes a value and writes it to its destination.

use meantime_core::{Attribute, Effect, Fault};
use meantime_value::{Object, Value};

use crate::definition::{Destination, Expression, State, Transform};
use crate::json;
use crate::machine::evaluate::{ExtraBindings, StateEvaluation};
use crate::machine::overlay::ContextChange;
use crate::machine::run::Run;
use crate::machine::saved::FrameId;
use crate::machine::transition::{StateError, Transition};

impl Run<'_> {
    pub(in crate::machine) fn enter_transform(
        &mut self,
        id: FrameId,
        state: &State,
        transform: &Transform,
    ) -> Result<Transition, Fault> {
        match self.compute(id, &transform.mapper, &transform.destination, Vec::new())? {
            Ok(()) => Self::next_transition(state),
            Err(error) => Ok(error.into()),
        }
    }

    /// Evaluates a mapper and writes its result to the destination.
    pub(in crate::machine) fn compute(
        &mut self,
        id: FrameId,
        mapper: &Expression,
        destination: &Destination,
        extra: ExtraBindings,
    ) -> StateEvaluation<()> {
        let value = match self.evaluate(id, mapper, extra)? {
            Ok(value) => value,
            Err(error) => return Ok(Err(error)),
        };
        let is_object = json::object(&value).is_some();
        match destination {
            Destination::Var(name) => self.write_var(id, name, value)?,
            _ if !is_object => {
                return Ok(Err(StateError::not_object("the result of a mapper")));
            }
            Destination::Context => self.replace(id, &value)?,
            Destination::Path(path) => self.write(id, &ContextChange::put(path.clone(), value))?,
            Destination::Attributes => return Ok(self.write_attributes(&value)),
        }
        Ok(Ok(()))
    }

    /// Writes attributes: they are texts, and each is written only once.
    fn write_attributes(&mut self, value: &Value) -> Result<(), StateError> {
        let mut written = Vec::new();
        for entry in json::object(value).into_iter().flat_map(Object::entries) {
            let name = entry.key.name().to_string();
            let text = match json::string(&entry.value) {
                Some(text) => text,
                None => json::text(&entry.value)
                    .map_err(|error| StateError::internal(error.to_string()))?,
            };
            if self.saved.attributes.contains_key(&name) {
                return Err(StateError::attribute_exists(&name));
            }
            written.push(Attribute { name, value: text });
        }
        let limits = self.settings.metadata;
        let all = self.saved.attributes.len().saturating_add(written.len());
        let too_long = written.iter().find(|it| {
            it.name.chars().count() > limits.attribute_name_chars
                || it.value.chars().count() > limits.attribute_value_chars
        });
        if let Some(attribute) = too_long {
            return Err(StateError::internal(format!(
                "the attribute `{}` is too long",
                attribute.name
            )));
        }
        if all > limits.attributes {
            return Err(StateError::internal(format!(
                "more than {} attributes",
                limits.attributes
            )));
        }
        for attribute in &written {
            self.saved.attributes.insert(attribute.name.clone(), attribute.value.clone());
        }
        if !written.is_empty() {
            self.push(Effect::SetAttributes(written));
        }
        Ok(())
    }
}
