//! `fail`: ends its scope with an error.

use meantime_core::{Failure, Fault};

use crate::definition::{Fail, Template};
use crate::machine::evaluate::{Encode, StateEvaluation};
use crate::machine::run::Run;
use crate::machine::saved::FrameId;
use crate::machine::transition::{StateError, Transition};

impl Run<'_> {
    pub(in crate::machine) fn enter_fail(
        &mut self,
        id: FrameId,
        fail: &Fail,
    ) -> Result<Transition, Fault> {
        let (code, reason) =
            (self.non_empty_text(id, &fail.code)?, self.non_empty_text(id, &fail.reason)?);
        Ok(match (code, reason) {
            (Ok(code), Ok(reason)) => Transition::fail(Failure::new(code, reason)),
            (Err(error), _) | (_, Err(error)) => error.into(),
        })
    }

    /// A filled text, which must not be empty.
    fn non_empty_text(&mut self, id: FrameId, template: &Template) -> StateEvaluation<String> {
        let filled = self.fill(id, template, Encode::Plain)?;
        Ok(filled.and_then(|text| {
            let is_empty = text.trim().is_empty();
            let error = || StateError::internal("the code or the reason of a failure is empty");
            if is_empty { Err(error()) } else { Ok(text) }
        }))
    }
}
