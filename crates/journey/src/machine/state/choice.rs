//! `choice`: continues at the first option whose predicate is true.

use meantime_core::Fault;

use crate::definition::{Choice, State};
use crate::machine::run::Run;
use crate::machine::saved::FrameId;
use crate::machine::transition::{StateError, Transition};

impl Run<'_> {
    pub(in crate::machine) fn enter_choice(
        &mut self,
        id: FrameId,
        state: &State,
        choice: &Choice,
    ) -> Result<Transition, Fault> {
        for way in &choice.ways {
            match self.holds(id, &way.predicate, Vec::new())? {
                Ok(true) => return Ok(Transition::Next(way.next.id.clone())),
                Ok(false) => {}
                Err(error) => return Ok(error.into()),
            }
        }
        Ok(match &choice.default {
            Some(default) => Transition::Next(default.id.clone()),
            None => StateError::no_choice(&state.id).into(),
        })
    }
}
